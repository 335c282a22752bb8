//! Classes and types that a call makes: `Point = namedtuple("Point", "x y")`.

use ruff_python_ast::{self as ast, Expr, ModModule, Stmt};
use ruff_text_size::Ranged;

use menace_model::{ParamKind, SignatureParam, TypeExpr};

use crate::facts::{
    BaseFacts, ClassFacts, FieldFacts, NameReference, NameScope, NameScopeKind, ScopeStack,
    convert_annotation, is_partial_typed_dict, named_tuple_params,
};

/// Classes and types that calls at the top level of a file make; names are
/// [references](NameReference).
#[derive(Debug, Default)]
pub(super) struct FunctionalDefinitions {
    pub classes: Vec<ClassFacts>,
    pub types: Vec<(String, TypeExpr)>,
}

pub(super) fn collect_functional(source: &str, tree: &ModModule) -> FunctionalDefinitions {
    let mut made = FunctionalDefinitions::default();
    let calls: Vec<(&str, &ast::ExprCall)> = tree.body.iter().filter_map(assigned_call).collect();
    if calls.is_empty() {
        return made;
    }
    let scope = NameScope::from_body(NameScopeKind::Module, String::new(), &tree.body, false);
    let scopes = ScopeStack(vec![scope]);
    for (name, call) in calls {
        let Some(reference) = scopes.resolve_expr(&call.func) else { continue };
        let Some(NameReference { module, attributes }) = NameReference::parse(&reference) else {
            continue;
        };
        let class = match (module, attributes) {
            ("collections", "namedtuple") | ("typing" | "typing_extensions", "NamedTuple") => {
                named_tuple_params(source, call, &scopes).map(|params| ClassFacts {
                    bases: vec![BaseFacts::Tuple(params)],
                    ..ClassFacts::default()
                })
            }
            ("enum", "Enum" | "IntEnum" | "StrEnum" | "Flag" | "IntFlag") => enum_members(call)
                .map(|members| ClassFacts {
                    bases: vec![BaseFacts::Named(reference.clone())],
                    members,
                    ..ClassFacts::default()
                }),
            ("typing" | "typing_extensions", "TypedDict") => typed_dict_keys(source, call, &scopes)
                .map(|fields| ClassFacts {
                    bases: vec![BaseFacts::Named(reference.clone())],
                    partial: is_partial_typed_dict(&call.arguments),
                    fields,
                    ..ClassFacts::default()
                }),
            ("typing" | "typing_extensions", "NewType") => {
                let base = call.arguments.find_argument_value("tp", 1);
                let base = base.map(|base| convert_annotation(source, base, &scopes));
                made.types.extend(base.map(|base| (name.to_owned(), base)));
                None
            }
            ("typing" | "typing_extensions", "TypeVar") => {
                made.types.push((name.to_owned(), type_var_bound(source, call, &scopes)));
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

/// The types that a type variable allows.
fn type_var_bound(source: &str, call: &ast::ExprCall, scopes: &ScopeStack<'_>) -> TypeExpr {
    if let Some(bound) = call.arguments.find_keyword("bound") {
        return convert_annotation(source, &bound.value, scopes);
    }
    let choices = call.arguments.args.iter().skip(1);
    let choices: Vec<TypeExpr> =
        choices.map(|each| convert_annotation(source, each, scopes)).collect();
    if choices.is_empty() {
        TypeExpr::Name("typing:Any".to_owned())
    } else {
        TypeExpr::Union(choices)
    }
}

/// The members in `Enum("Color", "RED GREEN")` and its variants.
fn enum_members(call: &ast::ExprCall) -> Option<Vec<String>> {
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
fn typed_dict_keys(
    source: &str,
    call: &ast::ExprCall,
    scopes: &ScopeStack<'_>,
) -> Option<Vec<FieldFacts>> {
    let Expr::Dict(dict) = call.arguments.find_argument_value("fields", 1)? else { return None };
    let field = |item: &ast::DictItem| {
        let param = SignatureParam {
            name: item.key.as_ref()?.as_string_literal_expr()?.value.to_str().to_owned(),
            kind: ParamKind::PositionalOrKeyword,
            annotation: Some(source[item.value.range()].to_owned()),
            resolved: Some(convert_annotation(source, &item.value, scopes)),
            default: None,
        };
        Some(FieldFacts { param, alias: None, in_init: true })
    };
    dict.items.iter().map(field).collect()
}
