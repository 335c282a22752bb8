//! Assignments in a class body that may be fields of a generated constructor.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use menace_model::{ParamKind, SignatureParam, TypeExpr};

use super::super::annotation::convert_annotation;
use super::super::reference::is_typing;
use super::super::scope::ScopeStack;
use super::FieldFacts;

/// A field, if the class's generator takes this kind of assignment.
pub(super) struct FieldCandidate {
    pub field: FieldFacts,
    pub annotated: bool,
    /// Assigned from `attr.ib(…)` or one of its other names.
    pub by_attrs: bool,
}

pub(super) enum AnnotatedAssignment {
    Field(FieldCandidate),
    /// `_: KW_ONLY`
    KeywordOnlyFromHere,
    /// A class variable.
    ClassVariable,
}

/// `x: int`, `x: int = 3`, `x: int = field(…)`.
pub(super) fn read_annotated(
    source: &str,
    assign: &ast::StmtAnnAssign,
    keyword_only: bool,
    scopes: &ScopeStack<'_>,
) -> AnnotatedAssignment {
    let Expr::Name(name) = &*assign.target else { return AnnotatedAssignment::ClassVariable };
    let mut resolved = convert_annotation(source, &assign.annotation, scopes);
    let base = match &resolved {
        TypeExpr::Name(name) => Some(name),
        TypeExpr::Generic { base, .. } => match &**base {
            TypeExpr::Name(name) => Some(name),
            _ => None,
        },
        _ => None,
    };
    if base.is_some_and(|base| is_typing(base, "ClassVar")) {
        return AnnotatedAssignment::ClassVariable;
    }
    if base.is_some_and(|base| base == "dataclasses:KW_ONLY") {
        return AnnotatedAssignment::KeywordOnlyFromHere;
    }
    if base.is_some_and(|base| base == "dataclasses:InitVar")
        && let TypeExpr::Generic { args, .. } = &mut resolved
        && !args.is_empty()
    {
        resolved = args.remove(0);
    }
    let call = assign.value.as_deref().and_then(|value| FieldCall::parse(value, scopes));
    let default = match &call {
        None => assign.value.as_deref().map(|value| source[value.range()].to_owned()),
        Some(call) => call.default_source(source, scopes),
    };
    let param = SignatureParam {
        name: name.id.to_string(),
        kind: field_param_kind(call.as_ref(), keyword_only),
        annotation: Some(source[assign.annotation.range()].to_owned()),
        resolved: Some(resolved),
        default,
    };
    AnnotatedAssignment::Field(build_candidate(param, call.as_ref(), true))
}

/// `x = attr.ib(…)`.
pub(super) fn read_unannotated(
    source: &str,
    assign: &ast::StmtAssign,
    keyword_only: bool,
    scopes: &ScopeStack<'_>,
) -> Option<FieldCandidate> {
    let [Expr::Name(name)] = assign.targets.as_slice() else { return None };
    let call = FieldCall::parse(&assign.value, scopes)
        .filter(|call| call.library == FieldLibrary::Attrs)?;
    let written = call.option("type");
    let param = SignatureParam {
        name: name.id.to_string(),
        kind: field_param_kind(Some(&call), keyword_only),
        annotation: written.map(|kind| source[kind.range()].to_owned()),
        resolved: written.map(|kind| convert_annotation(source, kind, scopes)),
        default: call.default_source(source, scopes),
    };
    Some(build_candidate(param, Some(&call), false))
}

/// `x` of the decorator `@x.default`.
pub(super) fn default_decorator_field(decorator: &ast::Decorator) -> Option<&str> {
    let attribute = decorator.expression.as_attribute_expr()?;
    (attribute.attr.as_str() == "default").then_some(())?;
    attribute.value.as_name_expr().map(|name| name.id.as_str())
}

fn build_candidate(
    param: SignatureParam,
    call: Option<&FieldCall<'_>>,
    annotated: bool,
) -> FieldCandidate {
    let in_init = call.and_then(|call| call.flag("init")).unwrap_or(true);
    let alias = call.and_then(FieldCall::alias);
    let by_attrs = call.is_some_and(|call| call.library == FieldLibrary::Attrs);
    FieldCandidate { field: FieldFacts { param, alias, in_init }, annotated, by_attrs }
}

fn field_param_kind(call: Option<&FieldCall<'_>>, keyword_only: bool) -> ParamKind {
    if call.and_then(|call| call.flag("kw_only")).unwrap_or(keyword_only) {
        ParamKind::KeywordOnly
    } else {
        ParamKind::PositionalOrKeyword
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldLibrary {
    Dataclasses,
    Attrs,
    Pydantic,
}

/// `dataclasses.field(…)`, `attr.ib(…)`, `pydantic.Field(…)`.
struct FieldCall<'e> {
    library: FieldLibrary,
    arguments: &'e ast::Arguments,
}

impl<'e> FieldCall<'e> {
    fn parse(value: &'e Expr, scopes: &ScopeStack<'_>) -> Option<Self> {
        let call = value.as_call_expr()?;
        let by = match scopes.resolve_expr(&call.func)?.as_str() {
            "dataclasses:field" => FieldLibrary::Dataclasses,
            "attr:ib" | "attr:attrib" | "attr:attr" | "attr:field" | "attrs:field" => {
                FieldLibrary::Attrs
            }
            "pydantic:Field"
            | "pydantic:fields.Field"
            | "pydantic.fields:Field"
            | "pydantic.v1:Field" => FieldLibrary::Pydantic,
            _ => return None,
        };
        Some(Self { library: by, arguments: &call.arguments })
    }

    fn option(&self, name: &str) -> Option<&'e Expr> {
        self.arguments.find_keyword(name).map(|keyword| &keyword.value)
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.option(name)?.as_boolean_literal_expr().map(|literal| literal.value)
    }

    fn alias(&self) -> Option<String> {
        let names: &[&str] = match self.library {
            FieldLibrary::Dataclasses => &[],
            FieldLibrary::Attrs => &["alias"],
            // The constructor's parameter has the name under which the value is validated.
            FieldLibrary::Pydantic => &["validation_alias", "alias"],
        };
        let alias = names.iter().find_map(|name| self.option(name))?;
        alias.as_string_literal_expr().map(|literal| literal.value.to_str().to_owned())
    }

    fn default_source(&self, source: &str, scopes: &ScopeStack<'_>) -> Option<String> {
        // `dataclasses.field` takes no default without its name.
        let first =
            self.arguments.args.first().filter(|_| self.library != FieldLibrary::Dataclasses);
        let plain = self
            .option("default")
            .or(first)
            .filter(|value| !self.is_missing_default(value, scopes));
        let factory = || ["default_factory", "factory"].iter().find_map(|name| self.option(name));
        plain
            .map(|value| source[value.range()].to_owned())
            .or_else(|| factory().map(|value| format!("{}()", &source[value.range()])))
    }

    /// Whether this value means that there is no default.
    fn is_missing_default(&self, value: &Expr, scopes: &ScopeStack<'_>) -> bool {
        match self.library {
            FieldLibrary::Pydantic => value.is_ellipsis_literal_expr(),
            FieldLibrary::Attrs | FieldLibrary::Dataclasses => {
                scopes.resolve_expr(value).is_some_and(|reference| {
                    matches!(
                        reference.as_str(),
                        "attr:NOTHING" | "attrs:NOTHING" | "dataclasses:MISSING"
                    )
                })
            }
        }
    }
}
