//! The JSON notation.

use proptest::prelude::*;

use super::generate::{reference, value};
use crate::value::Value;

/// The nesting of brackets in the text.
fn bracket_depth(json: &str) -> usize {
    let (mut open, mut deepest, mut in_string, mut escaped) = (0, 0, false, false);
    for char in json.chars() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '[' | '{' => open += 1,
            ']' | '}' => open -= 1,
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest
}

fn nested(times: usize, around: impl Fn(Value) -> Value) -> Value {
    (0..times).fold(Value::None, |value, _| around(value))
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(value in value()) {
        let json = serde_json::to_string(&value).expect("JSON");
        prop_assert_eq!(&Value::from_json(&json).expect("the notation"), &value);
        let tree: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        prop_assert!(serde_json::from_value::<Value>(tree).is_ok());
    }

    #[test]
    fn the_depth_is_that_of_the_text(value in value()) {
        let text = serde_json::to_string(&value).expect("JSON");
        prop_assert_eq!(value.depth(), bracket_depth(&text));
    }

    #[test]
    fn every_float_is_read_back(number in proptest::num::f64::ANY) {
        let json = serde_json::to_string(&Value::Float(number)).expect("JSON");
        prop_assert_eq!(Value::from_json(&json).expect("the notation"), Value::Float(number));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in r#"[\[\]{}",:$a-z0-9.-]{0,40}"#) {
        let _ = Value::from_json(&text);
    }
}

