//! What stands between the parentheses of a class.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use menace_model::{Param, ParamKind};

use super::super::annotation::type_expr;
use super::super::scope::Scopes;
use super::BaseFacts;

/// `Base`, `pkg.Base`, `Base[int]` or `namedtuple("P", "x y")`.
pub(super) fn base_facts(source: &str, base: &Expr, scopes: &Scopes<'_>) -> BaseFacts {
    let named = match base {
        Expr::Call(call) => {
            let params = tuple_params(source, call, scopes);
            return params.map_or(BaseFacts::Unknown, BaseFacts::Tuple);
        }
        Expr::Subscript(subscript) => scopes.resolve_expr(&subscript.value),
        other => scopes.resolve_expr(other),
    };
    named.map_or(BaseFacts::Unknown, BaseFacts::Named)
}

/// What a named tuple takes; `None` when the call makes none, or of fields not written out.
pub(crate) fn tuple_params(
    source: &str,
    call: &ast::ExprCall,
    scopes: &Scopes<'_>,
) -> Option<Vec<Param>> {
    let arguments = &call.arguments;
    let written = |name| arguments.find_argument_value(name, 1);
    let mut params: Vec<Param> = match scopes.resolve_expr(&call.func)?.as_str() {
        "collections:namedtuple" => match written("field_names")? {
            Expr::StringLiteral(names) => {
                let names = names.value.to_str();
                let names = names.split([',', ' ', '\t', '\n']).filter(|name| !name.is_empty());
                names.map(plain).collect()
            }
            list => {
                elements(list)?.iter().map(|name| string(name).map(plain)).collect::<Option<_>>()?
            }
        },
        "typing:NamedTuple" | "typing_extensions:NamedTuple" => elements(written("fields")?)?
            .iter()
            .map(|field| match elements(field)? {
                [name, kind] => Some(Param {
                    annotation: Some(source[kind.range()].to_owned()),
                    resolved: Some(type_expr(source, kind, scopes)),
                    ..plain(string(name)?)
                }),
                _ => None,
            })
            .collect::<Option<_>>()?,
        _ => return None,
    };
    // The defaults belong to the last fields.
    if let Some(keyword) = arguments.find_keyword("defaults") {
        let defaults = elements(&keyword.value)?;
        for (param, default) in params.iter_mut().rev().zip(defaults.iter().rev()) {
            param.default = Some(source[default.range()].to_owned());
        }
    }
    Some(params)
}

fn plain(name: &str) -> Param {
    let kind = ParamKind::PositionalOrKeyword;
    Param { name: name.to_owned(), kind, annotation: None, resolved: None, default: None }
}

fn string(expr: &Expr) -> Option<&str> {
    expr.as_string_literal_expr().map(|literal| literal.value.to_str())
}

fn elements(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::List(list) => Some(&list.elts),
        Expr::Tuple(tuple) => Some(&tuple.elts),
        _ => None,
    }
}
