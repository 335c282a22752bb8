//! The types of settings: each parses text, formats its values, and describes valid ones.

use std::str::FromStr;

use crate::ParseRefusal;

/// Defines the name and the description of a type, where both are constant.
macro_rules! described_as {
    ($kind:literal, $expected:literal) => {
        fn kind() -> String {
            $kind.into()
        }

        fn expected() -> String {
            $expected.into()
        }
    };
}

/// Makes a type that is read by `FromStr` and shown by `Display` a type of settings. The last
/// argument gives the magnitude of a value, where values have an order.
macro_rules! text_setting {
    ($name:ty, $kind:literal, $expected:literal $(, $magnitude:expr)?) => {
        impl $crate::SettingType for $name {
            described_as!($kind, $expected);

            fn parse(text: &str, _: &$crate::ParseContext) -> Result<Self, $crate::ParseRefusal> {
                $crate::kinds::parse_text(text)
            }

            fn show(&self) -> Option<String> {
                Some(self.to_string())
            }

            $(fn magnitude(&self) -> Option<f64> {
                let magnitude: fn(&Self) -> f64 = $magnitude;
                Some(magnitude(self))
            })?
        }
    };
}

/// Parses with `FromStr`.
fn parse_text<T: FromStr>(text: &str) -> Result<T, ParseRefusal>
where
    ParseRefusal: From<T::Err>,
{
    Ok(text.parse()?)
}

mod bandwidth;
mod boolean;
mod bounded;
mod choice;
mod counts;
mod decimal;
mod duration;
mod host;
mod json;
mod keyword_profiles;
mod list;
mod millis;
mod number;
mod path;
mod peer;
mod percent;
mod port;
mod positive;
mod presence;
mod probability;
mod processors;
mod secret;
mod size;
mod text;
mod url;
mod vm_settings;

pub use bandwidth::NetworkBandwidth;
pub use bounded::{BoundedInteger, BoundedSize, MinimumDuration};
pub(crate) use choice::{choice, normalize_word, refuse_word, word_setting};
pub use counts::NamedCounts;
pub use duration::{format_duration, parse_duration};
pub use host::ListenHost;
pub use json::JsonRecords;
pub use keyword_profiles::KeywordProfiles;
pub use millis::MillisDuration;
pub use percent::PercentShare;
pub use port::PortNumber;
pub use positive::{PositiveAmount, ZeroableAmount};
pub use presence::PresenceSwitch;
pub use probability::Probability;
pub use processors::ProcessorCount;
pub use secret::SecretText;
pub use size::ByteSize;
pub use url::{DatabaseUrl, HttpUrl, ScoreUrl};
pub use vm_settings::VmSettings;

/// Checks that hold for every type, called from the tests of each.
#[cfg(test)]
pub(crate) mod laws {
    use std::fmt::Debug;

    use crate::{ParseContext, SettingType};

    /// Asserts that parsing a formatted value gives the same value.
    pub(crate) fn assert_reads_back<T: SettingType + PartialEq + Debug>(value: &T) {
        let shown = value.show().expect("a value shows itself");
        assert_eq!(T::parse(&shown, &ParseContext::default()).as_ref(), Ok(value), "{shown}");
    }

    /// Asserts that parsing any text does not panic, and that parsed values can be formatted and
    /// parsed again.
    pub(crate) fn assert_does_not_panic<T: SettingType + PartialEq + Debug>(text: &str) {
        if let Ok(value) = T::parse(text, &ParseContext::default()) {
            assert_reads_back(&value);
        }
    }
}
