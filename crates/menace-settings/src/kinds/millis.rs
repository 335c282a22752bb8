//! Milliseconds, for variables that carry the unit in their name.

use std::time::Duration;

use super::duration::parse_duration;
use super::number::finite;
use crate::{Refusal, Setting, Surroundings};

/// A span of time that is written in milliseconds: `250`, `0.5`. A unit may be added: `2s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(Duration);

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
        "milliseconds".into()
    }

    fn expected() -> String {
        "a number of milliseconds such as `250`".into()
    }

    fn parse(text: &str, _: &Surroundings) -> Result<Self, Refusal> {
        let bare = finite(text).is_ok();
        parse_duration(&if bare { format!("{text}ms") } else { text.into() }).map(Self)
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
        assert!(read("-1").is_err());
    }

    #[test]
    fn it_is_shown_without_needless_zeros() {
        assert_eq!(Millis(Duration::from_micros(2_500)).show(), Some("2.5".into()));
        assert_eq!(Millis(Duration::from_millis(100)).show(), Some("100".into()));
    }

    proptest! {
        #[test]
        fn shown_milliseconds_read_back(nanos in 0..1_000_000_000_000_000_u64) {
            laws::reads_back(&Millis(Duration::from_nanos(nanos)));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::survives::<Millis>(&text);
        }
    }
}
