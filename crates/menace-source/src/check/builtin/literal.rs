//! The value of an argument as far as it can be read from the source.

use ruff_python_ast::{Expr, Number};

/// An argument as Bandit sees it. Names, attributes and constants all become text, so that
/// `shell=True`, `shell="True"` and `x.True` are equal for a rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ArgumentLiteral<'a> {
    Text(&'a str),
    /// `None` when it does not fit.
    Int(Option<u64>),
    List(&'a [Expr]),
    /// Another literal: a float, bytes, a tuple, a dict.
    Other,
    /// An expression without a known value: a call, an operation, an f-string.
    Unknown,
}

impl<'a> ArgumentLiteral<'a> {
    pub(super) fn from_expr(expr: &'a Expr) -> Self {
        match expr {
            Expr::Attribute(attribute) => Self::Text(&attribute.attr),
            Expr::Name(name) => Self::Text(&name.id),
            Expr::StringLiteral(string) => Self::Text(string.value.to_str()),
            Expr::BooleanLiteral(value) => Self::Text(if value.value { "True" } else { "False" }),
            Expr::NoneLiteral(_) => Self::Text("None"),
            Expr::NumberLiteral(number) => match &number.value {
                Number::Int(int) => Self::Int(int.as_u64()),
                Number::Float(_) | Number::Complex { .. } => Self::Other,
            },
            Expr::List(list) => Self::List(&list.elts),
            Expr::Tuple(_)
            | Expr::Set(_)
            | Expr::Dict(_)
            | Expr::BytesLiteral(_)
            | Expr::EllipsisLiteral(_) => Self::Other,
            _ => Self::Unknown,
        }
    }

    pub(super) fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn is_text(self, expected: &str) -> bool {
        self.text() == Some(expected)
    }

    /// Whether Python would take another value in `this or other`.
    pub(super) fn is_falsy(self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Int(value) => value == Some(0),
            Self::List(list) => list.is_empty(),
            Self::Other => false,
            Self::Unknown => true,
        }
    }
}

/// The value of a plain string constant.
pub(super) fn string_value(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::StringLiteral(string) => Some(string.value.to_str()),
        _ => None,
    }
}

/// Whether the expression is one constant.
pub(super) fn is_constant(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::NumberLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_)
    )
}
