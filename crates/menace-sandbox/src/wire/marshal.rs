//! Python's `marshal` format, version 2, as far as the harness uses it.
//!
//! What is read comes from a hostile process: every length is checked against what is there, the
//! depth and the number of items are bounded, and nothing is evaluated.

/// The deepest nesting that is read; the harness cuts before that.
const DEPTH: usize = 256;
/// The most items that are read in all.
const ITEMS: usize = 1 << 20;
/// CPython stores integers in digits of this many bits.
const DIGIT_BITS: u32 = 15;

/// One value as it was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    None,
    Bool(bool),
    Int(i64),
    /// An integer beyond 64 bits: sign and magnitude, least significant byte first.
    Long {
        negative: bool,
        magnitude: Vec<u8>,
    },
    Float(f64),
    Complex(f64, f64),
    /// UTF-8 that may hold lone surrogates.
    Str(Vec<u8>),
    Bytes(Vec<u8>),
    List(Vec<Item>),
    Tuple(Vec<Item>),
    Dict(Vec<(Item, Item)>),
    Ellipsis,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MarshalError {
    #[error("it ends too early")]
    Short,
    #[error("unknown type code {0:#04x} at {1}")]
    Code(u8, usize),
    #[error("a length is negative at {0}")]
    Length(usize),
    #[error("it is nested too deeply")]
    Deep,
    #[error("it has too many items")]
    Many,
    #[error("there is more after its end")]
    Long,
}

impl Item {
    /// Reads one value that fills `bytes` exactly.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, MarshalError> {
        let mut reader = Reader { bytes, at: 0, items: 0 };
        let item = reader.item(0)?.ok_or(MarshalError::Code(b'0', 0))?;
        if reader.at == bytes.len() { Ok(item) } else { Err(MarshalError::Long) }
    }

    /// The entry of a dictionary with this name.
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

    /// Text; what is not Unicode is replaced.
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

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    items: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], MarshalError> {
        let end = self.at.checked_add(count).ok_or(MarshalError::Short)?;
        let taken = self.bytes.get(self.at..end).ok_or(MarshalError::Short)?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], MarshalError> {
        self.take(N)?.try_into().map_err(|_| MarshalError::Short)
    }

    fn length(&mut self) -> Result<usize, MarshalError> {
        let at = self.at;
        usize::try_from(i32::from_le_bytes(self.array()?)).map_err(|_| MarshalError::Length(at))
    }

    fn float(&mut self) -> Result<f64, MarshalError> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// The next value; nothing at the code that ends a dictionary.
    fn item(&mut self, depth: usize) -> Result<Option<Item>, MarshalError> {
        if depth > DEPTH {
            return Err(MarshalError::Deep);
        }
        self.items += 1;
        if self.items > ITEMS {
            return Err(MarshalError::Many);
        }
        let at = self.at;
        let item = match self.take(1)?[0] {
            b'0' => return Ok(None),
            b'N' => Item::None,
            b'T' => Item::Bool(true),
            b'F' => Item::Bool(false),
            b'.' => Item::Ellipsis,
            b'i' => Item::Int(i32::from_le_bytes(self.array()?).into()),
            b'l' => self.long()?,
            b'g' => Item::Float(self.float()?),
            b'y' => Item::Complex(self.float()?, self.float()?),
            b'u' | b't' => {
                let length = self.length()?;
                Item::Str(self.take(length)?.to_vec())
            }
            b's' => {
                let length = self.length()?;
                Item::Bytes(self.take(length)?.to_vec())
            }
            b'[' => Item::List(self.sequence(depth)?),
            b'(' => Item::Tuple(self.sequence(depth)?),
            b'{' => {
                let mut pairs = Vec::new();
                while let Some(key) = self.item(depth + 1)? {
                    let value = self.item(depth + 1)?.ok_or(MarshalError::Code(b'0', at))?;
                    pairs.push((key, value));
                }
                Item::Dict(pairs)
            }
            code => return Err(MarshalError::Code(code, at)),
        };
        Ok(Some(item))
    }

    fn sequence(&mut self, depth: usize) -> Result<Vec<Item>, MarshalError> {
        let at = self.at;
        let length = self.length()?;
        // Each item takes a byte at least: a longer list is a lie.
        if length > self.bytes.len() - self.at {
            return Err(MarshalError::Short);
        }
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(self.item(depth + 1)?.ok_or(MarshalError::Code(b'0', at))?);
        }
        Ok(items)
    }

    fn long(&mut self) -> Result<Item, MarshalError> {
        let digits = i32::from_le_bytes(self.array()?);
        let count = usize::try_from(digits.unsigned_abs()).map_err(|_| MarshalError::Short)?;
        let bytes = self.take(count.checked_mul(2).ok_or(MarshalError::Short)?)?;
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
                return Ok(Item::Int(small));
            }
        }
        Ok(Item::Long { negative, magnitude })
    }
}

