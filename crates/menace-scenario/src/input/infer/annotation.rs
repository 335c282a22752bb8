//! From annotations to shapes, including the type arguments of generic classes.

use menace_model::{ClassKind, SignatureParam, TypeExpr};
use ruff_python_ast::{Expr, Operator};

use super::{ParamGuess, literal};
use crate::input::make::objects::find_known_instances;
use crate::input::name_topics::{NameTopic, TextRole};
use crate::input::python;
use crate::input::repository_facts::RepositoryFacts;
use crate::input::shape::{PathKind, RecordField, ValueBounds, ValueShape};

/// Aliases and typed dictionaries may refer to themselves.
const MAX_ANNOTATION_DEPTH: usize = 8;

/// The shape of an annotation.
pub(crate) fn annotation_shape(facts: &RepositoryFacts<'_>, kind: &TypeExpr) -> ValueShape {
    AnnotationReader { facts, own: None, variables: &[] }.read_shape(kind, 0)
}

/// The shape of an annotation in a class, which `Self` refers to.
pub(crate) fn annotation_shape_in_class(
    facts: &RepositoryFacts<'_>,
    kind: &TypeExpr,
    class: Option<&str>,
) -> ValueShape {
    annotation_shape_with_variables(facts, kind, class, &[])
}

/// The shape of an annotation with shapes for its type variables.
pub(crate) fn annotation_shape_with_variables(
    facts: &RepositoryFacts<'_>,
    kind: &TypeExpr,
    class: Option<&str>,
    variables: &[(String, ValueShape)],
) -> ValueShape {
    AnnotationReader { facts, own: class, variables }.read_shape(kind, 0)
}

/// The shape of a kind in the tables of `data`: an annotation, a role (`url`) or a topic (`port`).
pub(crate) fn shape_of_kind(facts: &RepositoryFacts<'_>, text: &str) -> ValueShape {
    match text {
        "path" => return ValueShape::Path { kind: PathKind::File, is_text: true },
        "directory" => return ValueShape::Path { kind: PathKind::Directory, is_text: true },
        "new_path" => return ValueShape::Path { kind: PathKind::New, is_text: true },
        _ => {}
    }
    if let Ok(role) = text.parse::<TextRole>() {
        return ValueShape::Str(Some(role));
    }
    let is_word = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let builtin = matches!(
        text,
        "int"
            | "float"
            | "str"
            | "bytes"
            | "bool"
            | "list"
            | "dict"
            | "set"
            | "tuple"
            | "type"
            | "object"
    );
    if is_word
        && !builtin
        && let Some(topic) = NameTopic::find_exact(text)
    {
        let shape = shape_of_kind(facts, topic.kinds.first().copied().unwrap_or("str"));
        return ValueShape::WithTopic(text.to_owned(), Box::new(shape));
    }
    parse_annotation(text).map_or(ValueShape::Any, |it| annotation_shape(facts, &it))
}

/// Parses an annotation without resolving its names.
pub(crate) fn parse_annotation(text: &str) -> Option<TypeExpr> {
    python::parse_expression_with(text, |expr| convert_type_expression(expr, 0))
}

fn convert_type_expression(expr: &Expr, depth: usize) -> Option<TypeExpr> {
    if depth > MAX_ANNOTATION_DEPTH {
        return None;
    }
    Some(match expr {
        Expr::NoneLiteral(_) => TypeExpr::None,
        Expr::EllipsisLiteral(_) => TypeExpr::Ellipsis,
        Expr::Name(_) | Expr::Attribute(_) => TypeExpr::Name(python::dotted_name(expr)?),
        Expr::List(list) => TypeExpr::List(
            list.elts
                .iter()
                .map(|it| convert_type_expression(it, depth + 1))
                .collect::<Option<_>>()?,
        ),
        Expr::BinOp(binary) if binary.op == Operator::BitOr => TypeExpr::Union(vec![
            convert_type_expression(&binary.left, depth + 1)?,
            convert_type_expression(&binary.right, depth + 1)?,
        ]),
        Expr::Subscript(subscript) => {
            let base = Box::new(convert_type_expression(&subscript.value, depth + 1)?);
            let args = match &*subscript.slice {
                Expr::Tuple(tuple) => tuple
                    .elts
                    .iter()
                    .map(|it| convert_type_expression(it, depth + 1))
                    .collect::<Option<_>>()?,
                one => vec![convert_type_expression(one, depth + 1)?],
            };
            match &*base {
                TypeExpr::Name(name) if name.ends_with("Optional") => {
                    TypeExpr::Union(args.into_iter().chain([TypeExpr::None]).collect())
                }
                TypeExpr::Name(name) if name.ends_with("Union") => TypeExpr::Union(args),
                _ => TypeExpr::Generic { base, args },
            }
        }
        _ => return None,
    })
}

