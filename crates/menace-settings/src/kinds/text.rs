//! Free text.

use crate::{ParseContext, ParseRefusal, SettingType};

impl SettingType for String {
    fn kind() -> String {
        "text".into()
    }

    fn expected() -> String {
        "text".into()
    }

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        Ok(text.into())
    }

    fn show(&self) -> Option<String> {
        Some(self.clone())
    }
}
