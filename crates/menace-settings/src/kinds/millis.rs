//! Milliseconds, for variables that carry the unit in their name.

use std::time::Duration;

use super::duration::parse_duration;
use super::number::parse_finite;
use crate::{ParseContext, ParseRefusal, SettingType};

/// A span of time that is written in milliseconds: `250`, `0.5`. A unit may be added: `2s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MillisDuration(Duration);

/// Ten minutes: no client waits longer for a packet.
const MAX_DELAY_MS: u64 = 600_000;

impl MillisDuration {
    pub const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    pub const fn duration(self) -> Duration {
        self.0
    }
}

impl SettingType for MillisDuration {
    fn kind() -> String {
        format!("milliseconds up to {MAX_DELAY_MS}")
    }

    fn expected() -> String {
        format!("a number of milliseconds such as `250`, at most {MAX_DELAY_MS}")
    }

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        let bare = parse_finite(text).is_ok();
        let duration = parse_duration(&if bare { format!("{text}ms") } else { text.into() })?;
        if duration > Duration::from_millis(MAX_DELAY_MS) {
            return Err(ParseRefusal::default());
        }
        Ok(Self(duration))
    }

    fn show(&self) -> Option<String> {
        let nanos = self.0.as_nanos();
        let (whole, rest) = (nanos / 1_000_000, nanos % 1_000_000);
        let text = format!("{whole}.{rest:06}");
        Some(text.trim_end_matches('0').trim_end_matches('.').into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    #[test]
    fn a_bare_number_is_milliseconds() {
        let read = |text| MillisDuration::parse(text, &ParseContext::default());
        assert_eq!(read("250"), Ok(MillisDuration(Duration::from_millis(250))));
        assert_eq!(read("0.5"), Ok(MillisDuration(Duration::from_micros(500))));
        assert_eq!(read("2s"), Ok(MillisDuration(Duration::from_secs(2))));
        assert_eq!(read("600000"), read("10m"));
        for text in ["-1", "600001", "11m", "1e12", "1000000000000"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn it_is_shown_without_needless_zeros() {
        assert_eq!(MillisDuration(Duration::from_micros(2_500)).show(), Some("2.5".into()));
        assert_eq!(MillisDuration(Duration::from_millis(100)).show(), Some("100".into()));
    }

    proptest! {
        #[test]
        fn shown_milliseconds_read_back(nanos in 0..=MAX_DELAY_MS * 1_000_000) {
            laws::assert_reads_back(&MillisDuration(Duration::from_nanos(nanos)));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<MillisDuration>(&text);
        }
    }
}
