//! The trait for types of settings.

use std::path::PathBuf;

use menace_model::{escape_for_terminal, truncate_chars};

/// A type that a setting can have: read from text, shown as text, described to people.
pub trait SettingType: Sized {
    /// Whether the type has a value for "not set". All others need a default.
    const OPTIONAL: bool = false;

    /// Whether the value must never be printed.
    const SECRET: bool = false;

    /// The type in a word or two, for the reference: `size`, `port`.
    fn kind() -> String;

    /// A description of valid values, continuing "expected …".
    fn expected() -> String;

    /// Reads a value. `text` is trimmed and never empty.
    fn parse(text: &str, around: &ParseContext) -> Result<Self, ParseRefusal>;

    /// The value as a user would type it; `None` when it is not set.
    fn show(&self) -> Option<String>;

    /// The value as a number that grows with it; `None` where values have no order.
    fn magnitude(&self) -> Option<f64> {
        None
    }

    /// The value when no place sets one and there is no default.
    fn unset() -> Option<Self> {
        None
    }

    /// How a value that could not be read is quoted in an error.
    fn quote(text: &str) -> String {
        quoted(text)
    }
}

/// The data beside the text that parsing may depend on.
#[derive(Debug, Clone, Default)]
pub struct ParseContext {
    /// The home directory, which replaces a leading `~`.
    pub home: Option<PathBuf>,
}

/// A text that is no valid value; with a reason if `expected` does not explain it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParseRefusal {
    pub reason: Option<String>,
}

impl ParseRefusal {
    pub fn with_reason(why: impl Into<String>) -> Self {
        Self { reason: Some(why.into()) }
    }
}

impl From<std::num::ParseIntError> for ParseRefusal {
    fn from(_: std::num::ParseIntError) -> Self {
        Self::default()
    }
}

impl<T: SettingType> SettingType for Option<T> {
    const OPTIONAL: bool = true;
    const SECRET: bool = T::SECRET;

    fn kind() -> String {
        T::kind()
    }

    fn expected() -> String {
        T::expected()
    }

    fn parse(text: &str, around: &ParseContext) -> Result<Self, ParseRefusal> {
        T::parse(text, around).map(Some)
    }

    fn show(&self) -> Option<String> {
        self.as_ref().and_then(T::show)
    }

    fn magnitude(&self) -> Option<f64> {
        self.as_ref().and_then(T::magnitude)
    }

    fn unset() -> Option<Self> {
        Some(None)
    }

    fn quote(text: &str) -> String {
        T::quote(text)
    }
}

/// `text` between backticks, cut to a readable length and without control characters, so that a
/// hostile value cannot drive the terminal.
pub(crate) fn quoted(text: &str) -> String {
    const MAX_QUOTED_CHARS: usize = 80;
    format!("`{}`", truncate_chars(&escape_for_terminal(text), MAX_QUOTED_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_value_cannot_drive_the_terminal() {
        assert_eq!(quoted("a\u{1b}[31mb"), "`a\\x1b[31mb`");
    }

    #[test]
    fn a_long_value_is_cut() {
        assert_eq!(quoted(&"x".repeat(200)).chars().count(), 83);
    }
}
