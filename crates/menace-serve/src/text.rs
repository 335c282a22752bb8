//! Text for pages: escaped, cleaned, and numbers as people read them.

#![expect(clippy::cast_sign_loss, reason = "sizes have no sign")]

use std::fmt::Write;

pub(crate) use menace_model::{format_bytes, format_millis, truncate_chars as truncate};

/// Safe between tags and in quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape_to(&mut out, text);
    out
}

/// Appends the escaped text. Unprintable characters are shown as escapes.
pub(crate) fn escape_to(out: &mut String, text: &str) {
    for char in menace_model::escape_but_lines(text).chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            char => out.push(char),
        }
    }
}

/// `1,234,567`.
pub(crate) fn format_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 run`, `1,234 runs`.
pub(crate) fn format_grouped_count(number: u64, noun: &str) -> String {
    format!("{} {}", format_thousands(number), menace_model::pluralize(noun, number))
}

/// A measured value: three digits that count.
pub(crate) fn format_number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    // Smaller values are rounding errors of sums.
    let value = if value.abs() < 1e-15 { 0.0 } else { value };
    let size = value.abs();
    let digits = match size {
        size if size >= 1000.0 => return format_signed_thousands(value),
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        size if size >= 0.01 || size == 0.0 => 3,
        size if size >= 0.0001 => 4,
        _ => return format!("{value:.1e}"),
    };
    format!("{value:.digits$}").replace('-', "−")
}

fn format_signed_thousands(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "" };
    format!("{sign}{}", format_thousands(value.abs().min(1e18).round() as u64))
}

/// A number that may be a count: whole numbers have no decimals.
pub(crate) fn format_amount(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format_signed_thousands(value);
    }
    format_number(value)
}

/// A change, with its sign.
pub(crate) fn format_signed(value: f64) -> String {
    let text = format_number(value);
    if value > 0.0 && text.chars().any(|char| ('1'..='9').contains(&char)) {
        format!("+{text}")
    } else {
        text
    }
}

/// `2026-11-17 01:46:01`.
pub(crate) fn format_timestamp(ms: i64) -> String {
    menace_model::format_utc(ms, "%Y-%m-%d %H:%M:%S")
}

/// Escapes text for a query string.
pub(crate) fn percent_encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            byte => {
                // Writing to a string does not fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_markup_stays() {
        assert_eq!(
            escape("<a href=\"x\" o='y'>&"),
            "&lt;a href=&quot;x&quot; o=&#39;y&#39;&gt;&amp;"
        );
        assert_eq!(escape("a\0b\u{1b}[31m\u{202e}c\n"), "a\\x00b\\x1b[31m\\u202ec\n");
    }

    #[test]
    fn numbers_are_for_people() {
        assert_eq!(format_thousands(1_234_567), "1,234,567");
        assert_eq!(format_thousands(12), "12");
        let counts = [0, 1, 2, 1234].map(|number| format_grouped_count(number, "run"));
        assert_eq!(counts, ["0 runs", "1 run", "2 runs", "1,234 runs"]);
        for (value, text) in [
            (0.0, "0.000"),
            (0.5, "0.500"),
            (-0.25, "−0.250"),
            (12.34, "12.3"),
            (1340.3, "1,340"),
            (0.0021, "0.0021"),
            (0.000_01, "1.0e-5"),
            (-1.4e-17, "0.000"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(format_number(value), text);
        }
        assert_eq!(
            (format_signed(0.5), format_signed(-0.5), format_signed(0.0)),
            ("+0.500".into(), "−0.500".into(), "0.000".into())
        );
        assert_eq!((format_bytes(512), format_bytes(1536)), ("512 B".into(), "1.5 KiB".into()));
    }

    #[test]
    fn what_was_counted_has_no_digits_that_say_nothing() {
        for (value, text) in [(3.0, "3"), (-1200.0, "−1,200"), (0.5, "0.500")] {
            assert_eq!(format_amount(value), text);
        }
    }

    #[test]
    fn an_address_holds_any_text() {
        assert_eq!(percent_encode("a b&c=d/e::f<"), "a%20b%26c%3Dd/e%3A%3Af%3C");
    }
}
