//! Numbers for people.

pub(crate) use menace_model::format_bytes;

/// `12.3 ms` or `4.20 s`.
pub(crate) fn format_millis(millis: f64) -> String {
    if millis >= 1000.0 { format!("{:.2} s", millis / 1000.0) } else { format!("{millis:.1} ms") }
}

/// `1 preset`, `2 presets`.
pub(crate) fn format_count(count: usize, noun: &str) -> String {
    let end = match (count, noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {noun}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_fits_the_number() {
        assert_eq!(
            (format_millis(0.04).as_str(), format_millis(1500.0).as_str()),
            ("0.0 ms", "1.50 s")
        );
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(format_count(1, "preset"), "1 preset");
        assert_eq!(
            (format_count(0, "line"), format_count(2, "branch")),
            ("0 lines".to_owned(), "2 branches".to_owned())
        );
    }
}
