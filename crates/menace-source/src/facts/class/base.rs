//! Base classes and keywords in the parentheses of a class statement.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use menace_model::{ParamKind, SignatureParam};

use super::super::annotation::convert_annotation;
use super::super::scope::ScopeStack;
use super::BaseFacts;

/// `Base`, `pkg.Base`, `Base[int]` or `namedtuple("P", "x y")`.
pub(super) fn read_base(source: &str, base: &Expr, scopes: &ScopeStack<'_>) -> BaseFacts {
    let named = match base {
        Expr::Call(call) => {
            let params = named_tuple_params(source, call, scopes);
            return params.map_or(BaseFacts::Unknown, BaseFacts::Tuple);
        }
        Expr::Subscript(subscript) => scopes.resolve_expr(&subscript.value),
        other => scopes.resolve_expr(other),
    };
    named.map_or(BaseFacts::Unknown, BaseFacts::Named)
}

/// The parameters of a named tuple; `None` when the call is none, or its fields are not literals.
pub(crate) fn named_tuple_params(
    source: &str,
    call: &ast::ExprCall,
    scopes: &ScopeStack<'_>,
) -> Option<Vec<SignatureParam>> {
    let arguments = &call.arguments;
    let written = |name| arguments.find_argument_value(name, 1);
    let mut params: Vec<SignatureParam> = match scopes.resolve_expr(&call.func)?.as_str() {
        "collections:namedtuple" => match written("field_names")? {
            Expr::StringLiteral(names) => {
                let names = names.value.to_str();
                let names = names.split([',', ' ', '\t', '\n']).filter(|name| !name.is_empty());
                names.map(unannotated_param).collect()
            }
            list => sequence_items(list)?
                .iter()
                .map(|name| string_value(name).map(unannotated_param))
                .collect::<Option<_>>()?,
        },
        "typing:NamedTuple" | "typing_extensions:NamedTuple" => sequence_items(written("fields")?)?
            .iter()
            .map(|field| match sequence_items(field)? {
                [name, kind] => Some(SignatureParam {
                    annotation: Some(source[kind.range()].to_owned()),
                    resolved: Some(convert_annotation(source, kind, scopes)),
                    ..unannotated_param(string_value(name)?)
                }),
                _ => None,
            })
            .collect::<Option<_>>()?,
        _ => return None,
    };
    // The defaults belong to the last fields.
    if let Some(keyword) = arguments.find_keyword("defaults") {
        let defaults = sequence_items(&keyword.value)?;
        for (param, default) in params.iter_mut().rev().zip(defaults.iter().rev()) {
            param.default = Some(source[default.range()].to_owned());
        }
    }
    Some(params)
}

fn unannotated_param(name: &str) -> SignatureParam {
    let kind = ParamKind::PositionalOrKeyword;
    SignatureParam { name: name.to_owned(), kind, annotation: None, resolved: None, default: None }
}

fn string_value(expr: &Expr) -> Option<&str> {
    expr.as_string_literal_expr().map(|literal| literal.value.to_str())
}

fn sequence_items(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::List(list) => Some(&list.elts),
        Expr::Tuple(tuple) => Some(&tuple.elts),
        _ => None,
    }
}
