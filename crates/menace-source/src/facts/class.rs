//! The classes of one file, with the information that constructing instances needs.
//!
//! `link` adds what is inherited, since it knows the other files.

mod base;
mod field;

use ruff_python_ast::{self as ast, ExceptHandler, Expr, Stmt};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use menace_model::SignatureParam;

use super::imports::{TypeCheckingTest, parse_type_checking_test};
use super::reference::NameReference;
use super::scope::ScopeStack;
pub(crate) use base::named_tuple_params;
use field::{
    AnnotatedAssignment, FieldCandidate, default_decorator_field, read_annotated, read_unannotated,
};

/// One field in a class body, as a parameter of a generated constructor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FieldFacts {
    /// The field under its own name, by which a subclass overrides it.
    pub param: SignatureParam,
    /// The name that the constructor has for it, when that is another.
    pub alias: Option<String>,
    /// `field(init=False)`: not a parameter.
    pub in_init: bool,
}

/// How a decorator generates the constructor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GeneratedConstructor {
    /// `@dataclass(init=False)` generates none.
    pub init: bool,
    /// Whether attrs generates the constructor, which moves an overridden field to the end.
    pub attrs: bool,
}

/// One base of a class, in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BaseFacts {
    /// A reference to a class.
    Named(String),
    /// `namedtuple("P", "x y")` as a base: the parameters of its constructor.
    Tuple(Vec<SignatureParam>),
    /// Any other expression, whose value is unknown.
    Unknown,
}

impl BaseFacts {
    pub(crate) fn reference(&self) -> Option<&str> {
        match self {
            Self::Named(reference) => Some(reference),
            Self::Tuple(_) | Self::Unknown => None,
        }
    }

    pub(crate) fn tuple(&self) -> Option<&[SignatureParam]> {
        match self {
            Self::Tuple(params) => Some(params),
            Self::Named(_) | Self::Unknown => None,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClassFacts {
    pub qualname: String,
    /// The function around it, for a class that exists only while that runs.
    pub local_to: Option<String>,
    pub bases: Vec<BaseFacts>,
    pub metaclass: Option<String>,
    pub generated: Option<GeneratedConstructor>,
    /// `class C(TypedDict, total=False)`: its keys may be missing.
    pub partial: bool,
    pub fields: Vec<FieldFacts>,
    /// Names assigned in the body: the members, when it turns out to be an enumeration.
    pub members: Vec<String>,
    /// Names of the functions in the body.
    pub methods: Vec<String>,
    pub abstract_methods: Vec<String>,
}

/// Reads a class; its scope must not have been entered yet.
pub(crate) fn read_class(
    source: &str,
    class: &ast::StmtClassDef,
    qualname: String,
    local_to: Option<String>,
    scopes: &ScopeStack<'_>,
) -> ClassFacts {
    let mut decorators = class.decorator_list.iter().map(|decorator| &decorator.expression);
    let generator = decorators.find_map(|expr| read_generator(expr, scopes));
    let (bases, metaclass) = match &class.arguments {
        None => (Vec::new(), None),
        Some(arguments) => (
            arguments.args.iter().map(|base| base::read_base(source, base, scopes)).collect(),
            arguments
                .find_keyword("metaclass")
                .and_then(|keyword| scopes.resolve_expr(&keyword.value)),
        ),
    };
    let facts = ClassFacts {
        qualname,
        local_to,
        bases,
        metaclass,
        generated: generator.map(|generator| generator.generated),
        partial: class.arguments.as_deref().is_some_and(is_partial_typed_dict),
        fields: Vec::new(),
        members: Vec::new(),
        methods: Vec::new(),
        abstract_methods: Vec::new(),
    };
    let keyword_only = generator.is_some_and(|generator| generator.keyword_only);
    let mut body = ClassBodyReader { source, scopes, facts, candidates: Vec::new(), keyword_only };
    body.read_body(&class.body);
    let ClassBodyReader { mut facts, candidates, .. } = body;
    facts.fields = select_fields(
        candidates,
        generator.map_or(FieldSelection::Annotated, |each| each.field_selection),
    );
    facts
}

pub(crate) fn is_partial_typed_dict(arguments: &ast::Arguments) -> bool {
    let total = arguments.find_keyword("total").map(|keyword| &keyword.value);
    total.and_then(Expr::as_boolean_literal_expr).is_some_and(|literal| !literal.value)
}

/// Collects the fields and methods of a class body.
struct ClassBodyReader<'b, 's> {
    source: &'b str,
    scopes: &'b ScopeStack<'s>,
    facts: ClassFacts,
    candidates: Vec<FieldCandidate>,
    keyword_only: bool,
}

impl ClassBodyReader<'_, '_> {
    /// Descends into every block that runs in the class's own scope.
    fn read_body(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.read_statement(stmt);
        }
    }

    fn read_statement(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::FunctionDef(function) => self.read_function(function),
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    add_names(target, &mut self.facts.members);
                }
                let field = read_unannotated(self.source, assign, self.keyword_only, self.scopes);
                self.candidates.extend(field);
            }
            Stmt::AnnAssign(assign) => {
                match read_annotated(self.source, assign, self.keyword_only, self.scopes) {
                    AnnotatedAssignment::Field(field) => {
                        // Enumerations do not mind the annotation of a member.
                        if assign.value.is_some() {
                            add_names(&assign.target, &mut self.facts.members);
                        }
                        self.candidates.push(field);
                    }
                    AnnotatedAssignment::KeywordOnlyFromHere => self.keyword_only = true,
                    AnnotatedAssignment::ClassVariable => {
                        add_names(&assign.target, &mut self.facts.members);
                    }
                }
            }
            Stmt::If(statement) => {
                // Definitions for type checkers only do not exist when the constructor is called.
                if parse_type_checking_test(&statement.test, &|_| false)
                    != Some(TypeCheckingTest::Positive)
                {
                    self.read_body(&statement.body);
                }
                for clause in &statement.elif_else_clauses {
                    self.read_body(&clause.body);
                }
            }
            Stmt::Try(statement) => {
                self.read_body(&statement.body);
                for ExceptHandler::ExceptHandler(handler) in &statement.handlers {
                    self.read_body(&handler.body);
                }
                self.read_body(&statement.orelse);
                self.read_body(&statement.finalbody);
            }
            Stmt::With(statement) => self.read_body(&statement.body),
            _ => {}
        }
    }

    fn read_function(&mut self, function: &ast::StmtFunctionDef) {
        let name = function.name.to_string();
        if function.decorator_list.iter().any(|decorator| is_abstract(decorator, self.scopes)) {
            self.facts.abstract_methods.push(name.clone());
        }
        // attrs: `@x.default` above a method gives the field `x` its default.
        for field in function.decorator_list.iter().filter_map(default_decorator_field) {
            let field = self.candidates.iter_mut().find(|each| each.field.param.name == field);
            if let Some(FieldCandidate { field, by_attrs: true, .. }) = field {
                field.param.default = Some(format!("self.{name}()"));
            }
        }
        self.facts.methods.push(name);
    }
}

