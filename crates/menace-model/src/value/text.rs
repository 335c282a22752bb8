//! Python's `str`: like Rust's, but it may contain unpaired surrogates.

use std::fmt;

/// A Python string. Conversion from a Rust string and access as one cost nothing.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyString(PyStringRepr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum PyStringRepr {
    Plain(String),
    /// UTF-8 in which surrogates have three bytes, as in Python's `surrogatepass`. Never valid
    /// UTF-8, so that every string has only one representation.
    Surrogates(Vec<u8>),
}

impl PyString {
    /// `None` for bytes that Python's `bytes.decode("utf-8", "surrogatepass")` rejects.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => return Some(Self::from(text)),
            Err(error) => error.into_bytes(),
        };
        let mut rest = &*bytes;
        while !rest.is_empty() {
            (_, rest) = split_code_point(rest)?;
        }
        Some(Self(PyStringRepr::Surrogates(bytes)))
    }

    /// `None` if a number is no code point.
    pub fn from_code_points(points: impl IntoIterator<Item = u32>) -> Option<Self> {
        let mut bytes = Vec::new();
        for point in points {
            match char::from_u32(point) {
                Some(char) => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
                None if (0xd800..0xe000).contains(&point) => {
                    let six = |shift: u32| 0x80 | (point >> shift & 63) as u8;
                    bytes.extend([0xed, six(6), six(0)]);
                }
                None => return None,
            }
        }
        Self::from_bytes(bytes)
    }

    /// `None` if the string contains a surrogate.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            PyStringRepr::Plain(text) => Some(text),
            PyStringRepr::Surrogates(_) => None,
        }
    }

    /// UTF-8, with surrogates in three bytes, as in Python's `surrogatepass`.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            PyStringRepr::Plain(text) => text.as_bytes(),
            PyStringRepr::Surrogates(bytes) => bytes,
        }
    }

    pub fn code_points(&self) -> impl Iterator<Item = u32> + '_ {
        let mut rest = self.as_bytes();
        std::iter::from_fn(move || {
            let (point, after) = split_code_point(rest)?;
            rest = after;
            Some(point)
        })
    }
}

fn split_code_point(bytes: &[u8]) -> Option<(u32, &[u8])> {
    if let [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, rest @ ..] = bytes {
        return Some((0xd000 | u32::from(second & 63) << 6 | u32::from(third & 63), rest));
    }
    let width = match bytes.first()? {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    };
    let (first, rest) = bytes.split_at_checked(width)?;
    let first = std::str::from_utf8(first).ok()?.chars().next()?;
    Some((first.into(), rest))
}

impl From<String> for PyString {
    fn from(text: String) -> Self {
        Self(PyStringRepr::Plain(text))
    }
}

impl From<&str> for PyString {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl fmt::Debug for PyString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_str() {
            Some(text) => text.fmt(f),
            None => f.debug_list().entries(self.code_points()).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surrogates_are_kept_apart() {
        let pair = PyString::from_code_points([0xd83d, 0xde00]).expect("code points");
        assert_eq!(pair.as_str(), None);
        assert_eq!(pair.as_bytes(), b"\xed\xa0\xbd\xed\xb8\x80");
        assert_eq!(pair.code_points().collect::<Vec<_>>(), [0xd83d, 0xde00]);
        assert_ne!(pair, PyString::from("😀"));
    }

    #[test]
    fn plain_text_has_one_form_however_it_came() {
        let text = "aé€😀";
        let points = text.chars().map(u32::from);
        assert_eq!(PyString::from_code_points(points), Some(text.into()));
        assert_eq!(PyString::from_bytes(text.into()), Some(text.into()));
        assert_eq!(PyString::from(text).as_str(), Some(text));
    }

    #[test]
    fn what_is_no_string_is_refused() {
        assert_eq!(PyString::from_code_points([0x11_0000]), None);
        for bytes in [&b"\xff"[..], b"\xed\xa0", b"\xc0\x80", b"\x80", b"a\xed\xa0\x80\xf5\x80"] {
            assert_eq!(PyString::from_bytes(bytes.to_vec()), None, "{bytes:?}");
        }
    }
}
