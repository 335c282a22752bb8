//! String and bytes literals that look the same on every screen.

use std::fmt::Write as _;

use crate::value::PyString;

/// Letters and digits of all scripts are kept; invisible characters, marks of direction and
/// unassigned characters are escaped.
pub(super) fn string_literal(text: &PyString) -> String {
    let mut literal = String::with_capacity(text.as_bytes().len() + 2);
    literal.push('\'');
    for point in text.code_points() {
        let _ = match char::from_u32(point) {
            Some(char @ ('\\' | '\'')) => write!(literal, "\\{char}"),
            Some('\n') => write!(literal, "\\n"),
            Some('\r') => write!(literal, "\\r"),
            Some('\t') => write!(literal, "\\t"),
            Some(char @ ' '..='~') => write!(literal, "{char}"),
            Some(char) if point > 0x7f && char.is_alphanumeric() => write!(literal, "{char}"),
            _ if point < 0x100 => write!(literal, "\\x{point:02x}"),
            _ if point < 0x1_0000 => write!(literal, "\\u{point:04x}"),
            _ => write!(literal, "\\U{point:08x}"),
        };
    }
    literal.push('\'');
    literal
}

pub(super) fn bytes_literal(bytes: &[u8]) -> String {
    let mut literal = String::with_capacity(bytes.len() + 3);
    literal.push_str("b'");
    for byte in bytes {
        let _ = match byte {
            b'\\' | b'\'' => write!(literal, "\\{}", char::from(*byte)),
            b'\n' => write!(literal, "\\n"),
            b'\r' => write!(literal, "\\r"),
            b'\t' => write!(literal, "\\t"),
            b' '..=b'~' => write!(literal, "{}", char::from(*byte)),
            _ => write!(literal, "\\x{byte:02x}"),
        };
    }
    literal.push('\'');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_kept_and_the_invisible_is_escaped() {
        assert_eq!(string_literal(&"naïve 漢字 it's\n\0".into()), r"'naïve 漢字 it\'s\n\x00'");
        assert_eq!(string_literal(&"\u{202e}\u{a0}\u{7f}😀".into()), r"'\u202e\xa0\x7f\U0001f600'");
        let surrogate = PyString::from_code_points([0xd800]).expect("a code point");
        assert_eq!(string_literal(&surrogate), r"'\ud800'");
    }

    #[test]
    fn bytes_are_ascii() {
        assert_eq!(bytes_literal(b"a'\\\xff\n"), r"b'a\'\\\xff\n'");
    }
}
