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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_fits_the_number() {
        assert_eq!((bytes(12).as_str(), bytes(3 << 19).as_str()), ("12 B", "1.5 MiB"));
        assert_eq!((millis(0.04).as_str(), millis(1500.0).as_str()), ("0.0 ms", "1.50 s"));
    }
}
