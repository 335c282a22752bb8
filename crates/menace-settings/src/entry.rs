//! One line of `menace settings`.

use serde::Serialize;

use crate::{Declaration, Origin, Setting, Value};

/// A setting as it is in effect, ready to be printed: secrets are masked.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    pub name: &'static str,
    pub group: &'static str,
    pub kind: String,
    /// `None` when it is not set and has no default.
    pub value: Option<String>,
    pub origin: Origin,
    pub default: Option<&'static str>,
    pub flags: &'static [&'static str],
    pub secret: bool,
    pub help: &'static str,
}

impl Entry {
    pub(crate) fn new<T: Setting>(declared: &'static Declaration, value: &Value<T>) -> Self {
        Self {
            name: declared.name,
            group: declared.group,
            kind: declared.kind(),
            value: value.show(),
            origin: value.origin.clone(),
            default: declared.default,
            flags: declared.flags,
            secret: declared.secret,
            help: declared.help(),
        }
    }
}
