//! Free text.

use crate::{Refusal, Setting, Surroundings};

impl Setting for String {
    fn kind() -> String {
        "text".into()
    }

    fn expected() -> String {
        "text".into()
    }

    fn parse(text: &str, _: &Surroundings) -> Result<Self, Refusal> {
        Ok(text.into())
    }

    fn show(&self) -> Option<String> {
        Some(self.clone())
    }
}
