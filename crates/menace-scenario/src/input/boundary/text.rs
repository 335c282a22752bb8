//! Text that is longer, shorter or stranger than somebody expected.

use menace_model::{PyStr, Value};

use super::repeated;

pub(super) fn texts() -> Vec<Value> {
    let plain = [
        "",
        "a",
        " ",
        "\0",
        "\n",
        "\r\n",
        // One character in two code points, and the same in one.
        "e\u{301}",
        "\u{e9}",
        // Right to left, and an order to write so.
        "שלום",
        "\u{202e}gnp.exe",
        // Longer, shorter or other once its case is changed.
        "ß",
        "İ",
        "ﬁ",
        // Several code points, one sign.
        "👩\u{200d}👩\u{200d}👧",
        "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}",
        "\u{feff}text",
        "\u{2028}",
        "\u{1b}[31mred",
        // Digits, to `str.isdigit` and to `int`, and a digit to the first only.
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
    // Half of a pair: no encoding takes it.
    let surrogates = [vec![0xd800], vec![0x61, 0xdfff, 0x62], vec![0xd83d, 0xde00]];
    values.extend(
        surrogates.into_iter().filter_map(|points| PyStr::from_code_points(points).map(Value::Str)),
    );
    values.push(repeated(Value::from("a"), 100_000));
    // Cut after any number of bytes, one of them is cut inside of a character.
    values.push(Value::from("é".repeat(100).as_str()));
    values.push(Value::from(format!("a{}", "é".repeat(100)).as_str()));
    values.extend(plain[4..].iter().copied().map(Value::from));
    values.push(repeated(Value::from("é\n"), 10_000));
    values
}
