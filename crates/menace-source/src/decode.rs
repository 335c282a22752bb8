//! Turns the bytes of a Python file into text, the way CPython chooses the encoding.
//!
//! A byte order mark or a cookie in the first two lines decides; without them it is UTF-8.

use std::borrow::Cow;

use encoding_rs::Encoding;

/// Why bytes are not Python text. Lines are one-based.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("unknown encoding `{label}`")]
    UnknownEncoding { label: String, line: u32 },
    #[error("not valid {encoding}: byte 0x{byte:02x}")]
    InvalidByte { encoding: String, byte: u8, line: u32 },
    #[error("the file claims `{label}` but starts with a UTF-8 byte order mark")]
    ConflictingEncodings { label: String, line: u32 },
    #[error("source code cannot contain null bytes")]
    NullByte { line: u32 },
}

impl DecodeError {
    pub fn line(&self) -> u32 {
        match self {
            Self::UnknownEncoding { line, .. }
            | Self::InvalidByte { line, .. }
            | Self::ConflictingEncodings { line, .. }
            | Self::NullByte { line } => *line,
        }
    }
}

/// Decodes a whole file; borrows when it is UTF-8 already.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, DecodeError> {
    let (has_mark, body) = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(body) => (true, body),
        None => (false, bytes),
    };
    if let Some(at) = memchr::memchr(0, body) {
        return Err(DecodeError::NullByte { line: line_at(body, at) });
    }
    let Some((label, line)) = find_cookie(body) else {
        return decode_utf8(body);
    };
    let name = label.to_ascii_lowercase().replace('_', "-");
    // Emacs appends how lines end, and Python lets it.
    let name = ["-unix", "-dos", "-mac"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(&name)
        .to_owned();
    let is_utf8 = matches!(name.as_str(), "utf8" | "utf-8" | "u8" | "utf" | "cp65001")
        || name.starts_with("utf-8-");
    if is_utf8 {
        return decode_utf8(body);
    }
    if has_mark {
        return Err(DecodeError::ConflictingEncodings { label: label.to_owned(), line });
    }
    match name.as_str() {
        "ascii" | "us-ascii" | "646" => match body.iter().position(|byte| !byte.is_ascii()) {
            Some(at) => Err(invalid_byte_error("ASCII", body, at)),
            None => decode_utf8(body),
        },
        // encoding_rs reads the label as windows-1252, which Python does not.
        "latin-1" | "latin1" | "latin" | "iso-8859-1" | "iso8859-1" | "iso-latin-1" | "8859"
        | "cp819" | "l1" => {
            Ok(body.iter().map(|&byte| char::from(byte)).collect::<String>().into())
        }
        _ => decode_with_encoding_rs(&name, body)
            .unwrap_or_else(|| Err(DecodeError::UnknownEncoding { label: label.to_owned(), line })),
    }
}

fn decode_utf8(bytes: &[u8]) -> Result<Cow<'_, str>, DecodeError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Cow::Borrowed(text)),
        Err(error) => Err(invalid_byte_error("UTF-8", bytes, error.valid_up_to())),
    }
}

/// Decodes through `encoding_rs`; `None` when it does not know the name.
fn decode_with_encoding_rs<'b>(
    name: &str,
    bytes: &'b [u8],
) -> Option<Result<Cow<'b, str>, DecodeError>> {
    // Python spells some names in ways that the web's list of labels does not have.
    let spelled = match name {
        "latin9" | "latin-9" | "l9" => "iso-8859-15",
        "mac-roman" | "macroman" => "macintosh",
        "mac-cyrillic" => "x-mac-cyrillic",
        "euc-jp" | "eucjp" | "ujis" => "euc-jp",
        "cp932" | "ms-kanji" | "shift-jis" | "sjis" => "shift_jis",
        "cp949" | "euckr" => "euc-kr",
        "cp936" => "gbk",
        "cp950" => "big5",
        _ => name,
    };
    let stripped = spelled.strip_prefix("cp").map(|number| format!("windows-{number}"));
    let encoding = Encoding::for_label_no_replacement(spelled.as_bytes())
        .or_else(|| Encoding::for_label_no_replacement(stripped?.as_bytes()))
        // A cookie cannot announce UTF-16: the cookie itself is ASCII.
        .filter(|encoding| encoding.is_ascii_compatible())?;
    let decoded = encoding.decode_without_bom_handling_and_without_replacement(bytes);
    Some(decoded.ok_or_else(|| {
        let at = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(0);
        invalid_byte_error(encoding.name(), bytes, at)
    }))
}

