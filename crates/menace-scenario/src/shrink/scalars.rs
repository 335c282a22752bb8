//! Simpler numbers, texts and sequences, and the cost that orders them.

use menace_model::{PyBigInt, Value};

/// Whole floats up to this size cost as little as integers.
const MAX_EXACT_WHOLE_FLOAT: f64 = 9_007_199_254_740_992.0;
const FRACTION_COST: u128 = 1 << 70;
const DIGIT_COST: u128 = 1 << 56;
const NOT_FINITE_COST: u128 = 1 << 80;

/// Nearer to zero is simpler; of two equally near numbers, the positive one.
pub(super) fn int_cost(number: i64) -> u128 {
    1 + 2 * u128::from(number.unsigned_abs()) + u128::from(number < 0)
}

/// Among numbers of the same length: few non-zero digits.
pub(super) fn big_int_cost(number: &PyBigInt) -> u128 {
    let digits = number.hex().bytes().map(|digit| u128::from(digit != b'0') * u128::from(digit));
    (1 << 66) + 2 * digits.sum::<u128>() + u128::from(number.is_negative())
}

pub(super) fn float_cost(number: f64) -> u128 {
    let char_code = u128::from(number.is_sign_negative());
    if !number.is_finite() {
        return NOT_FINITE_COST + u128::from(number.is_nan()) * 2 + char_code;
    }
    if number.fract() == 0.0 && number.abs() <= MAX_EXACT_WHOLE_FLOAT {
        return 1 + 2 * u128::from((number as i64).unsigned_abs()) + char_code;
    }
    FRACTION_COST + DIGIT_COST * number.to_string().len() as u128 + char_code
}

/// Zero, one, round numbers, then ever smaller steps towards the number.
pub(super) fn simpler_integers(number: i64) -> Vec<i64> {
    let mut simpler = vec![0, 1, -1];
    if number < 0 {
        simpler.extend(number.checked_neg());
    }
    let magnitude = number.unsigned_abs();
    let char_code = if number < 0 { -1 } else { 1 };
    let mut rounds = Vec::new();
    for base in [2_u64, 10] {
        let powers = std::iter::successors(Some(base), |power| power.checked_mul(base));
        rounds.extend(powers.take_while(|power| *power < magnitude));
    }
    rounds.sort_unstable();
    rounds.dedup();
    simpler.extend(
        rounds.into_iter().filter_map(|power| Some(char_code * i64::try_from(power).ok()?)),
    );
    let halves = std::iter::successors(Some(number / 2), |step| Some(step / 2));
    simpler.extend(halves.take_while(|step| *step != 0).map(|step| number - step));
    simpler.dedup();
    simpler
}

/// Simpler values of a count, as for integers.
pub(super) fn simpler_counts(count: u64) -> Vec<u64> {
    let halves = std::iter::successors(Some(count / 2), |step| Some(step / 2));
    let nearer = halves.take_while(|step| *step != 0).map(|step| count - step);
    [0, 1, 2].into_iter().chain(nearer).filter(|simpler| *simpler < count).collect()
}

pub(super) fn simpler_big_integers(number: &PyBigInt) -> Vec<Value> {
    let digits = number.hex();
    let negative = number.is_negative();
    let round = |length: usize| format!("1{}", "0".repeat(length.saturating_sub(1)));
    let mut simpler = vec![Value::Int(0), Value::Int(if negative { i64::MIN } else { i64::MAX })];
    let made = [
        (false, digits.to_owned()),
        // The smallest with more than 64 bits.
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

pub(super) fn simpler_floats(number: f64) -> Vec<f64> {
    let mut simpler = vec![0.0, 1.0];
    if number.is_sign_negative() {
        simpler.extend([-number, -1.0]);
    }
    if number.is_nan() {
        simpler.push(f64::INFINITY);
    }
    if number.is_finite() {
        simpler.extend([0.5, number.trunc(), (number * 10.0).trunc() / 10.0]);
        if number.fract() == 0.0 && number.abs() <= MAX_EXACT_WHOLE_FLOAT {
            simpler.extend(simpler_integers(number as i64).into_iter().map(|number| number as f64));
        } else {
            simpler.extend([number / 2.0, (number / 2.0).trunc(), 1e17_f64.copysign(number)]);
        }
    }
    simpler
}

/// Longer sequences lose chunks of this share instead of single items.
const MAX_SEQUENCE_CHUNKS: usize = 128;

/// A character of each kind: letter, digit, space, and letters of two and three bytes.
const PLAIN_CHARS: [char; 7] = ['a', 'A', '0', ' ', 'é', 'ā', '€'];

/// Letters are simplest, then digits, punctuation, control characters, and others by code point.
pub(super) fn char_cost(point: u32) -> u128 {
    let rank = match char::from_u32(point) {
        Some(char @ 'a'..='z') => char as u32 - 'a' as u32,
        Some(char @ 'A'..='Z') => 26 + (char as u32 - 'A' as u32),
        Some(char @ '0'..='9') => 52 + (char as u32 - '0' as u32),
        Some(' ') => 62,
        Some(char) if char.is_ascii_graphic() => 64 + point,
        Some(char) if char.is_ascii() => 256 + point,
        _ => 512 + point,
    };
    u128::from(rank)
}

/// The sequence without a part: without everything, halves, quarters, down to single items.
pub(super) fn shorter_sequences<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let mut shorter = Vec::new();
    let mut share = items.len();
    while share > 0 && items.len().div_ceil(share) <= MAX_SEQUENCE_CHUNKS {
        // From the end, because later items often depend on earlier ones.
        for start in (0..items.len()).step_by(share).collect::<Vec<_>>().into_iter().rev() {
            let end = (start + share).min(items.len());
            shorter.push([&items[..start], &items[end..]].concat());
        }
        share /= 2;
    }
    shorter
}

/// Texts of the same length with simpler characters: all at once, then one by one.
pub(super) fn plainer_texts(points: &[u32]) -> Vec<Vec<u32>> {
    let mut plainer = Vec::new();
    let plain = |point: u32| {
        let char_codes = PLAIN_CHARS.into_iter().map(u32::from);
        char_codes.filter(move |char_code| char_cost(*char_code) < char_cost(point))
    };
    for char_code in PLAIN_CHARS.into_iter().map(u32::from) {
        let all = points
            .iter()
            .map(|point| if char_cost(char_code) < char_cost(*point) { char_code } else { *point });
        plainer.push(all.collect());
    }
    for at in (0..points.len()).take(MAX_SEQUENCE_CHUNKS) {
        for char_code in plain(points[at]) {
            let mut one = points.to_vec();
            one[at] = char_code;
            plainer.push(one);
        }
    }
    plainer
}
