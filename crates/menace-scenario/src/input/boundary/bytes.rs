//! Bytes that are no text, or the beginning of one.

use menace_model::Value;

use super::repeated;

pub(super) fn bytes() -> Vec<Value> {
    let plain: [&[u8]; 9] = [
        b"",
        b"\0",
        b"a",
        b"\xff\xfe",
        b"\xef\xbb\xbftext",
        // Cut in the middle of a character, and written longer than it may be.
        b"\xe2\x82",
        b"\xc0\x80",
        b"\r\n",
        b"\x1f\x8b\x08\0",
    ];
    let mut values: Vec<Value> = plain.iter().map(|bytes| Value::Bytes(bytes.to_vec())).collect();
    values.push(Value::Bytes((0..=255).collect()));
    values.push(repeated(Value::Bytes(b"a".to_vec()), 100_000));
    values
}
