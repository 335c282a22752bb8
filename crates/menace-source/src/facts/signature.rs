//! How a function is called, and its parameters.

use ruff_python_ast::{self as ast, Expr, Parameters};
use ruff_text_size::Ranged;

use menace_model::{ParamKind, SectionKind, SignatureParam};

use super::annotation::convert_annotation;
use super::scope::{NameScopeKind, ScopeStack};

/// How the function is reached and, for a property, which accessor it is.
pub(crate) fn section_kind(
    function: &ast::StmtFunctionDef,
    around: NameScopeKind,
    decorators: &[String],
) -> (SectionKind, Option<&'static str>) {
    match around {
        NameScopeKind::Module => return (SectionKind::Function, None),
        NameScopeKind::Function => return (SectionKind::Nested, None),
        NameScopeKind::Class => {}
    }
    for decorator in &function.decorator_list {
        if let Expr::Attribute(attribute) = &decorator.expression
            && attribute.value.is_name_expr()
        {
            match attribute.attr.as_str() {
                "setter" => return (SectionKind::Property, Some("setter")),
                "deleter" => return (SectionKind::Property, Some("deleter")),
                "getter" => return (SectionKind::Property, Some("getter")),
                _ => {}
            }
        }
    }
    let kind = decorators.iter().find_map(|name| match name.as_str() {
        "staticmethod" | "abc:abstractstaticmethod" => Some(SectionKind::StaticMethod),
        "classmethod" | "abc:abstractclassmethod" => Some(SectionKind::ClassMethod),
        "property"
        | "functools:cached_property"
        | "abc:abstractproperty"
        | "enum:property"
        | "enum:DynamicClassAttribute"
        | "types:DynamicClassAttribute" => Some(SectionKind::Property),
        _ => None,
    });
    let implicit =
        matches!(function.name.as_str(), "__new__" | "__init_subclass__" | "__class_getitem__");
    let fallback = if implicit { SectionKind::ClassMethod } else { SectionKind::Method };
    (kind.unwrap_or(fallback), None)
}

/// The parameters that a caller supplies: the receiver is not one of them.
pub(crate) fn caller_params(
    source: &str,
    parameters: &Parameters,
    kind: SectionKind,
    scopes: &ScopeStack<'_>,
) -> Vec<SignatureParam> {
    let param = |parameter: &ast::Parameter, kind, default: Option<&Expr>| {
        let annotation = parameter.annotation.as_deref();
        SignatureParam {
            name: parameter.name.to_string(),
            kind,
            annotation: annotation.map(|expr| source[expr.range()].to_owned()),
            resolved: annotation.map(|expr| convert_annotation(source, expr, scopes)),
            default: default.map(|expr| source[expr.range()].to_owned()),
        }
    };
    let mut positional: Vec<SignatureParam> = parameters
        .posonlyargs
        .iter()
        .map(|each| param(&each.parameter, ParamKind::PositionalOnly, each.default()))
        .chain(
            parameters
                .args
                .iter()
                .map(|each| param(&each.parameter, ParamKind::PositionalOrKeyword, each.default())),
        )
        .collect();
    let has_receiver =
        matches!(kind, SectionKind::Method | SectionKind::ClassMethod | SectionKind::Property);
    if has_receiver && !positional.is_empty() {
        positional.remove(0);
    }
    let variadic = |parameter: &Option<Box<ast::Parameter>>, kind| {
        parameter.as_deref().map(|parameter| param(parameter, kind, None))
    };
    positional.extend(variadic(&parameters.vararg, ParamKind::VarPositional));
    positional.extend(
        parameters
            .kwonlyargs
            .iter()
            .map(|each| param(&each.parameter, ParamKind::KeywordOnly, each.default())),
    );
    positional.extend(variadic(&parameters.kwarg, ParamKind::VarKeyword));
    positional
}
