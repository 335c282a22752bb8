//! Formats text for display, in the same way in all crates.

use std::error::Error;

const BYTE_UNITS: [(&str, u64); 4] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// `1.5 MiB`.
pub fn format_bytes(count: u64) -> String {
    match BYTE_UNITS.iter().find(|(_, unit)| count >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", count as f64 / *unit as f64),
        None => format!("{count} B"),
    }
}

/// `0.04 ms`, `12 ms`, `1.5 s` or `1 min 30 s`.
pub fn format_millis(millis: f64) -> String {
    match millis {
        _ if !millis.is_finite() => "–".to_owned(),
        60_000.0.. => {
            let seconds = (millis / 1000.0).round();
            format!("{:.0} min {:02.0} s", (seconds / 60.0).floor(), seconds % 60.0)
        }
        1000.0.. => format!("{:.1} s", millis / 1000.0),
        10.0.. => format!("{millis:.0} ms"),
        _ => format!("{millis:.2} ms"),
    }
}

/// `preset` for one, `presets` for more.
pub fn pluralize(noun: &str, count: u64) -> String {
    let ending = match (count, noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{noun}{ending}")
}

/// `1 preset`, `2 presets`.
pub fn format_count(count: usize, noun: &str) -> String {
    format!("{count} {}", pluralize(noun, count as u64))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_fits_the_number() {
        assert_eq!((format_bytes(12), format_bytes(3 << 19)), ("12 B".into(), "1.5 MiB".into()));
        for (millis, text) in [
            (0.04, "0.04 ms"),
            (12.3, "12 ms"),
            (1500.0, "1.5 s"),
            (90_000.0, "1 min 30 s"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(format_millis(millis), text);
        }
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(format_count(1, "preset"), "1 preset");
        assert_eq!(
            (format_count(0, "line"), format_count(2, "branch")),
            ("0 lines".into(), "2 branches".into())
        );
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(truncate_chars("grün", 3), "grü…");
        assert_eq!(truncate_chars("grün", 4), "grün");
    }
}
