//! Tokens and keys: usable, never printable.

use std::fmt;

use crate::{ParseContext, ParseRefusal, SettingType};

/// A secret: `Debug` hides it, only [`SecretText::expose`] returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

const SECRET_MASK: &str = "********";

impl SecretText {
    /// The text itself, for the one place that must send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SECRET_MASK)
    }
}

impl SettingType for SecretText {
    const SECRET: bool = true;

    described_as!("secret", "text");

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        Ok(Self(text.into()))
    }

    fn show(&self) -> Option<String> {
        Some(SECRET_MASK.into())
    }

    fn quote(_: &str) -> String {
        SECRET_MASK.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_in_no_output() {
        let secret = SecretText("sk-123".into());
        assert_eq!(format!("{secret:?} {:?}", secret.show()), "******** Some(\"********\")");
        assert_eq!(secret.expose(), "sk-123");
    }
}
