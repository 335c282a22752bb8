//! Python's `marshal` format, version 2, as far as the harness uses it.
//!
//! What is read comes from untrusted code: every length is checked against the bytes that are
//! there, depth and number of items are bounded, and nothing is evaluated.

/// The deepest nesting that is read; the harness describes less.
const MAX_DEPTH: usize = 256;
/// The most items that are read in all.
const MAX_ITEMS: usize = 1 << 20;
/// CPython stores integers in digits of this many bits.
const DIGIT_BITS: u32 = 15;

/// One value that was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MarshalValue {
    None,
    Bool(bool),
    Int(i64),
    /// An integer beyond 64 bits: sign and magnitude, least significant byte first.
    BigInt {
        negative: bool,
        magnitude: Vec<u8>,
    },
    Float(f64),
    Complex(f64, f64),
    /// UTF-8 that may contain lone surrogates.
    Str(Vec<u8>),
    Bytes(Vec<u8>),
    List(Vec<MarshalValue>),
    Tuple(Vec<MarshalValue>),
    Dict(Vec<(MarshalValue, MarshalValue)>),
    Ellipsis,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MarshalError {
    #[error("it ends too early")]
    UnexpectedEnd,
    #[error("unknown type code {0:#04x} at {1}")]
    UnknownCode(u8, usize),
    #[error("a length is negative at {0}")]
    NegativeLength(usize),
    #[error("it is nested too deeply")]
    TooDeep,
    #[error("it has too many items")]
    TooManyItems,
    #[error("there is more after its end")]
    TrailingBytes,
}

impl MarshalValue {
    /// Reads one value that fills `bytes` exactly.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, MarshalError> {
        let mut reader = MarshalReader { bytes, at: 0, items: 0 };
        let item = reader.read_item(0)?.ok_or(MarshalError::UnknownCode(b'0', 0))?;
        if reader.at == bytes.len() { Ok(item) } else { Err(MarshalError::TrailingBytes) }
    }

    /// The value of this key, if it is a dictionary.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Dict(pairs) = self else { return None };
        let found = pairs
            .iter()
            .find(|(name, _)| matches!(name, Self::Str(name) if name == key.as_bytes()));
        found.map(|(_, value)| value)
    }

    pub(crate) fn as_int(&self) -> Option<i64> {
        if let Self::Int(value) = self { Some(*value) } else { None }
    }

    pub(crate) fn as_float(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            Self::Int(value) => Some(*value as f64),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// The text; what is not Unicode is replaced.
    pub(crate) fn as_text(&self) -> Option<String> {
        let Self::Str(bytes) = self else { return None };
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// The items of a list or tuple; empty for everything else.
    pub(crate) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) | Self::Tuple(items) => items,
            _ => &[],
        }
    }

    /// The texts in a list.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.items().iter().filter_map(Self::as_text).collect()
    }
}

struct MarshalReader<'a> {
    bytes: &'a [u8],
    at: usize,
    items: usize,
}

