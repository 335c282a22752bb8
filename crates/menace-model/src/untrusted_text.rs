//! Escapes text of guests and checkouts for display, with one function for each target.
//!
//! Characters that a terminal interprets (C0 and C1 controls), that change the direction of text or
//! that have no width are shown as Python's escapes.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Whether it is a control character, a mark of direction, or a character without width.
pub fn is_unprintable(char: char) -> bool {
    char.is_control() || is_deceptive(char)
}

/// Whether it is no ASCII control character, but still changes or hides what a reader sees.
fn is_deceptive(char: char) -> bool {
    matches!(
        char,
        '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// One line for a terminal: every unprintable character is escaped, including line breaks.
pub fn escape_for_terminal(text: &str) -> String {
    escape_where(text, is_unprintable).into_owned()
}

/// Several lines for a terminal, which may contain Menace's own colours: line breaks, tabs and
/// escape sequences for colours are kept, all other control characters are escaped.
pub fn escape_but_styles(text: &str) -> Cow<'_, str> {
    let is_kept = |char| matches!(char, '\n' | '\t');
    if !text.contains(|char| is_unprintable(char) && !is_kept(char)) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let length = style_length(rest).unwrap_or(char.len_utf8());
        let (first, after) = rest.split_at(length);
        if length == 1 && is_unprintable(char) && !is_kept(char) || is_deceptive(char) {
            push_escape(&mut escaped, char);
        } else {
            escaped.push_str(first);
        }
        rest = after;
    }
    Cow::Owned(escaped)
}

/// The length of the escape sequence at the start of the text, if it selects a colour or a style.
fn style_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|char: char| !char.is_ascii_digit() && char != ';')?;
    parameters[end..].starts_with('m').then_some(end + 3)
}

/// Text that keeps its line breaks and tabs: for pages and CSV cells.
pub fn escape_but_lines(text: &str) -> Cow<'_, str> {
    escape_where(text, |char| is_unprintable(char) && char != '\n' && char != '\t')
}

fn escape_where(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if is_escaped(char) { push_escape(&mut escaped, char) } else { escaped.push(char) }
    }
    Cow::Owned(escaped)
}

/// Writes the escape that Python uses in strings.
fn push_escape(text: &mut String, char: char) {
    let _ = match (char, u32::from(char)) {
        ('\n', _) => write!(text, "\\n"),
        ('\r', _) => write!(text, "\\r"),
        ('\t', _) => write!(text, "\\t"),
        (_, code @ 0..=0xff) => write!(text, "\\x{code:02x}"),
        (_, code @ 0x100..=0xffff) => write!(text, "\\u{code:04x}"),
        (_, code) => write!(text, "\\U{code:08x}"),
    };
}

/// Escapes deceptive characters in the strings of a JSON document.
pub fn escape_deceptive_in_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_deceptive) {
        return Cow::Borrowed(json);
    }
    let mut escaped = Vec::with_capacity(json.len() + 16);
    // Writing to memory cannot fail.
    let _ = write_escaped(&mut escaped, json, is_deceptive);
    Cow::Owned(String::from_utf8_lossy(&escaped).into_owned())
}

/// Writes JSON on one line. Unprintable characters in strings are written as `\u` escapes, so that
/// a terminal shows them; a parser reads the same text.
pub fn write_json(writer: impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(writer, EscapingFormatter);
    value.serialize(&mut serializer).map_err(io::Error::from)
}

/// Like [`write_json`], into a string.
pub fn to_json(value: &impl Serialize) -> io::Result<String> {
    let mut bytes = Vec::new();
    write_json(&mut bytes, value)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

struct EscapingFormatter;

impl Formatter for EscapingFormatter {
    /// ASCII controls except U+007F are escaped by the serialiser already, since JSON requires it.
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        write_escaped(writer, fragment, is_unprintable)
    }

    /// Called for embedded raw JSON: deceptive characters can only be inside of its strings.
    fn write_raw_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        write_escaped(writer, fragment, is_deceptive)
    }
}

fn write_escaped<W: ?Sized + Write>(
    writer: &mut W,
    mut rest: &str,
    is_escaped: impl Fn(char) -> bool,
) -> io::Result<()> {
    while let Some(at) = rest.find(&is_escaped) {
        let (before, from) = rest.split_at(at);
        writer.write_all(before.as_bytes())?;
        let mut chars = from.chars();
        for unit in chars.next().unwrap_or_default().encode_utf16(&mut [0; 2]) {
            write!(writer, "\\u{unit:04x}")?;
        }
        rest = chars.as_str();
    }
    writer.write_all(rest.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_terminal_obeys_or_hides_is_an_escape() {
        for (text, shown) in [
            ("a\x1b[31mb\n", "a\\x1b[31mb\\n"),
            ("\u{9b}2J", "\\x9b2J"),
            ("user\u{202e}txt.exe", "user\\u202etxt.exe"),
            ("a\u{200b}b\u{feff}", "a\\u200bb\\ufeff"),
            ("\u{e0041}\r\t\0\x7f", "\\U000e0041\\r\\t\\x00\\x7f"),
            ("naïve – 漢字 😀", "naïve – 漢字 😀"),
        ] {
            assert_eq!(escape_for_terminal(text), shown);
        }
        for (text, shown) in [
            ("\x1b[1;31mbold\x1b[0m\u{9b}\n", "\x1b[1;31mbold\x1b[0m\\x9b\n"),
            ("\x1b[2J\x1b[1\rx", "\\x1b[2J\\x1b[1\\rx"),
            ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
            ("plain\ttext\n", "plain\ttext\n"),
        ] {
            assert_eq!(escape_but_styles(text), shown);
        }
        assert_eq!(escape_but_lines("a\tb\n\x1b\u{2066}"), "a\tb\n\\x1b\\u2066");
    }

    #[test]
    fn raw_documents_are_escaped_too() {
        let raw = serde_json::value::RawValue::from_string("[\"\u{202e}\u{e0041}\"]".into());
        assert_eq!(to_json(&raw.unwrap()).unwrap(), r#"["\u202e\udb40\udc41"]"#);
    }

    proptest! {
        #[test]
        fn json_reads_back_and_shows_everything(text in any::<String>()) {
            let json = to_json(&text).unwrap();
            prop_assert!(!json.contains(is_unprintable), "{json:?}");
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }

        #[test]
        fn nothing_unprintable_is_left(text in any::<String>()) {
            prop_assert!(!escape_for_terminal(&text).contains(is_unprintable));
            let styled = escape_but_styles(&text);
            let is_left = |char| is_unprintable(char) && !matches!(char, '\n' | '\t' | '\x1b');
            prop_assert!(!styled.contains(is_left), "{styled:?}");
        }
    }
}
