//! Where a preset came from, as logs tell it.

use std::fmt;

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PresetOrigin {
    StaticFile,
    /// Typed, or in `SANDBOX_ENV_PRESETS`.
    Given,
    Generated,
    Canonical,
    /// A profile, as it is.
    Profile,
    /// The words in a module's path called for it.
    Keyword,
    /// A canonical scenario that was missing.
    Injected,
}

impl PresetOrigin {
    /// Every module is put through what it stands for.
    pub(super) fn is_canonical(self) -> bool {
        matches!(self, Self::Canonical | Self::Injected)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::StaticFile => "static file",
            Self::Given => "given",
            Self::Generated => "generated",
            Self::Canonical => "canonical",
            Self::Profile => "profile",
            Self::Keyword => "keyword",
            Self::Injected => "injected",
        }
    }
}

impl fmt::Display for PresetOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
