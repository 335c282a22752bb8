//! The types that settings have: each reads its text, shows itself and says what it expects.

mod bandwidth;
mod boolean;
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
mod within;

pub use bandwidth::Bandwidth;
pub(crate) use choice::choice;
pub use counts::Counts;
pub use duration::{format_duration, parse_duration};
pub use host::Host;
pub use json::JsonRecords;
pub use keyword_profiles::KeywordProfiles;
pub use millis::Millis;
pub use peer::NetworkPeer;
pub use percent::Percent;
pub use port::Port;
pub use positive::{Amount, Positive};
pub use presence::Presence;
pub use probability::Probability;
pub use processors::Processors;
pub use secret::Secret;
pub use size::Size;
pub use url::{DatabaseUrl, HttpUrl, ScoreUrl};
pub use vm_settings::VmSettings;
pub use within::{DurationFrom, SizeUpTo, Within};

/// Checks that hold for every type, called from the tests of each.
#[cfg(test)]
mod laws {
    use std::fmt::Debug;

    use crate::{Setting, Surroundings};

    /// Reading what was shown gives the same value.
    pub(crate) fn reads_back<T: Setting + PartialEq + Debug>(value: &T) {
        let shown = value.show().expect("a value shows itself");
        assert_eq!(T::parse(&shown, &Surroundings::default()).as_ref(), Ok(value), "{shown}");
    }

    /// No text makes reading panic, and what is read can be shown and read again.
    pub(crate) fn survives<T: Setting + PartialEq + Debug>(text: &str) {
        if let Ok(value) = T::parse(text, &Surroundings::default()) {
            reads_back(&value);
        }
    }
}
