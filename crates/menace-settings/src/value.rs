//! A setting's value together with where it came from.

use std::ops::Deref;

use crate::Origin;

/// A value and its origin. Reads like the value itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Value<T> {
    pub value: T,
    pub origin: Origin,
}

impl<T> Value<T> {
    /// Whether the user set it, in whatever place.
    pub fn is_explicit(&self) -> bool {
        self.origin.is_explicit()
    }
}

impl<T> Deref for Value<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
