//! Integers of any size, stored as text that the guest and Python can read.
//!
//! Nothing is computed with them; they are only converted between decimal and hexadecimal.

use std::fmt::{self, Write as _};

use super::Value;

/// CPython does not convert decimal numbers with more digits (`sys.int_info`).
const MAX_DECIMAL_DIGITS: usize = 4300;

/// Ten to the 19th, the largest power of ten in a `u64`.
const DECIMAL_CHUNK: u64 = 10_000_000_000_000_000_000;
const DECIMAL_CHUNK_DIGITS: usize = 19;

/// An integer outside of the range of `i64`, so that each integer has only one [`Value`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PyBigInt {
    negative: bool,
    /// Lowercase digits without leading zeros.
    hex: String,
}

impl PyBigInt {
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The magnitude: lowercase hexadecimal digits, no leading zero, no prefix.
    pub fn hex(&self) -> &str {
        &self.hex
    }

    /// The decimal digits of the magnitude, unless CPython would refuse to read that many.
    fn decimal_digits(&self) -> Option<String> {
        // A hexadecimal digit corresponds to 1.2 decimal ones, so this bounds the quadratic
        // conversion.
        if self.hex.len() > MAX_DECIMAL_DIGITS {
            return None;
        }
        let mut limbs = limbs_from_hex(&self.hex);
        let mut chunks = Vec::new();
        while !limbs.is_empty() {
            chunks.push(divide_in_place(&mut limbs, DECIMAL_CHUNK));
        }
        let mut digits = String::new();
        for chunk in chunks.iter().rev() {
            let width = if digits.is_empty() { 1 } else { DECIMAL_CHUNK_DIGITS };
            let _ = write!(digits, "{chunk:0width$}");
        }
        (digits.len() <= MAX_DECIMAL_DIGITS).then_some(digits)
    }
}

/// An integer literal of Python: decimal where CPython can read it, else hexadecimal.
impl fmt::Display for PyBigInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            f.write_str("-")?;
        }
        match self.decimal_digits() {
            Some(digits) => f.write_str(&digits),
            None => write!(f, "0x{}", self.hex),
        }
    }
}

impl Value {
    /// Parses an integer of any size: `-12`, `0xff`.
    pub fn parse_integer(text: &str) -> Option<Self> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        if let Some(hex) = digits.strip_prefix("0x") {
            return Self::integer_from_hex(negative, hex);
        }
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        if let Ok(number) = text.parse() {
            return Some(Self::Int(number));
        }
        Self::integer_from_hex(negative, &hex_from_limbs(&limbs_from_decimal(digits)))
    }

    /// The integer with this magnitude; `None` unless it consists of hexadecimal digits.
    pub fn integer_from_hex(negative: bool, digits: &str) -> Option<Self> {
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let hex = digits.trim_start_matches('0').to_ascii_lowercase();
        if hex.len() <= 16 {
            let magnitude = i128::from_str_radix(&hex, 16).unwrap_or(0);
            if let Ok(number) = i64::try_from(if negative { -magnitude } else { magnitude }) {
                return Some(Self::Int(number));
            }
        }
        Some(Self::BigInt(PyBigInt { negative, hex }))
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or_else(
            |_| Self::BigInt(PyBigInt { negative: false, hex: format!("{number:x}") }),
            Self::Int,
        )
    }
}

/// Limbs, least significant first; the last one is not zero.
fn limbs_from_hex(hex: &str) -> Vec<u64> {
    let chunks = hex.as_bytes().rchunks(16);
    chunks
        .map(|chunk| {
            chunk.iter().fold(0, |limb, digit| {
                limb << 4 | u64::from(char::from(*digit).to_digit(16).unwrap_or(0))
            })
        })
        .collect()
}

fn hex_from_limbs(limbs: &[u64]) -> String {
    let mut hex = String::from("0");
    for limb in limbs.iter().rev() {
        let _ = write!(hex, "{limb:016x}");
    }
    hex
}

fn limbs_from_decimal(digits: &str) -> Vec<u64> {
    let mut limbs: Vec<u64> = Vec::new();
    let (head, tail) = digits.as_bytes().split_at(digits.len() % DECIMAL_CHUNK_DIGITS);
    for chunk in std::iter::once(head).chain(tail.chunks(DECIMAL_CHUNK_DIGITS)) {
        let number = chunk.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
        let mut carry = u128::from(number);
        for limb in &mut limbs {
            carry += u128::from(*limb) * u128::from(DECIMAL_CHUNK);
            *limb = carry as u64;
            carry >>= 64;
        }
        if carry > 0 {
            limbs.push(carry as u64);
        }
    }
    limbs
}

/// Divides in place and returns the remainder.
fn divide_in_place(limbs: &mut Vec<u64>, divisor: u64) -> u64 {
    let mut remainder = 0;
    for limb in limbs.iter_mut().rev() {
        let dividend = u128::from(remainder) << 64 | u128::from(*limb);
        *limb = (dividend / u128::from(divisor)) as u64;
        remainder = (dividend % u128::from(divisor)) as u64;
    }
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
    remainder
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format_integer(text: &str) -> String {
        match Value::parse_integer(text) {
            Some(Value::BigInt(number)) => number.to_string(),
            Some(Value::Int(number)) => format!("{number} in an i64"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn what_fits_into_64_bits_is_no_big_integer() {
        assert_eq!(format_integer("-9223372036854775808"), "-9223372036854775808 in an i64");
        assert_eq!(format_integer("-0x8000000000000000"), "-9223372036854775808 in an i64");
        assert_eq!(format_integer("9223372036854775808"), "9223372036854775808");
        assert_eq!(format_integer("-9223372036854775809"), "-9223372036854775809");
        assert_eq!(format_integer("0x0000000000000000000000000f"), "15 in an i64");
        assert_eq!(format_integer("-0x0"), "0 in an i64");
        assert_eq!(format_integer("-00000000000000000000000"), "0 in an i64");
        assert_eq!(
            Value::from(u64::MAX),
            Value::parse_integer("0xFFFFFFFFFFFFFFFF").expect("digits")
        );
    }

    #[test]
    fn decimal_goes_to_hexadecimal_and_back() {
        for zeros in [19, 38, 400, 4299] {
            let text = format!("-1{}", "0".repeat(zeros));
            assert_eq!(format_integer(&text), text);
        }
        let Some(Value::BigInt(number)) = Value::parse_integer("36893488147419103232") else {
            panic!()
        };
        assert_eq!((number.is_negative(), number.hex()), (false, "20000000000000000"));
    }

    #[test]
    fn what_cpython_would_not_read_as_decimal_is_printed_in_hexadecimal() {
        let text = format!("1{}", "0".repeat(4300));
        assert!(format_integer(&text).starts_with("0x"));
        assert_eq!(Value::parse_integer(&format_integer(&text)), Value::parse_integer(&text));
    }

    #[test]
    fn what_is_no_integer_is_refused() {
        for text in ["", "-", "+1", "1_0", " 1", "0x", "-0x", "1.0", "1e3", "0xg", "--1", "٣"] {
            assert_eq!(Value::parse_integer(text), None, "{text}");
        }
    }
}