impl<'a> MarshalReader<'a> {
    fn take_bytes(&mut self, count: usize) -> Result<&'a [u8], MarshalError> {
        let end = self.at.checked_add(count).ok_or(MarshalError::UnexpectedEnd)?;
        let taken = self.bytes.get(self.at..end).ok_or(MarshalError::UnexpectedEnd)?;
        self.at = end;
        Ok(taken)
    }

    fn read_array<const N: usize>(&mut self) -> Result<[u8; N], MarshalError> {
        self.take_bytes(N)?.try_into().map_err(|_| MarshalError::UnexpectedEnd)
    }

    fn read_length(&mut self) -> Result<usize, MarshalError> {
        let at = self.at;
        usize::try_from(i32::from_le_bytes(self.read_array()?))
            .map_err(|_| MarshalError::NegativeLength(at))
    }

    fn read_float(&mut self) -> Result<f64, MarshalError> {
        Ok(f64::from_le_bytes(self.read_array()?))
    }

    /// Reads the next value; nothing at the code that ends a dictionary.
    fn read_item(&mut self, depth: usize) -> Result<Option<MarshalValue>, MarshalError> {
        if depth > MAX_DEPTH {
            return Err(MarshalError::TooDeep);
        }
        self.items += 1;
        if self.items > MAX_ITEMS {
            return Err(MarshalError::TooManyItems);
        }
        let at = self.at;
        let item = match self.take_bytes(1)?[0] {
            b'0' => return Ok(None),
            b'N' => MarshalValue::None,
            b'T' => MarshalValue::Bool(true),
            b'F' => MarshalValue::Bool(false),
            b'.' => MarshalValue::Ellipsis,
            b'i' => MarshalValue::Int(i32::from_le_bytes(self.read_array()?).into()),
            b'l' => self.read_long()?,
            b'g' => MarshalValue::Float(self.read_float()?),
            b'y' => MarshalValue::Complex(self.read_float()?, self.read_float()?),
            b'u' | b't' => {
                let length = self.read_length()?;
                MarshalValue::Str(self.take_bytes(length)?.to_vec())
            }
            b's' => {
                let length = self.read_length()?;
                MarshalValue::Bytes(self.take_bytes(length)?.to_vec())
            }
            b'[' => MarshalValue::List(self.read_sequence(depth)?),
            b'(' => MarshalValue::Tuple(self.read_sequence(depth)?),
            b'{' => {
                let mut pairs = Vec::new();
                while let Some(key) = self.read_item(depth + 1)? {
                    let value =
                        self.read_item(depth + 1)?.ok_or(MarshalError::UnknownCode(b'0', at))?;
                    pairs.push((key, value));
                }
                MarshalValue::Dict(pairs)
            }
            code => return Err(MarshalError::UnknownCode(code, at)),
        };
        Ok(Some(item))
    }

    fn read_sequence(&mut self, depth: usize) -> Result<Vec<MarshalValue>, MarshalError> {
        let at = self.at;
        let length = self.read_length()?;
        // Each item takes at least one byte, so a longer list cannot be complete.
        if length > self.bytes.len() - self.at {
            return Err(MarshalError::UnexpectedEnd);
        }
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(self.read_item(depth + 1)?.ok_or(MarshalError::UnknownCode(b'0', at))?);
        }
        Ok(items)
    }

    fn read_long(&mut self) -> Result<MarshalValue, MarshalError> {
        let digits = i32::from_le_bytes(self.read_array()?);
        let count =
            usize::try_from(digits.unsigned_abs()).map_err(|_| MarshalError::UnexpectedEnd)?;
        let bytes = self.take_bytes(count.checked_mul(2).ok_or(MarshalError::UnexpectedEnd)?)?;
        let mut magnitude = Vec::with_capacity(count * 2);
        let (mut pending, mut bits) = (0_u32, 0_u32);
        for digit in bytes.chunks_exact(2) {
            let digit = u32::from(u16::from_le_bytes([digit[0], digit[1]]) & 0x7fff);
            pending |= digit << bits;
            bits += DIGIT_BITS;
            while bits >= 8 {
                magnitude.push(pending as u8);
                pending >>= 8;
                bits -= 8;
            }
        }
        magnitude.push(pending as u8);
        while magnitude.last() == Some(&0) {
            magnitude.pop();
        }
        let negative = digits < 0;
        if magnitude.len() <= 8 {
            let mut wide = [0_u8; 16];
            wide[..magnitude.len()].copy_from_slice(&magnitude);
            let value = i128::from_le_bytes(wide);
            if let Ok(small) = i64::try_from(if negative { -value } else { value }) {
                return Ok(MarshalValue::Int(small));
            }
        }
        Ok(MarshalValue::BigInt { negative, magnitude })
    }
}

/// Writes values. Lists begin with their length, dictionaries are closed by a code of their own.
#[derive(Debug, Default)]
pub(crate) struct MarshalWriter(pub Vec<u8>);

