//! Free text.

use crate::{ParseContext, ParseRefusal, SettingType};

impl SettingType for String {
    described_as!("text", "text");

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        Ok(text.into())
    }

    fn show(&self) -> Option<String> {
        Some(self.clone())
    }
}
