//! Spans of time, as `std::time::Duration`.

use std::time::Duration;

use super::decimal::ExactDecimal;
use crate::{ParseContext, ParseRefusal, SettingType};

/// Units by their nanoseconds, largest first. The first name of each is the one shown.
const DURATION_UNITS: [(&[&str], u64); 8] = [
    (&["w"], 604_800_000_000_000),
    (&["d"], 86_400_000_000_000),
    (&["h"], 3_600_000_000_000),
    (&["m", "min"], 60_000_000_000),
    (&["s", "sec"], 1_000_000_000),
    (&["ms"], 1_000_000),
    (&["us", "µs"], 1_000),
    (&["ns"], 1),
];

/// A century. Longer spans are slips, and adding them to a clock could overflow.
const MAX_DURATION: Duration = Duration::from_hours(100 * 365 * 24);

/// Reads `30` (seconds), `500ms`, `1.5s`, `5m`, `2h`, `7d` or `1w`.
pub fn parse_duration(text: &str) -> Result<Duration, ParseRefusal> {
    let (number, unit) =
        ExactDecimal::split_number_and_unit(text.trim()).ok_or_else(ParseRefusal::default)?;
    let unit = if unit.is_empty() { "s" } else { unit };
    let (_, nanos) = DURATION_UNITS
        .iter()
        .find(|(names, _)| names.iter().any(|name| name.eq_ignore_ascii_case(unit)))
        .ok_or_else(ParseRefusal::default)?;
    number
        .multiply_rounded(*nanos)
        .map(Duration::from_nanos)
        .filter(|duration| *duration <= MAX_DURATION)
        .ok_or_else(|| ParseRefusal::with_reason("it is longer than a century"))
}

/// Writes the span in its largest whole unit, weeks excepted: `7d`, `90s`, `1500ms`.
pub fn format_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".into();
    }
    DURATION_UNITS
        .iter()
        .skip(1)
        .find(|(_, unit)| nanos.is_multiple_of(u128::from(*unit)))
        .map(|(names, unit)| format!("{}{}", nanos / u128::from(*unit), names[0]))
        .unwrap_or_default()
}

impl SettingType for Duration {
    described_as!("duration", "a duration such as `30` (seconds), `500ms`, `5m` or `7d`");

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        parse_duration(text)
    }

    fn show(&self) -> Option<String> {
        Some(format_duration(*self))
    }

    fn magnitude(&self) -> Option<f64> {
        Some(self.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    #[test]
    fn a_bare_number_is_seconds() {
        assert_eq!(parse_duration("30"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
    }

    #[test]
    fn units_are_understood() {
        for (text, millis) in [
            ("500ms", 500),
            ("1.5s", 1500),
            ("5m", 300_000),
            ("2 h", 7_200_000),
            ("7d", 604_800_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["soon", "-5", "5y", "1e3", "200000000d", "1:30"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_duration_is_shown_in_its_largest_whole_unit() {
        assert_eq!(format_duration(Duration::from_hours(7 * 24)), "7d");
        assert_eq!(format_duration(Duration::from_millis(1500)), "1500ms");
    }

    proptest! {
        #[test]
        fn shown_durations_read_back(nanos in 0..=MAX_DURATION.as_nanos() as u64) {
            laws::assert_reads_back(&Duration::from_nanos(nanos));
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<Duration>(&text);
        }

        #[test]
        fn number_like_text_does_not_panic(text in "[0-9.]{0,40} ?[nuµm]?[smhdw]?") {
            laws::assert_does_not_panic::<Duration>(&text);
        }
    }
}
