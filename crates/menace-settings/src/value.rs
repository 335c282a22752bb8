//! A setting's value together with where it came from.

use std::ops::Deref;

use crate::SettingOrigin;

/// A value and its origin. Reads like the value itself.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingValue<T> {
    pub value: T,
    pub origin: SettingOrigin,
    /// Whether a file decided it that may have come with a checkout, and is not trusted.
    pub is_from_checkout: bool,
}

impl<T> SettingValue<T> {
    /// Whether the user set it, in any place.
    pub fn is_explicit(&self) -> bool {
        self.origin.is_explicit()
    }
}

impl<T> Deref for SettingValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
