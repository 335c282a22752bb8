//! Numbers where arithmetic turns odd.

use menace_model::Value;

pub(super) fn ints() -> Vec<Value> {
    let mut values: Vec<Value> = [0, 1, -1].map(Value::Int).to_vec();
    // Ten to the four hundredth: no float holds it.
    values.extend(Value::integer(&format!("1{}", "0".repeat(400))));
    values.extend([2, 255, 256, 65_536, i64::MAX, i64::MIN].map(Value::Int));
    values.extend([1 << 31, (1 << 31) - 1, -(1 << 31) - 1].map(Value::Int));
    values.extend(
        ["18446744073709551616", "-9223372036854775809"]
            .iter()
            .filter_map(|text| Value::integer(text)),
    );
    values.extend(Value::integer(&format!("-1{}", "0".repeat(400))));
    values
}

pub(super) fn floats() -> Vec<Value> {
    [
        0.0,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -1.0,
        // The smallest and the largest.
        5e-324,
        f64::MAX,
        f64::MIN,
        f64::EPSILON,
        // Not what it looks like.
        0.1 + 0.2,
        // No longer a whole number apart from its neighbour.
        9_007_199_254_740_993.0,
        1e-10,
    ]
    .map(Value::Float)
    .to_vec()
}