impl MarshalWriter {
    pub(crate) fn write_none(&mut self) {
        self.0.push(b'N');
    }

    pub(crate) fn write_bool(&mut self, value: bool) {
        self.0.push(if value { b'T' } else { b'F' });
    }

    pub(crate) fn write_int(&mut self, value: i64) {
        if let Ok(small) = i32::try_from(value) {
            self.0.push(b'i');
            self.0.extend(small.to_le_bytes());
        } else {
            self.write_magnitude(value < 0, value.unsigned_abs());
        }
    }

    pub(crate) fn write_magnitude(&mut self, negative: bool, mut value: u64) {
        let mut digits = Vec::new();
        while value > 0 {
            digits.push((value & 0x7fff) as u16);
            value >>= DIGIT_BITS;
        }
        let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
        self.0.push(b'l');
        self.0.extend((if negative { -count } else { count }).to_le_bytes());
        for digit in digits {
            self.0.extend(digit.to_le_bytes());
        }
    }

    pub(crate) fn write_float(&mut self, value: f64) {
        self.0.push(b'g');
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn write_str(&mut self, text: &str) {
        self.write_wtf8(text.as_bytes());
    }

    /// Text that may contain lone surrogates, encoded in WTF-8.
    pub(crate) fn write_wtf8(&mut self, bytes: &[u8]) {
        self.0.push(b'u');
        self.write_length(bytes.len());
        self.0.extend(bytes);
    }

    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) {
        self.0.push(b's');
        self.write_length(bytes.len());
        self.0.extend(bytes);
    }

    pub(crate) fn open_list(&mut self, length: usize) {
        self.0.push(b'[');
        self.write_length(length);
    }

    pub(crate) fn open_tuple(&mut self, length: usize) {
        self.0.push(b'(');
        self.write_length(length);
    }

    pub(crate) fn open_dict(&mut self) {
        self.0.push(b'{');
    }

    pub(crate) fn close_dict(&mut self) {
        self.0.push(b'0');
    }

    fn write_length(&mut self, length: usize) {
        // A frame is much smaller than 2 GiB; the sender checks that.
        self.0.extend(i32::try_from(length).unwrap_or(i32::MAX).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut out = MarshalWriter::default();
        out.open_dict();
        out.write_str("a");
        out.open_list(4);
        out.write_int(-7);
        out.write_int(i64::MIN);
        out.write_float(0.5);
        out.write_bytes(b"\0\xff");
        out.write_str("b");
        out.write_none();
        out.close_dict();
        let item = MarshalValue::parse(&out.0).unwrap();
        let list = item.get("a").unwrap();
        assert_eq!(
            list.items(),
            [
                MarshalValue::Int(-7),
                MarshalValue::Int(i64::MIN),
                MarshalValue::Float(0.5),
                MarshalValue::Bytes(vec![0, 255])
            ]
        );
        assert_eq!(item.get("b"), Some(&MarshalValue::None));
        assert_eq!(item.get("c"), None);
    }

    #[test]
    fn a_lie_about_a_length_is_an_error_and_no_allocation() {
        assert_eq!(MarshalValue::parse(b"[\xff\xff\xff\x7f"), Err(MarshalError::UnexpectedEnd));
        assert_eq!(MarshalValue::parse(b"s\xff\xff\xff\x7fab"), Err(MarshalError::UnexpectedEnd));
        assert_eq!(MarshalValue::parse(b"s\xff\xff\xff\xff"), Err(MarshalError::NegativeLength(1)));
    }

    #[test]
    fn bottomless_nesting_is_an_error() {
        let deep: Vec<u8> = [b'[', 1, 0, 0, 0].repeat(100_000);
        assert_eq!(MarshalValue::parse(&deep), Err(MarshalError::TooDeep));
    }

    #[test]
    fn code_objects_are_not_read() {
        assert_eq!(MarshalValue::parse(b"c\0\0\0\0"), Err(MarshalError::UnknownCode(b'c', 0)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = MarshalValue::parse(&bytes);
        }
    }
}