#[test]
fn plain_json_is_plain_values() {
    let value = Value::from_json(r#"[null, true, -1, 18446744073709551615, 1.0, "a", {"b": []}]"#);
    let expected = Value::List(vec![
        Value::None,
        Value::Bool(true),
        Value::Int(-1),
        Value::from(u64::MAX),
        Value::Float(1.0),
        "a".into(),
        Value::Dict(vec![("b".into(), Value::List(vec![]))]),
    ]);
    assert_eq!(value, Ok(expected));
}

#[test]
fn a_call_may_leave_out_what_it_does_not_need() {
    let expected =
        Value::New { class: reference("shop.models:Book"), args: vec![], kwargs: vec![] };
    assert_eq!(Value::from_json(r#"{"$call": "shop.models:Book"}"#), Ok(expected));
}

#[test]
fn the_order_of_keys_is_kept() {
    let json = r#"{"b":1,"a":{"$call":"m:f","kwargs":{"z":1,"y":2}}}"#;
    let value = Value::from_json(json).expect("the notation");
    assert_eq!(serde_json::to_string(&value).expect("JSON"), json);
}

#[test]
fn a_dict_with_a_key_like_a_tag_is_a_list_of_pairs() {
    let json = r#"{"$dict":[["$tuple",1]]}"#;
    let value = Value::from_json(json).expect("the notation");
    assert_eq!(value, Value::Dict(vec![("$tuple".into(), Value::Int(1))]));
    assert_eq!(serde_json::to_string(&value).expect("JSON"), json);
}

#[test]
fn errors_name_the_place_and_what_was_expected() {
    let error = |args: &str| Value::args_from_json(args).expect_err(args).to_string();
    for (args, message) in [
        ("{}", "args: expected a list of values, found an object"),
        ("[1", "args: expected JSON: EOF while parsing a list at line 1 column 2"),
        (
            r#"[1, {"$tuple": [{"$int": 1.5}]}]"#,
            "args[1].$tuple[0].$int: expected an integer as text, like \"-12\" or \"0xff\", \
             found 1.5",
        ),
        (r#"[{"a b": {"$set": 1}}]"#, r#"args[0]["a b"].$set: expected a list of values, found 1"#),
        (r#"[{"$tuple": [], "x": 1}]"#, "args[0]: expected nothing beside `$tuple`, found `x`"),
        (
            r#"[{"$call": "m:f", "arg": 1}]"#,
            "args[0]: expected only args, kwargs beside `$call`, found `arg`",
        ),
        (
            r#"[{"$call": "m.f"}]"#,
            r#"args[0].$call: expected a name like "package.module:Class.method", found "m.f""#,
        ),
        (
            r#"[{"$call": "m:f", "kwargs": {"k": {"$again": -1}}}]"#,
            "args[0].kwargs.k.$again: expected a whole number from 0 to 4294967295, found -1",
        ),
        (r#"[{"$method": "f"}]"#, "args[0]: expected `on` beside the tag, found none"),
        (
            r#"[{"$tuple": [], "$set": []}]"#,
            "args[0]: expected nothing beside `$tuple`, found `$set`",
        ),
        (r#"[{"a": 1, "a": 2}]"#, r#"args[0]: the key "a" is there twice"#),
        (
            r#"[{"$dict": [[1, 2], [3]]}]"#,
            "args[0].$dict[1]: expected a pair of key and value, found a list of 1",
        ),
        (
            r#"[{"$bytes": "Zg"}]"#,
            r#"args[0].$bytes: expected bytes in base64, with padding, found "Zg""#,
        ),
        (r#"[{"$str": [1114112]}]"#, "args[0].$str: expected code points from 0 to 1114111"),
        (r#"[{"$ellipsis": null}]"#, "args[0].$ellipsis: expected true, found null"),
    ] {
        assert_eq!(error(args), message);
    }
    assert!(
        error(r#"[{"$tupel": []}]"#)
            .starts_with("args[0]: unknown tag `$tupel`, expected one of $int, $float, ")
    );
    let error = Value::kwargs_from_json(r#"{"x": {"$float": "many"}}"#).expect_err("no number");
    assert_eq!(error.place, "kwargs.x.$float");
}

#[test]
fn a_number_that_lost_digits_is_refused() {
    for text in ["123456789012345678901234567890", "-9223372036854775809", "1e300"] {
        let error = Value::from_json(text).expect_err(text).to_string();
        assert!(error.contains("loses digits in JSON; write an integer as {\"$int\": "), "{error}");
    }
    assert_eq!(Value::from_json(r#"{"$float": "1e300"}"#), Ok(Value::Float(1e300)));
}

#[test]
fn nesting_has_a_limit_on_both_sides() {
    let around: [fn(Value) -> Value; 3] = [
        |value| Value::List(vec![value]),
        |value| Value::Tuple(vec![value]),
        |value| Value::Dict(vec![(Value::None, value)]),
    ];
    for (around, levels) in around.into_iter().zip(1..) {
        let most = nested(Value::MAX_DEPTH / levels, around);
        let json = serde_json::to_string(&most).expect("JSON");
        assert_eq!(Value::from_json(&json), Ok(most.clone()));
        assert!(serde_json::to_string(&around(most)).is_err());
    }
    let deeper = format!("{}{}", "[".repeat(101), "]".repeat(101));
    let error = Value::args_from_json(&deeper).expect_err("too deep");
    assert_eq!(error.reason, "nested deeper than 100 levels");
    assert!(Value::from_json(&"[".repeat(100_000)).is_err());
}

#[test]
fn a_keyword_that_is_given_twice_is_not_written() {
    let kwargs = vec![("a".to_owned(), Value::None), ("a".to_owned(), Value::None)];
    let call = Value::New { class: reference("m:f"), args: vec![], kwargs };
    assert!(serde_json::to_string(&call).is_err());
}

#[test]
fn bytes_have_exactly_one_text() {
    for (bytes, text) in [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ] {
        let value = Value::Bytes(bytes.as_bytes().to_vec());
        let json = format!(r#"{{"$bytes":"{text}"}}"#);
        assert_eq!(serde_json::to_string(&value).expect("JSON"), json);
        assert_eq!(Value::from_json(&json), Ok(value));
    }
    for text in ["Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "Zg==Zg==", "Zm 9", "Zm9v\\n", "é"] {
        assert!(Value::from_json(&format!(r#"{{"$bytes":"{text}"}}"#)).is_err(), "{text}");
    }
}
