//! Tokens and keys: usable, never printable.

use std::fmt;

use crate::{Refusal, Setting, Surroundings};

/// Text that shows itself only to who asks for it by name.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

const MASK: &str = "********";

impl Secret {
    /// The text itself, for the one place that must send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Setting for Secret {
    const SECRET: bool = true;

    fn kind() -> String {
        "secret".into()
    }

    fn expected() -> String {
        "text".into()
    }

    fn parse(text: &str, _: &Surroundings) -> Result<Self, Refusal> {
        Ok(Self(text.into()))
    }

    fn show(&self) -> Option<String> {
        Some(MASK.into())
    }

    fn quote(_: &str) -> String {
        MASK.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_in_no_output() {
        let secret = Secret("sk-123".into());
        assert_eq!(format!("{secret:?} {:?}", secret.show()), "******** Some(\"********\")");
        assert_eq!(secret.expose(), "sk-123");
    }
}
