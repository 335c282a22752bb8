//! Simpler numbers: nearer to zero, rounder, without a sign.

use menace_model::{BigInt, Value};

/// Floats that are whole and no larger than this are as plain as integers.
const WHOLE: f64 = 9_007_199_254_740_992.0;
const FRACTION: u128 = 1 << 70;
const DIGIT: u128 = 1 << 56;
const NOT_FINITE: u128 = 1 << 80;

/// Nearer to zero is plainer; of two that are as near, the positive one.
pub(super) fn oddness(number: i64) -> u128 {
    1 + 2 * u128::from(number.unsigned_abs()) + u128::from(number < 0)
}

/// Among those of the same length: few digits that are not zero.
pub(super) fn big_oddness(number: &BigInt) -> u128 {
    let digits = number.hex().bytes().map(|digit| u128::from(digit != b'0') * u128::from(digit));
    (1 << 66) + 2 * digits.sum::<u128>() + u128::from(number.is_negative())
}

pub(super) fn float_oddness(number: f64) -> u128 {
    let sign = u128::from(number.is_sign_negative());
    if !number.is_finite() {
        return NOT_FINITE + u128::from(number.is_nan()) * 2 + sign;
    }
    if number.fract() == 0.0 && number.abs() <= WHOLE {
        return 1 + 2 * u128::from((number as i64).unsigned_abs()) + sign;
    }
    FRACTION + DIGIT * number.to_string().len() as u128 + sign
}

/// Zero, one, round numbers, then ever smaller steps towards the number.
pub(super) fn integers(number: i64) -> Vec<i64> {
    let mut simpler = vec![0, 1, -1];
    if number < 0 {
        simpler.extend(number.checked_neg());
    }
    let magnitude = number.unsigned_abs();
    let sign = if number < 0 { -1 } else { 1 };
    let mut rounds = Vec::new();
    for base in [2_u64, 10] {
        let powers = std::iter::successors(Some(base), |power| power.checked_mul(base));
        rounds.extend(powers.take_while(|power| *power < magnitude));
    }
    rounds.sort_unstable();
    rounds.dedup();
    simpler.extend(rounds.into_iter().filter_map(|power| Some(sign * i64::try_from(power).ok()?)));
    let halves = std::iter::successors(Some(number / 2), |step| Some(step / 2));
    simpler.extend(halves.take_while(|step| *step != 0).map(|step| number - step));
    simpler.dedup();
    simpler
}

/// The same, for what is counted.
pub(super) fn counts(count: u64) -> Vec<u64> {
    let halves = std::iter::successors(Some(count / 2), |step| Some(step / 2));
    let nearer = halves.take_while(|step| *step != 0).map(|step| count - step);
    [0, 1, 2].into_iter().chain(nearer).filter(|simpler| *simpler < count).collect()
}

pub(super) fn big_integers(number: &BigInt) -> Vec<Value> {
    let digits = number.hex();
    let negative = number.is_negative();
    let round = |length: usize| format!("1{}", "0".repeat(length.saturating_sub(1)));
    let mut simpler = vec![Value::Int(0), Value::Int(if negative { i64::MIN } else { i64::MAX })];
    let made = [
        (false, digits.to_owned()),
        // The first that needs more than 64 bits.
        (negative, round(17)),
        (negative, digits[..digits.len().div_ceil(2)].to_owned()),
        (negative, digits[..digits.len() - 1].to_owned()),
        (negative, round(digits.len())),
    ];
    simpler.extend(
        made.into_iter().filter_map(|(negative, hex)| Value::integer_from_hex(negative, &hex)),
    );
    simpler
}

pub(super) fn floats(number: f64) -> Vec<f64> {
    let mut simpler = vec![0.0, 1.0];
    if number.is_sign_negative() {
        simpler.extend([-number, -1.0]);
    }
    if number.is_nan() {
        simpler.push(f64::INFINITY);
    }
    if number.is_finite() {
        simpler.extend([0.5, number.trunc(), (number * 10.0).trunc() / 10.0]);
        if number.fract() == 0.0 && number.abs() <= WHOLE {
            simpler.extend(integers(number as i64).into_iter().map(|number| number as f64));
        } else {
            simpler.extend([number / 2.0, (number / 2.0).trunc(), 1e17_f64.copysign(number)]);
        }
    }
    simpler
}
