//! Boundary values of numbers, texts, bytes and paths.

use menace_model::{PyString, Value};

use super::repeat_value;
use crate::input::make::{ValueMaker, construct_by_name};
use crate::input::shape::PathKind;

pub(super) fn boundary_ints() -> Vec<Value> {
    let mut values: Vec<Value> = [0, 1, -1].map(Value::Int).to_vec();
    // 10**400: no float holds it.
    values.extend(Value::parse_integer(&format!("1{}", "0".repeat(400))));
    values.extend([2, 255, 256, 65_536, i64::MAX, i64::MIN].map(Value::Int));
    values.extend([1 << 31, (1 << 31) - 1, -(1 << 31) - 1].map(Value::Int));
    values.extend(
        ["18446744073709551616", "-9223372036854775809"]
            .iter()
            .filter_map(|text| Value::parse_integer(text)),
    );
    values.extend(Value::parse_integer(&format!("-1{}", "0".repeat(400))));
    values
}

pub(super) fn boundary_floats() -> Vec<Value> {
    [
        0.0,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -1.0,
        // The smallest positive number and the largest.
        5e-324,
        f64::MAX,
        f64::MIN,
        f64::EPSILON,
        // 0.30000000000000004.
        0.1 + 0.2,
        // 2**53 + 1, which no float holds.
        9_007_199_254_740_993.0,
        1e-10,
    ]
    .map(Value::Float)
    .to_vec()
}

pub(super) fn boundary_texts() -> Vec<Value> {
    let plain = [
        "",
        "a",
        " ",
        "\0",
        "\n",
        "\r\n",
        // One character as two code points, and as one.
        "e\u{301}",
        "\u{e9}",
        // Right-to-left text, and a right-to-left override.
        "שלום",
        "\u{202e}gnp.exe",
        // Their length changes with their case.
        "ß",
        "İ",
        "ﬁ",
        // Several code points that are displayed as one character.
        "👩\u{200d}👩\u{200d}👧",
        "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}",
        "\u{feff}text",
        "\u{2028}",
        "\u{1b}[31mred",
        // Digits for `str.isdigit` and `int`, and a digit for the first only.
        "١٢٣",
        "²",
        "\t \u{a0}\u{3000}",
        "a\0b",
        "None",
        "0",
        "-1",
        "1e400",
        "nan",
        "Z̸̢̛̘a̷͓̭͝l̵̰̾g̶̮̈́o̸͙͋",
    ];
    let mut values: Vec<Value> = Vec::new();
    values.extend(plain[..4].iter().copied().map(Value::from));
    // Lone surrogates: no encoding takes them.
    let surrogates = [vec![0xd800], vec![0x61, 0xdfff, 0x62], vec![0xd83d, 0xde00]];
    values.extend(
        surrogates
            .into_iter()
            .filter_map(|points| PyString::from_code_points(points).map(Value::Str)),
    );
    values.push(repeat_value(Value::from("a"), 100_000));
    // Cutting one of these after any number of bytes splits a character.
    values.push(Value::from("é".repeat(100).as_str()));
    values.push(Value::from(format!("a{}", "é".repeat(100)).as_str()));
    values.extend(plain[4..].iter().copied().map(Value::from));
    values.push(repeat_value(Value::from("é\n"), 10_000));
    values
}

pub(super) fn boundary_bytes() -> Vec<Value> {
    let plain: [&[u8]; 9] = [
        b"",
        b"\0",
        b"a",
        b"\xff\xfe",
        b"\xef\xbb\xbftext",
        // A truncated character, and an overlong encoding.
        b"\xe2\x82",
        b"\xc0\x80",
        b"\r\n",
        b"\x1f\x8b\x08\0",
    ];
    let mut values: Vec<Value> = plain.iter().map(|bytes| Value::Bytes(bytes.to_vec())).collect();
    values.push(Value::Bytes((0..=255).collect()));
    values.push(repeat_value(Value::Bytes(b"a".to_vec()), 100_000));
    values
}

pub(super) fn boundary_paths(
    maker: &mut ValueMaker<'_, '_>,
    what: PathKind,
    is_text: bool,
    name: &str,
) -> Vec<Value> {
    let path =
        |text: Value| if is_text { text } else { construct_by_name("pathlib:Path", vec![text]) };
    let plain = |text: &str| path(Value::from(text));
    let other = match what {
        PathKind::Directory => PathKind::File,
        PathKind::File | PathKind::New => PathKind::Directory,
    };
    let mut values = vec![
        plain(""),
        plain("menace-input/missing/nothing.txt"),
        maker.make_path(other, is_text, name),
        plain("."),
        plain("/dev/null"),
    ];
    values.push(maker.make_path(PathKind::New, is_text, name));
    values.extend(["name with spaces.txt", "naïve\u{301}.txt", "new\nline", "-rf", "~"].map(plain));
    // Longer than file systems allow.
    values.push(path(repeat_value(Value::from("a"), 300)));
    values
}