/// The encoding cookie and its line, as PEP 263 defines it.
fn find_cookie(bytes: &[u8]) -> Option<(&str, u32)> {
    let mut rest = bytes;
    for number in 1..=2 {
        let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = rest[..end].trim_ascii_start();
        let line = line.strip_prefix(b"\x0c").unwrap_or(line).trim_ascii_start();
        if line.first().is_some_and(|&byte| byte != b'#') {
            return None;
        }
        if let Some(label) = cookie_in_comment(line) {
            return Some((label, number));
        }
        let skip = if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = rest.get(end + skip..)?;
    }
    None
}

fn cookie_in_comment(line: &[u8]) -> Option<&str> {
    let is_label = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    memchr::memmem::find_iter(line, "coding").find_map(|at| {
        let after = line.get(at + "coding".len()..)?;
        let after = after.strip_prefix(b":").or_else(|| after.strip_prefix(b"="))?;
        let blanks = after.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let after = &after[blanks..];
        let length = after.iter().take_while(|byte| is_label(byte)).count();
        (length > 0).then(|| std::str::from_utf8(&after[..length]).ok())?
    })
}

fn invalid_byte_error(encoding: &str, bytes: &[u8], at: usize) -> DecodeError {
    DecodeError::InvalidByte {
        encoding: encoding.to_owned(),
        byte: bytes.get(at).copied().unwrap_or_default(),
        line: line_at(bytes, at),
    }
}

fn line_at(bytes: &[u8], at: usize) -> u32 {
    1 + memchr::memchr_iter(b'\n', &bytes[..at.min(bytes.len())]).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_utf8_is_borrowed_and_the_mark_is_dropped() {
        assert!(matches!(decode("x = 'é'".as_bytes()), Ok(Cow::Borrowed("x = 'é'"))));
        assert_eq!(decode(b"\xef\xbb\xbfx = 1").unwrap(), "x = 1");
    }

    #[test]
    fn the_cookie_decides_in_either_of_the_first_two_lines() {
        assert_eq!(
            decode(b"# -*- coding: latin-1 -*-\nx='\xe9'").unwrap().lines().nth(1),
            Some("x='é'")
        );
        assert_eq!(
            decode(b"#!/bin/sh\n# vim: fileencoding=koi8-r\n'\xc1'").unwrap().lines().nth(2),
            Some("'а'")
        );
        assert_eq!(decode(b"# coding: latin-1-unix\n'\xe9'").unwrap().lines().nth(1), Some("'é'"));
        assert_eq!(decode(b"# coding: latin9\n'\xa4'").unwrap().lines().nth(1), Some("'€'"));
        assert_eq!(decode(b"# coding=cp1251\n'\xe0'").unwrap().lines().nth(1), Some("'а'"));
    }

    #[test]
    fn a_cookie_after_code_or_in_the_third_line_is_only_text() {
        assert!(decode(b"x = 1\n# coding: nonsense\n").is_ok());
        assert!(decode(b"#\n#\n# coding: nonsense\n").is_ok());
    }

    #[test]
    fn what_cannot_be_decoded_names_the_line() {
        assert_eq!(
            decode(b"# coding: klingon\n"),
            Err(DecodeError::UnknownEncoding { label: "klingon".into(), line: 1 })
        );
        assert_eq!(decode(b"x = 1\ny = '\xff'\n").unwrap_err().line(), 2);
        assert_eq!(decode(b"x\n\ny\0z").unwrap_err(), DecodeError::NullByte { line: 3 });
        assert!(matches!(
            decode(b"\xef\xbb\xbf# coding: latin-1\n"),
            Err(DecodeError::ConflictingEncodings { line: 1, .. })
        ));
    }

    #[test]
    fn utf16_cannot_be_announced_by_a_cookie() {
        assert!(matches!(decode(b"# coding: utf-16\n"), Err(DecodeError::UnknownEncoding { .. })));
    }
}
