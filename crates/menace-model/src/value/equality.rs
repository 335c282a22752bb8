//! Equality of descriptions.

use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use super::Value;

/// Bits for comparing numbers: NaN equals NaN, and the two zeros differ.
fn canonical_bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) | (Self::Ellipsis, Self::Ellipsis) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::BigInt(a), Self::BigInt(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => canonical_bits(*a) == canonical_bits(*b),
            (Self::Complex { re, im }, Self::Complex { re: other_re, im: other_im }) => {
                canonical_bits(*re) == canonical_bits(*other_re)
                    && canonical_bits(*im) == canonical_bits(*other_im)
            }
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) | (Self::ByteArray(a), Self::ByteArray(b)) => a == b,
            (Self::List(a), Self::List(b))
            | (Self::Tuple(a), Self::Tuple(b))
            | (Self::Set(a), Self::Set(b))
            | (Self::FrozenSet(a), Self::FrozenSet(b))
            | (Self::Yields(a), Self::Yields(b)) => a == b,
            (Self::Dict(a), Self::Dict(b)) => a == b,
            (Self::Name(a), Self::Name(b)) => a == b,
            (
                Self::New { class, args, kwargs },
                Self::New { class: other_class, args: other_args, kwargs: other_kwargs },
            ) => class == other_class && args == other_args && kwargs == other_kwargs,
            (
                Self::Method { on, name, args, kwargs },
                Self::Method {
                    on: other_on,
                    name: other_name,
                    args: other_args,
                    kwargs: other_kwargs,
                },
            ) => {
                on == other_on && name == other_name && args == other_args && kwargs == other_kwargs
            }
            (
                Self::Repeat { value, times },
                Self::Repeat { value: other_value, times: other_times },
            ) => value == other_value && times == other_times,
            (
                Self::Shared { label, value },
                Self::Shared { label: other_label, value: other_value },
            ) => label == other_label && value == other_value,
            (Self::SharedRef(a), Self::SharedRef(b)) | (Self::Argument(a), Self::Argument(b)) => {
                a == b
            }
            (Self::Returns(a), Self::Returns(b))
            | (Self::Raises(a), Self::Raises(b))
            | (Self::Async(a), Self::Async(b)) => a == b,
            (
                Self::Stub { bases, members, args, kwargs },
                Self::Stub {
                    bases: other_bases,
                    members: other_members,
                    args: other_args,
                    kwargs: other_kwargs,
                },
            ) => {
                bases == other_bases
                    && members == other_members
                    && args == other_args
                    && kwargs == other_kwargs
            }
            (
                Self::After { value, calls },
                Self::After { value: other_value, calls: other_calls },
            ) => value == other_value && calls == other_calls,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        discriminant(self).hash(state);
        match self {
            Self::None | Self::Ellipsis => {}
            Self::Bool(value) => value.hash(state),
            Self::Int(number) => number.hash(state),
            Self::BigInt(number) => number.hash(state),
            Self::Float(number) => canonical_bits(*number).hash(state),
            Self::Complex { re, im } => (canonical_bits(*re), canonical_bits(*im)).hash(state),
            Self::Str(text) => text.hash(state),
            Self::Bytes(bytes) | Self::ByteArray(bytes) => bytes.hash(state),
            Self::List(items)
            | Self::Tuple(items)
            | Self::Set(items)
            | Self::FrozenSet(items)
            | Self::Yields(items) => items.hash(state),
            Self::Dict(pairs) => pairs.hash(state),
            Self::Name(name) => name.hash(state),
            Self::New { class, args, kwargs } => (class, args, kwargs).hash(state),
            Self::Method { on, name, args, kwargs } => (on, name, args, kwargs).hash(state),
            Self::Repeat { value, times } => (value, times).hash(state),
            Self::Shared { label, value } => (label, value).hash(state),
            Self::SharedRef(number) | Self::Argument(number) => number.hash(state),
            Self::Returns(value) | Self::Raises(value) | Self::Async(value) => value.hash(state),
            Self::Stub { bases, members, args, kwargs } => {
                (bases, members, args, kwargs).hash(state);
            }
            Self::After { value, calls } => (value, calls).hash(state),
        }
    }
}
