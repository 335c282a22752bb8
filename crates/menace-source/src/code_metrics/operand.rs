//! Equality of operands: the value by which radon distinguishes them.
//!
//! radon puts a name's identifier, an attribute's name or a literal's value into a Python set. So
//! Python's equality decides: `x` equals `"x"`, and `1`, `1.0` and `True` are one operand.

use std::borrow::Cow;

use ruff_python_ast::{Expr, ExprStringLiteral, Int, Number};
use ruff_text_size::Ranged;

/// The value of an operand, equal and hashed as Python would.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum HalsteadOperand<'a> {
    /// An identifier, an attribute or a string.
    Text(&'a str),
    Bytes(Cow<'a, [u8]>),
    /// An integral number, `bool`s included.
    Integer(u64),
    /// An integral number beyond 64 bits: its digits to base 2³², the lowest first.
    BigInteger(Vec<u32>),
    /// The bits of any other number.
    Float(u64),
    /// The bits of an imaginary number other than zero.
    Imaginary(u64),
    /// A literal whose value is out of reach, by the way it is written.
    SourceText(Cow<'a, str>),
    None,
    Ellipsis,
}

/// CPython refuses decimal literals with more digits; converting them would take long.
const MAX_DECIMAL_DIGITS: usize = 4_300;

/// 2⁶⁴, the first number that is no [`u64`].
const U64_RANGE_END: f64 = 18_446_744_073_709_551_616.0;

impl<'a> HalsteadOperand<'a> {
    /// The value of `expr`; none when it has none and thus equals only itself.
    pub(super) fn from_expr(source: &'a str, expr: &'a Expr) -> Option<Self> {
        Some(match expr {
            Expr::Name(name) => Self::Text(name.id.as_str()),
            Expr::Attribute(attribute) => Self::Text(attribute.attr.as_str()),
            Expr::StringLiteral(string) => Self::from_string(source, string),
            Expr::BytesLiteral(bytes) => Self::Bytes((&bytes.value).into()),
            Expr::NumberLiteral(number) => Self::from_number(&number.value),
            Expr::BooleanLiteral(boolean) => Self::Integer(u64::from(boolean.value)),
            Expr::NoneLiteral(_) => Self::None,
            Expr::EllipsisLiteral(_) => Self::Ellipsis,
            _ => return None,
        })
    }

    fn from_string(source: &'a str, string: &'a ExprStringLiteral) -> Self {
        let text = string.value.to_str();
        // A `str` cannot hold the lone surrogates that Python's strings may: the parser puts
        // U+FFFD for each of them.
        if !text.is_ascii() && text.contains(char::REPLACEMENT_CHARACTER) {
            return Self::SourceText(Cow::Borrowed(&source[string.range()]));
        }
        Self::Text(text)
    }

    fn from_number(number: &Number) -> Self {
        match number {
            Number::Int(integer) => Self::from_integer(integer),
            Number::Float(float) => Self::from_float(*float),
            // A literal has no real part.
            Number::Complex { imag, .. } if *imag == 0.0 => Self::Integer(0),
            Number::Complex { imag, .. } => Self::Imaginary(imag.to_bits()),
        }
    }

    fn from_integer(integer: &Int) -> Self {
        if let Some(small) = integer.as_u64() {
            return Self::Integer(small);
        }
        let text = integer.to_string();
        if text.len() > MAX_DECIMAL_DIGITS {
            return Self::SourceText(Cow::Owned(text));
        }
        let (digits, radix) = match text.get(..2) {
            Some("0x" | "0X") => (&text[2..], 16),
            Some("0o" | "0O") => (&text[2..], 8),
            Some("0b" | "0B") => (&text[2..], 2),
            _ => (&*text, 10),
        };
        Self::BigInteger(compute_limbs(
            digits.chars().filter_map(|digit| digit.to_digit(radix)),
            radix,
        ))
    }

    fn from_float(float: f64) -> Self {
        if float.fract() != 0.0 || !float.is_finite() {
            Self::Float(float.to_bits())
        } else if float < U64_RANGE_END {
            // Literals have no sign, so this is exact.
            #[expect(clippy::cast_sign_loss, reason = "literals have no sign")]
            Self::Integer(float as u64)
        } else {
            Self::BigInteger(float_limbs(float))
        }
    }
}

/// The digits of a number to base 2³², the lowest first and the highest not zero.
fn compute_limbs(digits: impl Iterator<Item = u32>, radix: u32) -> Vec<u32> {
    let mut limbs = Vec::new();
    for digit in digits {
        let mut carry = u64::from(digit);
        for limb in &mut limbs {
            let value = u64::from(*limb) * u64::from(radix) + carry;
            *limb = value as u32;
            carry = value >> 32;
        }
        if carry > 0 {
            limbs.push(carry as u32);
        }
    }
    limbs
}

/// Like [`compute_limbs`], for a float of 2⁶⁴ or more, which is always an integer.
fn float_limbs(float: f64) -> Vec<u32> {
    const MANTISSA_BITS: u32 = 52;
    let bits = float.to_bits();
    let mantissa = (bits & ((1 << MANTISSA_BITS) - 1)) | (1 << MANTISSA_BITS);
    let shift = (bits >> MANTISSA_BITS) as u32 - 1023 - MANTISSA_BITS;
    let shifted = u128::from(mantissa) << (shift % 32);
    let mut limbs = vec![0; (shift / 32) as usize];
    limbs.extend([shifted as u32, (shifted >> 32) as u32, (shifted >> 64) as u32]);
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
    limbs
}

#[cfg(test)]
mod tests {
    use super::super::tests::measure_source;

    fn are_same_operand(left: &str, right: &str) -> bool {
        let source = format!("{left} + {right}\n");
        measure_source(&source).0.halstead.distinct_operands == 1
    }

    #[test]
    fn names_attributes_and_strings_are_the_same_text() {
        assert!(are_same_operand("x", "'x'"));
        assert!(are_same_operand("a.x", "b.x"));
        assert!(are_same_operand("'xy'", "'x' \"y\""));
        assert!(are_same_operand("r'\\x'", "'\\\\x'"));
        assert!(are_same_operand("u'x'", "'x'"));
        assert!(!are_same_operand("'x'", "b'x'"));
        assert!(are_same_operand("b'xy'", "b'x' b'y'"));
    }

    #[test]
    fn numbers_are_the_same_when_python_says_so() {
        assert!(are_same_operand("1", "1.0"));
        assert!(are_same_operand("1", "True"));
        assert!(are_same_operand("0", "0j"));
        assert!(are_same_operand("0.0", "False"));
        assert!(are_same_operand("0x10", "1_6"));
        assert!(are_same_operand("1e999", "1e1000"));
        assert!(!are_same_operand("1", "1j"));
        assert!(!are_same_operand("1", "1.5"));
        assert!(!are_same_operand("1", "'1'"));
        assert!(!are_same_operand("None", "0"));
        assert!(!are_same_operand("...", "None"));
    }

    #[test]
    fn numbers_beyond_64_bits_compare_exactly() {
        assert!(are_same_operand("18446744073709551616", "0x1_0000_0000_0000_0000"));
        assert!(are_same_operand("18446744073709551616", "18446744073709551616.0"));
        assert!(!are_same_operand("18446744073709551617", "18446744073709551616.0"));
        assert!(are_same_operand("1e22", "10000000000000000000000"));
        assert!(!are_same_operand("1e23", "100000000000000000000000"));
        assert!(are_same_operand("0o2_000_000_000_000_000_000_000", "18446744073709551616"));
    }

    #[test]
    fn lone_surrogates_differ() {
        assert!(!are_same_operand("'\\ud800'", "'\\ud801'"));
        assert!(are_same_operand("'\\ud800'", "'\\ud800'"));
    }
}
