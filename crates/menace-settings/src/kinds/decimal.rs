//! A decimal number in front of a unit, kept exact: `1.5` of `1.5Gi`.

use crate::ParseRefusal;

/// `digits` × 10^-`scale`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExactDecimal {
    digits: u128,
    scale: u32,
}

impl ExactDecimal {
    /// Splits `text` into a leading number and the unit after it.
    pub(super) fn split_number_and_unit(text: &str) -> Option<(Self, &str)> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        // 24 digits hold every size and duration there is, and their products fit in 128 bits.
        if whole.is_empty() || fraction.contains('.') || whole.len() + fraction.len() > 24 {
            return None;
        }
        let digits = format!("{whole}{fraction}").parse().ok()?;
        Some((Self { digits, scale: fraction.len() as u32 }, unit.trim_start()))
    }

    /// The number of a unit that is one of `units`, or none, in which case it counts ones.
    pub(super) fn in_units(self, unit: &str, units: &[(&str, u64)]) -> Result<u64, ParseRefusal> {
        let known = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
        let factor = match known {
            Some((_, factor)) => *factor,
            None if unit.is_empty() => 1,
            None => return Err(ParseRefusal::default()),
        };
        let product = self.multiply_rounded(factor);
        product.ok_or_else(|| ParseRefusal::with_reason("it is too large"))
    }

    /// The number times `unit`, rounded to the nearest whole; `None` above 64 bits.
    pub(super) fn multiply_rounded(self, unit: u64) -> Option<u64> {
        let power = 10_u128.checked_pow(self.scale)?;
        let product = self.digits.checked_mul(u128::from(unit))?;
        u64::try_from(product.checked_add(power / 2)? / power).ok()
    }
}
