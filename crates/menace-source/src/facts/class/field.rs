//! Assignments in a class body that may be fields of a generated constructor.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use menace_model::{Param, ParamKind, TypeExpr};

use super::super::annotation::type_expr;
use super::super::reference::is_typing;
use super::super::scope::Scopes;
use super::Field;

/// A field, if the class's generator takes this kind of assignment.
pub(super) struct Candidate {
    pub field: Field,
    pub annotated: bool,
    /// Assigned from `attr.ib(…)` or one of its other names.
    pub by_attrs: bool,
}

pub(super) enum Annotated {
    Field(Candidate),
    /// `_: KW_ONLY`
    KeywordOnlyFromHere,
    /// A class variable.
    Nothing,
}

/// `x: int`, `x: int = 3`, `x: int = field(…)`.
pub(super) fn annotated(
    source: &str,
    assign: &ast::StmtAnnAssign,
    keyword_only: bool,
    scopes: &Scopes<'_>,
) -> Annotated {
    let Expr::Name(name) = &*assign.target else { return Annotated::Nothing };
    let mut resolved = type_expr(source, &assign.annotation, scopes);
    let base = match &resolved {
        TypeExpr::Name(name) => Some(name),
        TypeExpr::Generic { base, .. } => match &**base {
            TypeExpr::Name(name) => Some(name),
            _ => None,
        },
        _ => None,
    };
    if base.is_some_and(|base| is_typing(base, "ClassVar")) {
        return Annotated::Nothing;
    }
    if base.is_some_and(|base| base == "dataclasses:KW_ONLY") {
        return Annotated::KeywordOnlyFromHere;
    }
    if base.is_some_and(|base| base == "dataclasses:InitVar")
        && let TypeExpr::Generic { args, .. } = &mut resolved
        && !args.is_empty()
    {
        resolved = args.remove(0);
    }
    let call = assign.value.as_deref().and_then(|value| Call::read(value, scopes));
    let default = match &call {
        None => assign.value.as_deref().map(|value| source[value.range()].to_owned()),
        Some(call) => call.default(source, scopes),
    };
    let param = Param {
        name: name.id.to_string(),
        kind: kind(call.as_ref(), keyword_only),
        annotation: Some(source[assign.annotation.range()].to_owned()),
        resolved: Some(resolved),
        default,
    };
    Annotated::Field(candidate(param, call.as_ref(), true))
}

/// `x = attr.ib(…)`.
pub(super) fn unannotated(
    source: &str,
    assign: &ast::StmtAssign,
    keyword_only: bool,
    scopes: &Scopes<'_>,
) -> Option<Candidate> {
    let [Expr::Name(name)] = assign.targets.as_slice() else { return None };
    let call = Call::read(&assign.value, scopes).filter(|call| call.by == By::Attrs)?;
    let written = call.option("type");
    let param = Param {
        name: name.id.to_string(),
        kind: kind(Some(&call), keyword_only),
        annotation: written.map(|kind| source[kind.range()].to_owned()),
        resolved: written.map(|kind| type_expr(source, kind, scopes)),
        default: call.default(source, scopes),
    };
    Some(candidate(param, Some(&call), false))
}

/// `x` of the decorator `@x.default`.
pub(super) fn default_of(decorator: &ast::Decorator) -> Option<&str> {
    let attribute = decorator.expression.as_attribute_expr()?;
    (attribute.attr.as_str() == "default").then_some(())?;
    attribute.value.as_name_expr().map(|name| name.id.as_str())
}

fn candidate(param: Param, call: Option<&Call<'_>>, annotated: bool) -> Candidate {
    let in_init = call.and_then(|call| call.flag("init")).unwrap_or(true);
    let alias = call.and_then(Call::alias);
    let by_attrs = call.is_some_and(|call| call.by == By::Attrs);
    Candidate { field: Field { param, alias, in_init }, annotated, by_attrs }
}

fn kind(call: Option<&Call<'_>>, keyword_only: bool) -> ParamKind {
    if call.and_then(|call| call.flag("kw_only")).unwrap_or(keyword_only) {
        ParamKind::KeywordOnly
    } else {
        ParamKind::PositionalOrKeyword
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Dataclasses,
    Attrs,
    Pydantic,
}

/// `dataclasses.field(…)`, `attr.ib(…)`, `pydantic.Field(…)`.
struct Call<'e> {
    by: By,
    arguments: &'e ast::Arguments,
}

impl<'e> Call<'e> {
    fn read(value: &'e Expr, scopes: &Scopes<'_>) -> Option<Self> {
        let call = value.as_call_expr()?;
        let by = match scopes.resolve_expr(&call.func)?.as_str() {
            "dataclasses:field" => By::Dataclasses,
            "attr:ib" | "attr:attrib" | "attr:attr" | "attr:field" | "attrs:field" => By::Attrs,
            "pydantic:Field"
            | "pydantic:fields.Field"
            | "pydantic.fields:Field"
            | "pydantic.v1:Field" => By::Pydantic,
            _ => return None,
        };
        Some(Self { by, arguments: &call.arguments })
    }

    fn option(&self, name: &str) -> Option<&'e Expr> {
        self.arguments.find_keyword(name).map(|keyword| &keyword.value)
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.option(name)?.as_boolean_literal_expr().map(|literal| literal.value)
    }

    fn alias(&self) -> Option<String> {
        let names: &[&str] = match self.by {
            By::Dataclasses => &[],
            By::Attrs => &["alias"],
            // What is validated is what the constructor is given.
            By::Pydantic => &["validation_alias", "alias"],
        };
        let alias = names.iter().find_map(|name| self.option(name))?;
        alias.as_string_literal_expr().map(|literal| literal.value.to_str().to_owned())
    }

    fn default(&self, source: &str, scopes: &Scopes<'_>) -> Option<String> {
        // `dataclasses.field` takes no default without its name.
        let first = self.arguments.args.first().filter(|_| self.by != By::Dataclasses);
        let plain = self.option("default").or(first).filter(|value| !self.is_none(value, scopes));
        let factory = || ["default_factory", "factory"].iter().find_map(|name| self.option(name));
        plain
            .map(|value| source[value.range()].to_owned())
            .or_else(|| factory().map(|value| format!("{}()", &source[value.range()])))
    }

    /// Does this value say that there is no default?
    fn is_none(&self, value: &Expr, scopes: &Scopes<'_>) -> bool {
        match self.by {
            By::Pydantic => value.is_ellipsis_literal_expr(),
            By::Attrs | By::Dataclasses => scopes.resolve_expr(value).is_some_and(|reference| {
                matches!(
                    reference.as_str(),
                    "attr:NOTHING" | "attrs:NOTHING" | "dataclasses:MISSING"
                )
            }),
        }
    }
}
