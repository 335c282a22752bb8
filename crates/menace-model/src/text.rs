//! Formats text for display, in the same way in all crates.

use std::error::Error;

use jiff::Timestamp;

const BYTE_UNITS: [(&str, u64); 4] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// `1.5 MiB`.
pub fn format_bytes(count: u64) -> String {
    match BYTE_UNITS.iter().find(|(_, unit)| count >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", count as f64 / *unit as f64),
        None => format!("{count} B"),
    }
}

/// The first `max` characters of a text, followed by `…` if there are more.
pub fn truncate_chars(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// An error with its causes, on one line.
pub fn format_error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text.push_str(": ");
        text.push_str(&source.to_string());
        cause = source.source();
    }
    text
}

/// Formats a time in milliseconds since 1970, in UTC, with a `strftime` pattern.
pub fn format_utc(ms: i64, pattern: &str) -> String {
    let latest = if ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(ms).unwrap_or(latest).strftime(pattern).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_fits_the_number() {
        assert_eq!((format_bytes(12), format_bytes(3 << 19)), ("12 B".into(), "1.5 MiB".into()));
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(truncate_chars("grün", 3), "grü…");
        assert_eq!(truncate_chars("grün", 4), "grün");
    }

    #[test]
    fn times_are_formatted_in_utc() {
        let pattern = "%Y-%m-%d %H:%M:%S";
        assert_eq!(format_utc(0, pattern), "1970-01-01 00:00:00");
        assert_eq!(format_utc(951_782_400_000, pattern), "2000-02-29 00:00:00");
        assert_eq!(format_utc(-1, pattern), "1969-12-31 23:59:59");
        assert_eq!(format_utc(1_794_865_204_999, "%Y%m%d"), "20261116");
        assert_eq!(format_utc(i64::MAX, "%Y"), "9999");
    }
}
