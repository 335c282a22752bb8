//! When two operands are the same: the value by which radon tells them apart.
//!
//! radon puts a name's identifier, an attribute's name or a literal's value into a Python set.
//! So Python's equality decides: `x` is `"x"`, and `1`, `1.0` and `True` are one operand.

use std::borrow::Cow;

use ruff_python_ast::{Expr, ExprStringLiteral, Int, Number};
use ruff_text_size::Ranged;

/// The value of an operand, equal and hashed as Python would.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Operand<'a> {
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
    Spelled(Cow<'a, str>),
    None,
    Ellipsis,
}

/// CPython refuses decimal literals with more digits; converting them would take long.
const LONGEST_NUMBER: usize = 4_300;

/// 2⁶⁴, the first number that is no [`u64`].
const PAST_U64: f64 = 18_446_744_073_709_551_616.0;

impl<'a> Operand<'a> {
    /// The value of `expr`; none when it has none and thus equals only itself.
    pub(super) fn of(source: &'a str, expr: &'a Expr) -> Option<Self> {
        Some(match expr {
            Expr::Name(name) => Self::Text(name.id.as_str()),
            Expr::Attribute(attribute) => Self::Text(attribute.attr.as_str()),
            Expr::StringLiteral(string) => Self::of_string(source, string),
            Expr::BytesLiteral(bytes) => Self::Bytes((&bytes.value).into()),
            Expr::NumberLiteral(number) => Self::of_number(&number.value),
            Expr::BooleanLiteral(boolean) => Self::Integer(u64::from(boolean.value)),
            Expr::NoneLiteral(_) => Self::None,
            Expr::EllipsisLiteral(_) => Self::Ellipsis,
            _ => return None,
        })
    }

    fn of_string(source: &'a str, string: &'a ExprStringLiteral) -> Self {
        let text = string.value.to_str();
        // A `str` cannot hold the lone surrogates that Python's strings may: the parser puts
        // U+FFFD for each of them.
        if !text.is_ascii() && text.contains(char::REPLACEMENT_CHARACTER) {
            return Self::Spelled(Cow::Borrowed(&source[string.range()]));
        }
        Self::Text(text)
    }

    fn of_number(number: &Number) -> Self {
        match number {
            Number::Int(integer) => Self::of_integer(integer),
            Number::Float(float) => Self::of_float(*float),
            // A literal has no real part.
            Number::Complex { imag, .. } if *imag == 0.0 => Self::Integer(0),
            Number::Complex { imag, .. } => Self::Imaginary(imag.to_bits()),
        }
    }

    fn of_integer(integer: &Int) -> Self {
        if let Some(small) = integer.as_u64() {
            return Self::Integer(small);
        }
        let text = integer.to_string();
        if text.len() > LONGEST_NUMBER {
            return Self::Spelled(Cow::Owned(text));
        }
        let (digits, radix) = match text.get(..2) {
            Some("0x" | "0X") => (&text[2..], 16),
            Some("0o" | "0O") => (&text[2..], 8),
            Some("0b" | "0B") => (&text[2..], 2),
            _ => (&*text, 10),
        };
        Self::BigInteger(limbs(digits.chars().filter_map(|digit| digit.to_digit(radix)), radix))
    }

    fn of_float(float: f64) -> Self {
        if float.fract() != 0.0 || !float.is_finite() {
            Self::Float(float.to_bits())
        } else if float < PAST_U64 {
            // Literals have no sign, so this is exact.
            #[expect(clippy::cast_sign_loss, reason = "literals have no sign")]
            Self::Integer(float as u64)
        } else {
            Self::BigInteger(limbs_of_float(float))
        }
    }
}

/// The digits of a number to base 2³², the lowest first and the highest not zero.
fn limbs(digits: impl Iterator<Item = u32>, radix: u32) -> Vec<u32> {
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

/// [`limbs`] of a float of 2⁶⁴ or more, which is always an integer.
fn limbs_of_float(float: f64) -> Vec<u32> {
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
    use super::super::tests::measured;

    fn same(left: &str, right: &str) -> bool {
        let source = format!("{left} + {right}\n");
        measured(&source).0.halstead.distinct_operands == 1
    }

    #[test]
    fn names_attributes_and_strings_are_the_same_text() {
        assert!(same("x", "'x'"));
        assert!(same("a.x", "b.x"));
        assert!(same("'xy'", "'x' \"y\""));
        assert!(same("r'\\x'", "'\\\\x'"));
        assert!(same("u'x'", "'x'"));
        assert!(!same("'x'", "b'x'"));
        assert!(same("b'xy'", "b'x' b'y'"));
    }

    #[test]
    fn numbers_are_the_same_when_python_says_so() {
        assert!(same("1", "1.0"));
        assert!(same("1", "True"));
        assert!(same("0", "0j"));
        assert!(same("0.0", "False"));
        assert!(same("0x10", "1_6"));
        assert!(same("1e999", "1e1000"));
        assert!(!same("1", "1j"));
        assert!(!same("1", "1.5"));
        assert!(!same("1", "'1'"));
        assert!(!same("None", "0"));
        assert!(!same("...", "None"));
    }

    #[test]
    fn numbers_beyond_64_bits_compare_exactly() {
        assert!(same("18446744073709551616", "0x1_0000_0000_0000_0000"));
        assert!(same("18446744073709551616", "18446744073709551616.0"));
        assert!(!same("18446744073709551617", "18446744073709551616.0"));
        assert!(same("1e22", "10000000000000000000000"));
        assert!(!same("1e23", "100000000000000000000000"));
        assert!(same("0o2_000_000_000_000_000_000_000", "18446744073709551616"));
    }

    #[test]
    fn lone_surrogates_differ() {
        assert!(!same("'\\ud800'", "'\\ud801'"));
        assert!(same("'\\ud800'", "'\\ud800'"));
    }
}