/// Writes values; lists and dictionaries are opened with their length, or closed by hand.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub Vec<u8>);

impl Writer {
    pub(crate) fn none(&mut self) {
        self.0.push(b'N');
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.0.push(if value { b'T' } else { b'F' });
    }

    pub(crate) fn int(&mut self, value: i64) {
        if let Ok(small) = i32::try_from(value) {
            self.0.push(b'i');
            self.0.extend(small.to_le_bytes());
        } else {
            self.unsigned(value < 0, value.unsigned_abs());
        }
    }

    pub(crate) fn unsigned(&mut self, negative: bool, mut value: u64) {
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

    pub(crate) fn float(&mut self, value: f64) {
        self.0.push(b'g');
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn str(&mut self, text: &str) {
        self.wtf8(text.as_bytes());
    }

    /// Text that may hold lone surrogates, in UTF-8 extended for them.
    pub(crate) fn wtf8(&mut self, bytes: &[u8]) {
        self.0.push(b'u');
        self.length(bytes.len());
        self.0.extend(bytes);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.push(b's');
        self.length(bytes.len());
        self.0.extend(bytes);
    }

    pub(crate) fn list(&mut self, length: usize) {
        self.0.push(b'[');
        self.length(length);
    }

    pub(crate) fn tuple(&mut self, length: usize) {
        self.0.push(b'(');
        self.length(length);
    }

    pub(crate) fn open_dict(&mut self) {
        self.0.push(b'{');
    }

    pub(crate) fn close_dict(&mut self) {
        self.0.push(b'0');
    }

    fn length(&mut self, length: usize) {
        // A frame is far smaller than 2 GiB, which is checked where it is sent.
        self.0.extend(i32::try_from(length).unwrap_or(i32::MAX).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut out = Writer::default();
        out.open_dict();
        out.str("a");
        out.list(4);
        out.int(-7);
        out.int(i64::MIN);
        out.float(0.5);
        out.bytes(b"\0\xff");
        out.str("b");
        out.none();
        out.close_dict();
        let item = Item::read(&out.0).unwrap();
        let list = item.get("a").unwrap();
        assert_eq!(
            list.items(),
            [Item::Int(-7), Item::Int(i64::MIN), Item::Float(0.5), Item::Bytes(vec![0, 255])]
        );
        assert_eq!(item.get("b"), Some(&Item::None));
        assert_eq!(item.get("c"), None);
    }

    #[test]
    fn a_lie_about_a_length_is_an_error_and_no_allocation() {
        assert_eq!(Item::read(b"[\xff\xff\xff\x7f"), Err(MarshalError::Short));
        assert_eq!(Item::read(b"s\xff\xff\xff\x7fab"), Err(MarshalError::Short));
        assert_eq!(Item::read(b"s\xff\xff\xff\xff"), Err(MarshalError::Length(1)));
    }

    #[test]
    fn bottomless_nesting_is_an_error() {
        let deep: Vec<u8> = [b'[', 1, 0, 0, 0].repeat(100_000);
        assert_eq!(Item::read(&deep), Err(MarshalError::Deep));
    }

    #[test]
    fn code_objects_are_not_read() {
        assert_eq!(Item::read(b"c\0\0\0\0"), Err(MarshalError::Code(b'c', 0)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Item::read(&bytes);
        }
    }
}
