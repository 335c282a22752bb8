//! Milliseconds, for variables that carry the unit in their name.

use std::time::Duration;

use super::duration::parse_duration;
use super::number::finite;
use crate::{Refusal, Setting, Surroundings};

/// A span of time that is written in milliseconds: `250`, `0.5`. A unit may be added: `2s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(Duration);

/// Ten minutes: who waits longer for a packet has hung up.
const LONGEST_MS: u64 = 600_000;

impl Millis {
    pub const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    pub const fn duration(self) -> Duration {
        self.0
    }
}

impl Setting for Millis {
    fn kind() -> String {
        format!("milliseconds up to {LONGEST_MS}")
    }

    fn expected() -> String {
        format!("a number of milliseconds such as `250`, at most {LONGEST_MS}")
    }

    fn parse(text: &str, _: &Surroundings) -> Result<Self, Refusal> {
        let bare = finite(text).is_ok();
        let duration = parse_duration(&if bare { format!("{text}ms") } else { text.into() })?;
        if duration > Duration::from_millis(LONGEST_MS) {
            return Err(Refusal::default());
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
        let read = |text| Millis::parse(text, &Surroundings::default());
        assert_eq!(read("250"), Ok(Millis(Duration::from_millis(250))));
        assert_eq!(read("0.5"), Ok(Millis(Duration::from_micros(500))));
        assert_eq!(read("2s"), Ok(Millis(Duration::from_secs(2))));
        assert_eq!(read("600000"), read("10m"));
        for text in ["-1", "600001", "11m", "1e12", "1000000000000"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn it_is_shown_without_needless_zeros() {
        assert_eq!(Millis(Duration::from_micros(2_500)).show(), Some("2.5".into()));
        assert_eq!(Millis(Duration::from_millis(100)).show(), Some("100".into()));
    }

    proptest! {
        #[test]
        fn shown_milliseconds_read_back(nanos in 0..=LONGEST_MS * 1_000_000) {
            laws::reads_back(&Millis(Duration::from_nanos(nanos)));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::survives::<Millis>(&text);
        }
    }
}
