//! Switches that are on whenever they are set, whatever their value is.

use crate::{ParseContext, ParseRefusal, SettingType};

/// On when set to anything, as <https://no-color.org> defines it: `NO_COLOR=0` still means no
/// colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresenceSwitch;

impl SettingType for PresenceSwitch {
    described_as!("set or not", "anything");

    fn parse(_: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        Ok(Self)
    }

    fn show(&self) -> Option<String> {
        Some("1".into())
    }
}