struct AnnotationReader<'a, 'f> {
    facts: &'a RepositoryFacts<'f>,
    own: Option<&'a str>,
    variables: &'a [(String, ValueShape)],
}

impl AnnotationReader<'_, '_> {
    fn read_shape(&self, kind: &TypeExpr, depth: usize) -> ValueShape {
        if depth > MAX_ANNOTATION_DEPTH {
            return ValueShape::Any;
        }
        match kind {
            TypeExpr::Name(name) => self.read_named(name, &[], depth),
            TypeExpr::Generic { base, args } => match &**base {
                TypeExpr::Name(name) => self.read_named(name, args, depth),
                base => self.read_shape(base, depth + 1),
            },
            TypeExpr::Union(items) => {
                let mut shapes: Vec<ValueShape> =
                    items.iter().map(|item| self.read_shape(item, depth + 1)).collect();
                // `None` comes last.
                shapes.sort_by_key(|shape| *shape == ValueShape::None);
                ValueShape::union_of(shapes)
            }
            TypeExpr::Literal(values) => {
                let resolve = |name: &str| self.facts.reference(name);
                let values = values.iter().filter_map(|it| python::parse_value(it, &resolve));
                ValueShape::OneOf(values.collect())
            }
            TypeExpr::List(items) => ValueShape::Tuple(
                items.iter().map(|item| self.read_shape(item, depth + 1)).collect(),
            ),
            TypeExpr::Unpack(inner) => self.read_shape(inner, depth + 1),
            TypeExpr::None => ValueShape::None,
            TypeExpr::Ellipsis => ValueShape::Any,
            TypeExpr::Other(source) => match parse_annotation(source) {
                Some(TypeExpr::Other(_)) | None => ValueShape::Any,
                Some(kind) => self.read_shape(&kind, depth + 1),
            },
        }
    }

