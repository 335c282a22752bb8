//! Times: milliseconds since 1970, shown in UTC, since readers may be in any time zone.

use jiff::Timestamp;

pub fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

/// A time in UTC, by a `strftime` pattern.
pub fn format_utc(ms: i64, pattern: &str) -> String {
    let latest = if ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(ms).unwrap_or(latest).strftime(pattern).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

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
