//! Splits text into lines where Python's `str.splitlines` does, which is not only at `\n`.

/// A line without its end, and where the next one starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PhysicalLine<'a> {
    pub(super) text: &'a str,
    /// Offset of the first byte after the line's end.
    pub(super) next_offset: usize,
}

impl PhysicalLine<'_> {
    /// Whether `str.strip` of Python makes the line empty.
    pub(super) fn is_blank(&self) -> bool {
        // The first byte decides for most lines.
        !self.text.bytes().next().is_some_and(|byte| byte.is_ascii_graphic())
            && self.text.chars().all(is_space)
    }

    pub(super) fn ends_with_backslash(&self) -> bool {
        self.text.trim_end_matches(is_space).ends_with('\\')
    }
}

/// Python's whitespace is Unicode's and the four separators of ASCII.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

pub(super) fn split_physical_lines(source: &str) -> PhysicalLines<'_> {
    // A byte order mark is the encoding's, not the text's.
    let start = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let bytes = source.as_bytes();
    let unusual = memchr::memchr3(0x0b, 0x0c, 0xc2, bytes)
        .or_else(|| memchr::memchr3(0x1c, 0x1d, 0xe2, bytes))
        .or_else(|| memchr::memchr(0x1e, bytes));
    PhysicalLines { source, start, has_plain_ends: unusual.is_none() }
}

#[derive(Debug)]
pub(super) struct PhysicalLines<'a> {
    source: &'a str,
    start: usize,
    /// Whether only `
    /// ` and `\r` end lines, so that a faster search can be used.
    has_plain_ends: bool,
}

/// Whether a line may end at this byte; bytes beyond ASCII begin a character that may end it.
const MAY_END_LINE: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"\n\r\x0b\x0c\x1c\x1d\x1e\xc2\xe2";
    let mut index = 0;
    while index < bytes.len() {
        table[bytes[index] as usize] = true;
        index += 1;
    }
    table
};

/// The length of the line end that `bytes` start with; none when they do not.
fn line_end_len(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'\r', b'\n', ..] | [0xc2, 0x85, ..] => Some(2),
        [0xe2, 0x80, 0xa8 | 0xa9, ..] => Some(3),
        [b'\n' | b'\r' | 0x0b | 0x0c | 0x1c..=0x1e, ..] => Some(1),
        _ => None,
    }
}

impl<'a> Iterator for PhysicalLines<'a> {
    type Item = PhysicalLine<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.source.as_bytes();
        let start = self.start;
        if start >= bytes.len() {
            return None;
        }
        let mut end = start;
        let next = loop {
            let rest = &bytes[end..];
            let candidate = if self.has_plain_ends {
                memchr::memchr2(b'\n', b'\r', rest)
            } else {
                rest.iter().position(|byte| MAY_END_LINE[usize::from(*byte)])
            };
            let Some(candidate) = candidate else {
                end = bytes.len();
                break end;
            };
            end += candidate;
            match line_end_len(&bytes[end..]) {
                Some(len) => break end + len,
                None => end += 1,
            }
        };
        self.start = next;
        Some(PhysicalLine { text: &self.source[start..end], next_offset: next })
    }
}

#[cfg(test)]
mod tests {
    use super::split_physical_lines;

    fn lines(source: &str) -> Vec<&str> {
        split_physical_lines(source).map(|line| line.text).collect()
    }

    #[test]
    fn every_line_end_of_python_splits() {
        let source = "a\nb\r\nc\rd\x0be\x0cf\x1cg\x1dh\x1ei\u{85}j\u{2028}k\u{2029}l";
        assert_eq!(lines(source).concat(), "abcdefghijkl");
        assert_eq!(lines(source).len(), 12);
    }

    #[test]
    fn other_characters_do_not_split() {
        assert_eq!(lines("a\x1fb\u{a0}c—d\u{e9}"), ["a\x1fb\u{a0}c—d\u{e9}"]);
    }

    #[test]
    fn a_last_line_end_ends_and_does_not_begin_a_line() {
        assert_eq!(lines(""), [""; 0]);
        assert_eq!(lines("a\n"), ["a"]);
        assert_eq!(lines("\n\n"), ["", ""]);
        assert_eq!(lines("\r\n\x0c\n"), ["", "", ""]);
    }

    #[test]
    fn a_byte_order_mark_belongs_to_no_line() {
        let first = split_physical_lines("\u{feff}\nx").next().unwrap();
        assert!(first.is_blank());
        assert_eq!(first.next_offset, 4);
    }

    #[test]
    fn whitespace_of_any_script_is_blank() {
        let blank = |text| split_physical_lines(text).next().unwrap().is_blank();
        assert!(blank(" \t\x1f\u{a0}\u{3000}"));
        assert!(!blank(" \u{200b}"));
    }
}