    fn read_named(&self, name: &str, args: &[TypeExpr], depth: usize) -> ValueShape {
        let arg = |index: usize| {
            args.get(index).map_or(ValueShape::Any, |kind| self.read_shape(kind, depth + 1))
        };
        let boxed = |index: usize| Box::new(arg(index));
        if let Some((_, shape)) = self.variables.iter().find(|(known, _)| known == name) {
            return shape.clone();
        }
        if let Some(class) = self.facts.class(name) {
            return match class.kind {
                ClassKind::TypedDict => ValueShape::Record(
                    class
                        .fields
                        .iter()
                        .map(|field| RecordField {
                            name: field.name.clone(),
                            shape: field
                                .annotation
                                .as_ref()
                                .map_or(ValueShape::Any, |kind| self.read_shape(kind, depth + 2)),
                            required: field.required,
                        })
                        .collect(),
                ),
                _ if args.is_empty() => ValueShape::Instance(name.to_owned()),
                _ => {
                    let args = (0..args.len()).map(arg).collect();
                    ValueShape::GenericInstance(
                        Box::new(ValueShape::Instance(name.to_owned())),
                        args,
                    )
                }
            };
        }
        if let Some(meaning) = self.facts.type_name(name) {
            return self.read_shape(meaning, depth + 1);
        }
        let last = name.rsplit('.').next().unwrap_or(name);
        if !is_standard(name) {
            return match last {
                // Type names of stub files.
                "StrPath" | "StrOrBytesPath" | "FileDescriptorOrPath" | "PathLike" => {
                    ValueShape::Path { kind: PathKind::File, is_text: true }
                }
                "ReadableBuffer" | "WriteableBuffer" => ValueShape::Bytes,
                _ => ValueShape::LibraryInstance(name.to_owned()),
            };
        }
        match last {
            "Hashable" => ValueShape::union_of(vec![
                ValueShape::any_text(),
                ValueShape::Int,
                ValueShape::Tuple(vec![ValueShape::Int]),
            ]),
            "Any" | "object" => ValueShape::Any,
            "None" | "NoneType" | "Never" | "NoReturn" => ValueShape::None,
            "bool" => ValueShape::Bool,
            "int" | "SupportsInt" | "SupportsIndex" | "SupportsAbs" | "SupportsRound" => {
                ValueShape::Int
            }
            "float" | "SupportsFloat" => ValueShape::Float,
            "str" | "Text" | "LiteralString" | "AnyStr" => ValueShape::any_text(),
            "bytes" | "ByteString" | "Buffer" => ValueShape::Bytes,
            "list" | "List" | "Sequence" | "MutableSequence" | "Collection" | "Iterable"
            | "Reversible" | "Container" | "ValuesView" => ValueShape::List(boxed(0)),
            "Sized" => ValueShape::list_of(ValueShape::Int),
            "tuple" | "Tuple" => match args {
                [] => ValueShape::TupleOf(Box::new(ValueShape::Any)),
                [_, TypeExpr::Ellipsis] => ValueShape::TupleOf(boxed(0)),
                [TypeExpr::Other(empty)] if empty == "()" => ValueShape::Tuple(Vec::new()),
                args => ValueShape::Tuple(
                    args.iter().map(|it| self.read_shape(it, depth + 1)).collect(),
                ),
            },
            "set" | "Set" | "AbstractSet" | "MutableSet" | "KeysView" => ValueShape::Set(boxed(0)),
            "frozenset" | "FrozenSet" => ValueShape::FrozenSet(boxed(0)),
            "dict" | "Dict" | "Mapping" | "MutableMapping" => ValueShape::Dict(boxed(0), boxed(1)),
            "ItemsView" => ValueShape::list_of(ValueShape::Tuple(vec![arg(0), arg(1)])),
            "Iterator" | "Generator" => ValueShape::Iterator(boxed(0)),
            "AsyncIterator" | "AsyncIterable" | "AsyncGenerator" => {
                ValueShape::AsyncIterator(boxed(0))
            }
            "Awaitable" => ValueShape::Awaitable(boxed(0)),
            "Coroutine" => ValueShape::Awaitable(boxed(2)),
            "Callable" => self.read_callable(args, depth),
            "ContextManager" | "AbstractContextManager" => {
                ValueShape::ContextManager { entered_value: boxed(0), is_async: false }
            }
            "AsyncContextManager" | "AbstractAsyncContextManager" => {
                ValueShape::ContextManager { entered_value: boxed(0), is_async: true }
            }
            "type" | "Type" => ValueShape::Class(boxed(0)),
            "Annotated" => self.read_annotated(args, depth),
            "ClassVar" | "Final" | "Required" | "NotRequired" | "ReadOnly" | "InitVar"
            | "Unpack" => arg(0),
            "Self" => {
                self.own.map_or(ValueShape::Any, |class| ValueShape::Instance(class.to_owned()))
            }
            "Path" | "PosixPath" | "PathLike" => {
                ValueShape::Path { kind: PathKind::File, is_text: false }
            }
            "IO" => match args.first() {
                Some(TypeExpr::Name(name)) if name == "bytes" => {
                    ValueShape::LibraryInstance("io.BytesIO".to_owned())
                }
                _ => ValueShape::LibraryInstance("io.StringIO".to_owned()),
            },
            _ if find_known_instances(name).is_some() => {
                ValueShape::LibraryInstance(name.to_owned())
            }
            _ if last.len() <= 2 => ValueShape::Any,
            _ => ValueShape::LibraryInstance(name.to_owned()),
        }
    }

