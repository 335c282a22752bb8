//! A type annotation as a tree whose names are resolved to their definitions.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The structure of an annotation. Parts that cannot be parsed are kept as text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TypeExpr {
    /// A dotted name: `int`, `typing.Any`, `pkg.mod.Class`.
    Name(String),
    /// `list[int]`, `typing.Callable[[int], str]`.
    Generic {
        base: Box<TypeExpr>,
        args: Vec<TypeExpr>,
    },
    /// `int | None`; `Optional[int]` and `Union[...]` are normalised to this.
    Union(Vec<TypeExpr>),
    /// The values of `Literal[...]`, as Python source.
    Literal(Vec<String>),
    /// The parameter list of a callable: `[int, str]`.
    List(Vec<TypeExpr>),
    /// `*Ts`.
    Unpack(Box<TypeExpr>),
    Ellipsis,
    None,
    /// Anything else, as Python source.
    Other(String),
}

impl fmt::Display for TypeExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn join(f: &mut fmt::Formatter<'_>, items: &[TypeExpr], between: &str) -> fmt::Result {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    f.write_str(between)?;
                }
                item.fmt(f)?;
            }
            Ok(())
        }
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Generic { base, args } => {
                write!(f, "{base}[")?;
                join(f, args, ", ")?;
                f.write_str("]")
            }
            Self::Union(items) => join(f, items, " | "),
            Self::Literal(values) => write!(f, "typing.Literal[{}]", values.join(", ")),
            Self::List(items) => {
                f.write_str("[")?;
                join(f, items, ", ")?;
                f.write_str("]")
            }
            Self::Unpack(inner) => write!(f, "*{inner}"),
            Self::Ellipsis => f.write_str("..."),
            Self::None => f.write_str("None"),
            Self::Other(source) => f.write_str(source),
        }
    }
}
