//! The classes of one file: what is needed to know how an instance is built.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;
use serde::{Deserialize, Serialize};

use menace_model::{Param, ParamKind, TypeExpr};

use super::annotation::type_expr;
use super::reference::{Reference, is_typing};
use super::scope::Scopes;

/// One annotated field of a class body, as a generated constructor would take it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Field {
    pub param: Param,
    /// `field(init=False)`: not a parameter.
    pub in_init: bool,
}

/// How a decorator generates the constructor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Generated {
    /// `@dataclass(init=False)` generates none.
    pub init: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClassFacts {
    pub qualname: String,
    /// The function around it, for a class that exists only while that runs.
    pub local_to: Option<String>,
    /// References to the bases, in order; a base that is no dotted name is left out.
    pub bases: Vec<String>,
    pub metaclass: Option<String>,
    pub generated: Option<Generated>,
    pub fields: Vec<Field>,
    /// Names assigned in the body: the members, when it turns out to be an enumeration.
    pub members: Vec<String>,
    /// Names of the functions in the body.
    pub methods: Vec<String>,
    pub abstract_methods: Vec<String>,
}

/// Reads a class; its scope must not have been entered yet.
pub(crate) fn class_facts(
    source: &str,
    class: &ast::StmtClassDef,
    qualname: String,
    local_to: Option<String>,
    scopes: &Scopes<'_>,
) -> ClassFacts {
    let decorators = class.decorator_list.iter().map(|decorator| &decorator.expression);
    let generated = decorators.into_iter().find_map(|expr| generated_by(expr, scopes));
    let (bases, metaclass) = match &class.arguments {
        None => (Vec::new(), None),
        Some(arguments) => (
            arguments.args.iter().filter_map(|base| base_reference(base, scopes)).collect(),
            arguments
                .find_keyword("metaclass")
                .and_then(|keyword| scopes.resolve_expr(&keyword.value)),
        ),
    };
    let mut facts = ClassFacts {
        qualname,
        local_to,
        bases,
        metaclass,
        generated: generated.map(|(generated, _)| generated),
        fields: Vec::new(),
        members: Vec::new(),
        methods: Vec::new(),
        abstract_methods: Vec::new(),
    };
    let mut keyword_only = generated.is_some_and(|(_, keyword_only)| keyword_only);
    for stmt in &class.body {
        match stmt {
            Stmt::FunctionDef(function) => {
                let name = function.name.to_string();
                if function.decorator_list.iter().any(|decorator| is_abstract(decorator, scopes)) {
                    facts.abstract_methods.push(name.clone());
                }
                facts.methods.push(name);
            }
            Stmt::Assign(assign) => {
                facts.members.extend(assign.targets.iter().filter_map(plain_name));
            }
            Stmt::AnnAssign(assign) => match field(source, assign, keyword_only, scopes) {
                Annotated::Field(field) => facts.fields.push(field),
                Annotated::KeywordOnlyFromHere => keyword_only = true,
                Annotated::Nothing => facts.members.extend(plain_name(&assign.target)),
            },
            _ => {}
        }
    }
    facts
}

fn plain_name(target: &Expr) -> Option<String> {
    target.as_name_expr().map(|name| name.id.to_string())
}

/// `Base`, `pkg.Base` or `Base[int]`.
fn base_reference(base: &Expr, scopes: &Scopes<'_>) -> Option<String> {
    match base {
        Expr::Subscript(subscript) => scopes.resolve_expr(&subscript.value),
        // `class P(namedtuple("P", "x y"))`: the call is not followed.
        other => scopes.resolve_expr(other),
    }
}

fn is_abstract(decorator: &ast::Decorator, scopes: &Scopes<'_>) -> bool {
    scopes.resolve_expr(&decorator.expression).is_some_and(|reference| {
        Reference::parse(&reference).is_some_and(|Reference { module, attributes }| {
            module == "abc" && attributes.starts_with("abstract")
        })
    })
}

/// Does this decorator generate a constructor from the fields, and is it keyword-only?
fn generated_by(decorator: &Expr, scopes: &Scopes<'_>) -> Option<(Generated, bool)> {
    let (callee, arguments) = match decorator {
        Expr::Call(call) => (&*call.func, Some(&call.arguments)),
        other => (other, None),
    };
    let reference = scopes.resolve_expr(callee)?;
    let Reference { module, attributes } = Reference::parse(&reference)?;
    let known = match module {
        "dataclasses" | "pydantic.dataclasses" => attributes == "dataclass",
        "attr" | "attrs" => matches!(
            attributes,
            "s" | "attrs" | "attributes" | "dataclass" | "define" | "mutable" | "frozen"
        ),
        _ => false,
    };
    let option = |name: &str| {
        let value = &arguments?.find_keyword(name)?.value;
        value.as_boolean_literal_expr().map(|literal| literal.value)
    };
    known.then(|| {
        (Generated { init: option("init").unwrap_or(true) }, option("kw_only").unwrap_or(false))
    })
}

enum Annotated {
    Field(Field),
    /// `_: KW_ONLY`
    KeywordOnlyFromHere,
    /// A class variable.
    Nothing,
}

fn field(
    source: &str,
    assign: &ast::StmtAnnAssign,
    keyword_only: bool,
    scopes: &Scopes<'_>,
) -> Annotated {
    let Some(name) = plain_name(&assign.target) else { return Annotated::Nothing };
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
    let specified = assign.value.as_deref().and_then(|value| field_call(value, scopes));
    let option = |name: &str| specified.and_then(|arguments| arguments.find_keyword(name));
    let flag =
        |name: &str| option(name)?.value.as_boolean_literal_expr().map(|literal| literal.value);
    let default = match specified {
        None => assign.value.as_deref().map(|value| source[value.range()].to_owned()),
        Some(_) => option("default")
            .map(|keyword| source[keyword.value.range()].to_owned())
            .or_else(|| {
                ["default_factory", "factory"]
                    .into_iter()
                    .find_map(option)
                    .map(|keyword| format!("{}()", &source[keyword.value.range()]))
            }),
    };
    let kind = if flag("kw_only").unwrap_or(keyword_only) {
        ParamKind::KeywordOnly
    } else {
        ParamKind::PositionalOrKeyword
    };
    let annotation = Some(source[assign.annotation.range()].to_owned());
    Annotated::Field(Field {
        param: Param { name, kind, annotation, resolved: Some(resolved), default },
        in_init: flag("init").unwrap_or(true),
    })
}

/// The arguments of `dataclasses.field(…)`, `attr.ib(…)`, `pydantic.Field(…)`.
fn field_call<'e>(value: &'e Expr, scopes: &Scopes<'_>) -> Option<&'e ast::Arguments> {
    let call = value.as_call_expr()?;
    let reference = scopes.resolve_expr(&call.func)?;
    matches!(
        reference.as_str(),
        "dataclasses:field" | "attr:ib" | "attr:field" | "attrs:field" | "pydantic:Field"
    )
    .then_some(&call.arguments)
}
