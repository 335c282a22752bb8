//! One line of `menace settings`.

use serde::Serialize;

use crate::{SettingDeclaration, SettingOrigin, SettingType, SettingValue};

/// A setting in effect, ready to be printed: secrets are masked.
#[derive(Debug, Clone, Serialize)]
pub struct SettingEntry {
    pub name: &'static str,
    pub group: &'static str,
    pub kind: String,
    /// `None` when it is not set and has no default.
    pub value: Option<String>,
    pub origin: SettingOrigin,
    pub default: Option<&'static str>,
    pub flags: &'static [&'static str],
    pub secret: bool,
    /// Whether any code reads it. `false` for a planned setting.
    pub implemented: bool,
    pub help: &'static str,
}

impl SettingEntry {
    pub(crate) fn new<T: SettingType>(
        declared: &'static SettingDeclaration,
        value: &SettingValue<T>,
    ) -> Self {
        Self {
            name: declared.name,
            group: declared.group,
            kind: declared.kind(),
            value: value.show(),
            origin: value.origin.clone(),
            default: declared.default,
            flags: declared.flags,
            secret: declared.secret,
            implemented: !declared.planned,
            help: declared.help(),
        }
    }

    /// The origin for tables. For a planned setting it says that the value has no effect.
    pub fn origin_text(&self) -> String {
        match (self.implemented, self.origin.is_explicit()) {
            (true, _) => self.origin.to_string(),
            (false, true) => format!("{}, not implemented yet", self.origin),
            (false, false) => "not implemented yet".to_owned(),
        }
    }
}
