//! From annotations to shapes.

use ruff_python_ast::{Expr, Operator};

use menace_model::{ClassKind, TypeExpr};

use super::literal;
use crate::input::facts::Facts;
use crate::input::make::known;
use crate::input::python;
use crate::input::shape::{Bounds, Field, PathWhat, Shape};
use crate::input::topic::{Role, Topic};

/// Aliases and typed dictionaries may refer to themselves.
const MAX_DEPTH: usize = 8;

/// The shape that an annotation asks for.
pub(crate) fn shape(facts: &Facts<'_>, kind: &TypeExpr) -> Shape {
    Reader { facts, own: None, variables: &[] }.shape(kind, 0)
}

/// The same inside of a class, which `Self` is.
pub(crate) fn shape_in(facts: &Facts<'_>, kind: &TypeExpr, class: Option<&str>) -> Shape {
    shape_with(facts, kind, class, &[])
}

/// The same where type variables stand for something.
pub(crate) fn shape_with(
    facts: &Facts<'_>,
    kind: &TypeExpr,
    class: Option<&str>,
    variables: &[(String, Shape)],
) -> Shape {
    Reader { facts, own: class, variables }.shape(kind, 0)
}

/// The shape of a kind in our own tables: an annotation, a role (`url`) or a topic (`port`).
pub(crate) fn kind(facts: &Facts<'_>, text: &str) -> Shape {
    match text {
        "path" => return Shape::Path { what: PathWhat::File, is_text: true },
        "directory" => return Shape::Path { what: PathWhat::Directory, is_text: true },
        "new_path" => return Shape::Path { what: PathWhat::New, is_text: true },
        _ => {}
    }
    if let Some(role) = Role::from_word(text) {
        return Shape::Str(Some(role));
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
        && let Some(topic) = Topic::named(text)
    {
        let shape = kind(facts, topic.kinds.first().copied().unwrap_or("str"));
        return Shape::About(text.to_owned(), Box::new(shape));
    }
    written(text).map_or(Shape::Any, |it| shape(facts, &it))
}

/// An annotation as written, without knowledge of what its names mean.
pub(crate) fn written(text: &str) -> Option<TypeExpr> {
    python::with_expression(text, |expr| of(expr, 0))
}

fn of(expr: &Expr, depth: usize) -> Option<TypeExpr> {
    if depth > MAX_DEPTH {
        return None;
    }
    Some(match expr {
        Expr::NoneLiteral(_) => TypeExpr::None,
        Expr::EllipsisLiteral(_) => TypeExpr::Ellipsis,
        Expr::Name(_) | Expr::Attribute(_) => TypeExpr::Name(python::dotted(expr)?),
        Expr::List(list) => {
            TypeExpr::List(list.elts.iter().map(|it| of(it, depth + 1)).collect::<Option<_>>()?)
        }
        Expr::BinOp(binary) if binary.op == Operator::BitOr => {
            TypeExpr::Union(vec![of(&binary.left, depth + 1)?, of(&binary.right, depth + 1)?])
        }
        Expr::Subscript(subscript) => {
            let base = Box::new(of(&subscript.value, depth + 1)?);
            let args = match &*subscript.slice {
                Expr::Tuple(tuple) => {
                    tuple.elts.iter().map(|it| of(it, depth + 1)).collect::<Option<_>>()?
                }
                one => vec![of(one, depth + 1)?],
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

struct Reader<'a, 'f> {
    facts: &'a Facts<'f>,
    own: Option<&'a str>,
    variables: &'a [(String, Shape)],
}

impl Reader<'_, '_> {
    fn shape(&self, kind: &TypeExpr, depth: usize) -> Shape {
        if depth > MAX_DEPTH {
            return Shape::Any;
        }
        match kind {
            TypeExpr::Name(name) => self.named(name, &[], depth),
            TypeExpr::Generic { base, args } => match &**base {
                TypeExpr::Name(name) => self.named(name, args, depth),
                base => self.shape(base, depth + 1),
            },
            TypeExpr::Union(items) => {
                let mut shapes: Vec<Shape> =
                    items.iter().map(|item| self.shape(item, depth + 1)).collect();
                // What is wanted comes first, that it may be missing last.
                shapes.sort_by_key(|shape| *shape == Shape::None);
                Shape::union(shapes)
            }
            TypeExpr::Literal(values) => {
                let resolve = |name: &str| self.facts.reference(name);
                let values = values.iter().filter_map(|it| python::value(it, &resolve));
                Shape::OneOf(values.collect())
            }
            TypeExpr::List(items) => {
                Shape::Tuple(items.iter().map(|item| self.shape(item, depth + 1)).collect())
            }
            TypeExpr::Unpack(inner) => self.shape(inner, depth + 1),
            TypeExpr::None => Shape::None,
            TypeExpr::Ellipsis => Shape::Any,
            TypeExpr::Other(source) => match written(source) {
                Some(TypeExpr::Other(_)) | None => Shape::Any,
                Some(kind) => self.shape(&kind, depth + 1),
            },
        }
    }

    fn named(&self, name: &str, args: &[TypeExpr], depth: usize) -> Shape {
        let arg =
            |index: usize| args.get(index).map_or(Shape::Any, |kind| self.shape(kind, depth + 1));
        let boxed = |index: usize| Box::new(arg(index));
        if let Some((_, shape)) = self.variables.iter().find(|(known, _)| known == name) {
            return shape.clone();
        }
        if let Some(class) = self.facts.class(name) {
            return match class.kind {
                ClassKind::TypedDict => Shape::Record(
                    class
                        .fields
                        .iter()
                        .map(|field| Field {
                            name: field.name.clone(),
                            shape: field
                                .annotation
                                .as_ref()
                                .map_or(Shape::Any, |kind| self.shape(kind, depth + 2)),
                            required: field.required,
                        })
                        .collect(),
                ),
                _ if args.is_empty() => Shape::Instance(name.to_owned()),
                _ => {
                    let args = (0..args.len()).map(arg).collect();
                    Shape::Applied(Box::new(Shape::Instance(name.to_owned())), args)
                }
            };
        }
        if let Some(meaning) = self.facts.type_name(name) {
            return self.shape(meaning, depth + 1);
        }
        let last = name.rsplit('.').next().unwrap_or(name);
        if !is_standard(name) {
            return match last {
                // Names that stubs and libraries use for the same things.
                "StrPath" | "StrOrBytesPath" | "FileDescriptorOrPath" | "PathLike" => {
                    Shape::Path { what: PathWhat::File, is_text: true }
                }
                "ReadableBuffer" | "WriteableBuffer" => Shape::Bytes,
                _ => Shape::Known(name.to_owned()),
            };
        }
        match last {
            "Hashable" => {
                Shape::union(vec![Shape::text(), Shape::Int, Shape::Tuple(vec![Shape::Int])])
            }
            "Any" | "object" => Shape::Any,
            "None" | "NoneType" | "Never" | "NoReturn" => Shape::None,
            "bool" => Shape::Bool,
            "int" | "SupportsInt" | "SupportsIndex" | "SupportsAbs" | "SupportsRound" => Shape::Int,
            "float" | "SupportsFloat" => Shape::Float,
            "str" | "Text" | "LiteralString" | "AnyStr" => Shape::text(),
            "bytes" | "ByteString" | "Buffer" => Shape::Bytes,
            "list" | "List" | "Sequence" | "MutableSequence" | "Collection" | "Iterable"
            | "Reversible" | "Container" | "ValuesView" => Shape::List(boxed(0)),
            "Sized" => Shape::list(Shape::Int),
            "tuple" | "Tuple" => match args {
                [] => Shape::TupleOf(Box::new(Shape::Any)),
                [_, TypeExpr::Ellipsis] => Shape::TupleOf(boxed(0)),
                [TypeExpr::Other(empty)] if empty == "()" => Shape::Tuple(Vec::new()),
                args => Shape::Tuple(args.iter().map(|it| self.shape(it, depth + 1)).collect()),
            },
            "set" | "Set" | "AbstractSet" | "MutableSet" | "KeysView" => Shape::Set(boxed(0)),
            "frozenset" | "FrozenSet" => Shape::FrozenSet(boxed(0)),
            "dict" | "Dict" | "Mapping" | "MutableMapping" => Shape::Dict(boxed(0), boxed(1)),
            "ItemsView" => Shape::list(Shape::Tuple(vec![arg(0), arg(1)])),
            "Iterator" | "Generator" => Shape::Iterator(boxed(0)),
            "AsyncIterator" | "AsyncIterable" | "AsyncGenerator" => Shape::AsyncIterator(boxed(0)),
            "Awaitable" => Shape::Awaitable(boxed(0)),
            "Coroutine" => Shape::Awaitable(boxed(2)),
            "Callable" => self.callable(args, depth),
            "ContextManager" | "AbstractContextManager" => {
                Shape::ContextManager { gives: boxed(0), is_async: false }
            }
            "AsyncContextManager" | "AbstractAsyncContextManager" => {
                Shape::ContextManager { gives: boxed(0), is_async: true }
            }
            "type" | "Type" => Shape::Class(boxed(0)),
            "Annotated" => self.annotated(args, depth),
            "ClassVar" | "Final" | "Required" | "NotRequired" | "ReadOnly" | "InitVar"
            | "Unpack" => arg(0),
            "Self" => self.own.map_or(Shape::Any, |class| Shape::Instance(class.to_owned())),
            "Path" | "PosixPath" | "PathLike" => {
                Shape::Path { what: PathWhat::File, is_text: false }
            }
            "IO" => match args.first() {
                Some(TypeExpr::Name(name)) if name == "bytes" => {
                    Shape::Known("io.BytesIO".to_owned())
                }
                _ => Shape::Known("io.StringIO".to_owned()),
            },
            _ if known::find(name).is_some() => Shape::Known(name.to_owned()),
            _ if last.len() <= 2 => Shape::Any,
            _ => Shape::Known(name.to_owned()),
        }
    }

    fn callable(&self, args: &[TypeExpr], depth: usize) -> Shape {
        let returns = args.get(1).map_or(Shape::Any, |kind| self.shape(kind, depth + 1));
        match returns {
            Shape::Awaitable(returns) => Shape::Function { returns, is_async: true },
            returns => Shape::function(returns),
        }
    }

    /// `Annotated[int, Gt(0), Field(max_length=5)]`.
    fn annotated(&self, args: &[TypeExpr], depth: usize) -> Shape {
        let Some((kind, rest)) = args.split_first() else { return Shape::Any };
        let mut bounds = Bounds::default();
        for more in rest {
            let (TypeExpr::Other(source) | TypeExpr::Name(source)) = more else { continue };
            literal::bounds(source, &mut bounds);
        }
        let shape = self.shape(kind, depth + 1);
        if bounds == Bounds::default() { shape } else { Shape::Bounded(Box::new(shape), bounds) }
    }
}

/// Is the name one of Python's own, so that its last part tells what it is?
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
            ) || known::find(name).is_some()
        }
    }
}
