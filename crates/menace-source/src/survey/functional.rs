//! Classes and types that a call makes: `Point = namedtuple("Point", "x y")`.

use ruff_python_ast::{self as ast, Expr, ModModule, Stmt};
use ruff_text_size::Ranged;

use menace_model::{Param, ParamKind, TypeExpr};

use crate::facts::{
    BaseFacts, ClassFacts, Field, Reference, Scope, ScopeKind, Scopes, is_partial, tuple_params,
    type_expr,
};

/// What the top level of a file makes; names are [references](crate::facts::Reference).
#[derive(Debug, Default)]
pub(super) struct Functional {
    pub classes: Vec<ClassFacts>,
    pub types: Vec<(String, TypeExpr)>,
}

pub(super) fn functional(source: &str, tree: &ModModule) -> Functional {
    let mut made = Functional::default();
    let calls: Vec<(&str, &ast::ExprCall)> = tree.body.iter().filter_map(assigned_call).collect();
    if calls.is_empty() {
        return made;
    }
    let scope = Scope::of_body(ScopeKind::Module, String::new(), &tree.body, false);
    let scopes = Scopes(vec![scope]);
    for (name, call) in calls {
        let Some(reference) = scopes.resolve_expr(&call.func) else { continue };
        let Some(Reference { module, attributes }) = Reference::parse(&reference) else { continue };
        let class = match (module, attributes) {
            ("collections", "namedtuple") | ("typing" | "typing_extensions", "NamedTuple") => {
                tuple_params(source, call, &scopes).map(|params| ClassFacts {
                    bases: vec![BaseFacts::Tuple(params)],
                    ..ClassFacts::default()
                })
            }
            ("enum", "Enum" | "IntEnum" | "StrEnum" | "Flag" | "IntFlag") => {
                members(call).map(|members| ClassFacts {
                    bases: vec![BaseFacts::Named(reference.clone())],
                    members,
                    ..ClassFacts::default()
                })
            }
            ("typing" | "typing_extensions", "TypedDict") => {
                keys(source, call, &scopes).map(|fields| ClassFacts {
                    bases: vec![BaseFacts::Named(reference.clone())],
                    partial: is_partial(&call.arguments),
                    fields,
                    ..ClassFacts::default()
                })
            }
            ("typing" | "typing_extensions", "NewType") => {
                let base = call.arguments.find_argument_value("tp", 1);
                let base = base.map(|base| type_expr(source, base, &scopes));
                made.types.extend(base.map(|base| (name.to_owned(), base)));
                None
            }
            ("typing" | "typing_extensions", "TypeVar") => {
                made.types.push((name.to_owned(), bound(source, call, &scopes)));
                None
            }
            _ => None,
        };
        made.classes.extend(class.map(|class| ClassFacts { qualname: name.to_owned(), ..class }));
    }
    made
}

fn assigned_call(stmt: &Stmt) -> Option<(&str, &ast::ExprCall)> {
    let (target, value) = match stmt {
        Stmt::Assign(assign) => match &assign.targets[..] {
            [target] => (target, &assign.value),
            _ => return None,
        },
        Stmt::AnnAssign(assign) => (&*assign.target, assign.value.as_ref()?),
        _ => return None,
    };
    Some((target.as_name_expr()?.id.as_str(), value.as_call_expr()?))
}

/// What a type variable may be.
fn bound(source: &str, call: &ast::ExprCall, scopes: &Scopes<'_>) -> TypeExpr {
    if let Some(bound) = call.arguments.find_keyword("bound") {
        return type_expr(source, &bound.value, scopes);
    }
    let choices = call.arguments.args.iter().skip(1);
    let choices: Vec<TypeExpr> = choices.map(|each| type_expr(source, each, scopes)).collect();
    if choices.is_empty() {
        TypeExpr::Name("typing:Any".to_owned())
    } else {
        TypeExpr::Union(choices)
    }
}

/// The members in `Enum("Color", "RED GREEN")` and its variants.
fn members(call: &ast::ExprCall) -> Option<Vec<String>> {
    let text = |expr: &Expr| Some(expr.as_string_literal_expr()?.value.to_str().to_owned());
    let first = |pair: &Expr| match pair {
        Expr::Tuple(pair) => text(pair.elts.first()?),
        Expr::List(pair) => text(pair.elts.first()?),
        name => text(name),
    };
    match call.arguments.find_argument_value("names", 1)? {
        Expr::StringLiteral(names) => {
            let names = names.value.to_str().split([',', ' ', '\t', '\n']);
            Some(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
        }
        Expr::List(list) => list.elts.iter().map(first).collect(),
        Expr::Tuple(tuple) => tuple.elts.iter().map(first).collect(),
        Expr::Dict(dict) => dict.items.iter().map(|item| text(item.key.as_ref()?)).collect(),
        _ => None,
    }
}

/// The keys in `TypedDict("Movie", {"name": str})`.
fn keys(source: &str, call: &ast::ExprCall, scopes: &Scopes<'_>) -> Option<Vec<Field>> {
    let Expr::Dict(dict) = call.arguments.find_argument_value("fields", 1)? else { return None };
    let field = |item: &ast::DictItem| {
        let param = Param {
            name: item.key.as_ref()?.as_string_literal_expr()?.value.to_str().to_owned(),
            kind: ParamKind::PositionalOrKeyword,
            annotation: Some(source[item.value.range()].to_owned()),
            resolved: Some(type_expr(source, &item.value, scopes)),
            default: None,
        };
        Some(Field { param, alias: None, in_init: true })
    };
    dict.items.iter().map(field).collect()
}
