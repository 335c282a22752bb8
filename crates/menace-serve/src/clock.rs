//! Times for people, in UTC: readers may be in any time zone.

pub(crate) fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// `2026-11-17 01:46:01`.
pub(crate) fn format_timestamp(ms: i64) -> String {
    menace_model::format_utc(ms, "%Y-%m-%d %H:%M:%S")
}
