//! Numbers for people.

const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// `1.5 MiB`.
pub(crate) fn bytes(count: u64) -> String {
    match UNITS.iter().find(|(_, unit)| count >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", count as f64 / *unit as f64),
        None => format!("{count} B"),
    }
}

/// `12.3 ms` or `4.20 s`.
pub(crate) fn millis(millis: f64) -> String {
    if millis >= 1000.0 { format!("{:.2} s", millis / 1000.0) } else { format!("{millis:.1} ms") }
}

/// `1 preset`, `2 presets`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
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
        assert_eq!((bytes(12).as_str(), bytes(3 << 19).as_str()), ("12 B", "1.5 MiB"));
        assert_eq!((millis(0.04).as_str(), millis(1500.0).as_str()), ("0.0 ms", "1.50 s"));
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(counted(1, "preset"), "1 preset");
        assert_eq!(
            (counted(0, "line"), counted(2, "branch")),
            ("0 lines".to_owned(), "2 branches".to_owned())
        );
    }
}