/// The names that an assignment binds: `a`, or both of `a, b`.
fn add_names(target: &Expr, names: &mut Vec<String>) {
    match target {
        Expr::Name(name) => names.push(name.id.to_string()),
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|each| add_names(each, names)),
        Expr::List(list) => list.elts.iter().for_each(|each| add_names(each, names)),
        Expr::Starred(starred) => add_names(&starred.value, names),
        _ => {}
    }
}

fn is_abstract(decorator: &ast::Decorator, scopes: &ScopeStack<'_>) -> bool {
    scopes.resolve_expr(&decorator.expression).is_some_and(|reference| {
        NameReference::parse(&reference).is_some_and(|NameReference { module, attributes }| {
            module == "abc" && attributes.starts_with("abstract")
        })
    })
}

/// A decorator that generates a constructor from the fields.
#[derive(Debug, Clone, Copy)]
struct ConstructorGenerator {
    generated: GeneratedConstructor,
    keyword_only: bool,
    field_selection: FieldSelection,
}

/// Which assignments a generator takes for fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldSelection {
    Annotated,
    /// attrs: everything annotated.
    AttrsAnnotated,
    /// attrs: the fields are calls of `attr.ib()`.
    AttrsCalls,
    /// attrs: the fields are the calls if one of them has no annotation, else all annotated names.
    AttrsEither,
}

fn read_generator(decorator: &Expr, scopes: &ScopeStack<'_>) -> Option<ConstructorGenerator> {
    let (callee, arguments) = match decorator {
        Expr::Call(call) => (&*call.func, Some(&call.arguments)),
        other => (other, None),
    };
    let reference = scopes.resolve_expr(callee)?;
    let NameReference { module, attributes } = NameReference::parse(&reference)?;
    let option = |name: &str| {
        let value = &arguments?.find_keyword(name)?.value;
        value.as_boolean_literal_expr().map(|literal| literal.value)
    };
    let by_default = match (module, attributes) {
        ("dataclasses" | "pydantic.dataclasses", "dataclass") => FieldSelection::Annotated,
        ("attr" | "attrs", "s" | "attrs" | "attributes") => FieldSelection::AttrsCalls,
        ("attr" | "attrs", "dataclass") => FieldSelection::AttrsAnnotated,
        ("attr" | "attrs", "define" | "mutable" | "frozen") => FieldSelection::AttrsEither,
        _ => return None,
    };
    let attrs = by_default != FieldSelection::Annotated;
    let takes = match option("auto_attribs") {
        Some(true) if attrs => FieldSelection::AttrsAnnotated,
        Some(false) if attrs => FieldSelection::AttrsCalls,
        _ => by_default,
    };
    Some(ConstructorGenerator {
        generated: GeneratedConstructor { init: option("init").unwrap_or(true), attrs },
        keyword_only: option("kw_only").unwrap_or(false),
        field_selection: takes,
    })
}

/// The fields among the candidates; of two with one name, the later counts, in the first's place.
fn select_fields(candidates: Vec<FieldCandidate>, takes: FieldSelection) -> Vec<FieldFacts> {
    let calls = match takes {
        FieldSelection::AttrsCalls => true,
        FieldSelection::AttrsEither => {
            candidates.iter().any(|each| each.by_attrs && !each.annotated)
        }
        FieldSelection::Annotated | FieldSelection::AttrsAnnotated => false,
    };
    let mut fields: Vec<FieldFacts> = Vec::new();
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    for FieldCandidate { mut field, annotated, by_attrs } in candidates {
        if !(if calls { by_attrs } else { annotated }) {
            continue;
        }
        let name = &field.param.name;
        if takes != FieldSelection::Annotated && field.alias.is_none() && name.starts_with('_') {
            field.alias = Some(name.trim_start_matches('_').to_owned());
        }
        if let Some(&earlier) = places.get(name) {
            fields[earlier] = field;
        } else {
            places.insert(name.clone(), fields.len());
            fields.push(field);
        }
    }
    fields
}