    fn read_callable(&self, args: &[TypeExpr], depth: usize) -> ValueShape {
        let returns = args.get(1).map_or(ValueShape::Any, |kind| self.read_shape(kind, depth + 1));
        match returns {
            ValueShape::Awaitable(returns) => ValueShape::Function { returns, is_async: true },
            returns => ValueShape::function_returning(returns),
        }
    }

    /// `Annotated[int, Gt(0), Field(max_length=5)]`.
    fn read_annotated(&self, args: &[TypeExpr], depth: usize) -> ValueShape {
        let Some((kind, rest)) = args.split_first() else { return ValueShape::Any };
        let mut bounds = ValueBounds::default();
        for more in rest {
            let (TypeExpr::Other(source) | TypeExpr::Name(source)) = more else { continue };
            literal::read_bounds(source, &mut bounds);
        }
        let shape = self.read_shape(kind, depth + 1);
        if bounds == ValueBounds::default() {
            shape
        } else {
            ValueShape::Bounded(Box::new(shape), bounds)
        }
    }
}

/// Does the name belong to the standard library, so that its last part tells what it is?
fn is_standard(name: &str) -> bool {
    match name.rsplit_once('.') {
        None => true,
        Some((module, _)) => {
            matches!(
                module,
                "typing"
                    | "typing_extensions"
                    | "collections.abc"
                    | "builtins"
                    | "abc"
                    | "os"
                    | "pathlib"
                    | "contextlib"
                    | "dataclasses"
                    | "types"
                    | "collections"
                    | "_typeshed"
                    | "io"
            ) || find_known_instances(name).is_some()
        }
    }
}

/// Replaces type variables in the annotations of constructor parameters by the type arguments of
/// the class. Variables are numbered in the order in which the parameters name them: most often
/// that of their declaration.
pub(crate) fn apply_type_arguments(
    facts: &RepositoryFacts<'_>,
    class: &str,
    params: &[SignatureParam],
    args: &[ValueShape],
    guesses: &mut [ParamGuess],
) {
    let mut variables: Vec<(String, ValueShape)> = Vec::new();
    for kind in params.iter().filter_map(|param| param.resolved.as_ref()) {
        visit_names(kind, &mut |name| {
            let is_new = variables.iter().all(|(known, _)| known != name);
            if is_new
                && is_type_variable(facts, name)
                && let Some(shape) = args.get(variables.len())
            {
                variables.push((name.to_owned(), shape.clone()));
            }
        });
    }
    for guess in guesses {
        let param = params.iter().find(|param| param.name == guess.name);
        let Some(kind) = param.and_then(|param| param.resolved.as_ref()) else { continue };
        let mut is_generic = false;
        visit_names(kind, &mut |name| {
            is_generic |= variables.iter().any(|(known, _)| known == name);
        });
        if is_generic {
            let shape = annotation_shape_with_variables(facts, kind, Some(class), &variables);
            guess.shapes = vec![(shape, 1.0)];
            guess.is_certain = true;
        }
    }
}

/// `T = TypeVar("T")`, or the `T` of `class Box[T]`, which has no definition.
fn is_type_variable(facts: &RepositoryFacts<'_>, name: &str) -> bool {
    match facts.type_name(name) {
        Some(TypeExpr::Name(meaning)) => meaning == "typing.Any",
        Some(_) => false,
        None => {
            let is_short = name.len() <= 2 && name.starts_with(|it: char| it.is_ascii_uppercase());
            is_short && facts.class(name).is_none()
        }
    }
}

fn visit_names(kind: &TypeExpr, found: &mut impl FnMut(&str)) {
    match kind {
        // The variables of `class Box[T]` are unresolved.
        TypeExpr::Name(name) | TypeExpr::Other(name) => found(name),
        TypeExpr::Generic { base, args } => {
            visit_names(base, found);
            for arg in args {
                visit_names(arg, found);
            }
        }
        TypeExpr::Union(items) | TypeExpr::List(items) => {
            for item in items {
                visit_names(item, found);
            }
        }
        TypeExpr::Unpack(inner) => visit_names(inner, found),
        TypeExpr::Literal(_) | TypeExpr::Ellipsis | TypeExpr::None => {}
    }
}
