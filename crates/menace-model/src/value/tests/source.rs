//! The printed source, run by a real Python.

use std::io::Write as _;
use std::process::{Command, Stdio};

use proptest::collection::vec;
use proptest::prelude::*;

use super::generate::{reference, value};
use crate::value::{MethodCall, PyString, Value};

/// The differences that Python finds between notation and source of these values.
fn differences<'a>(values: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let pairs: Vec<[String; 2]> = values
        .into_iter()
        .map(|value| [serde_json::to_string(value).expect("JSON"), value.to_python().to_string()])
        .collect();
    let mut python = Command::new("python3")
        .args(["-I", "-B", "-c", include_str!("rebuild.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is needed to test what is printed for it");
    let mut stdin = python.stdin.take().expect("a pipe");
    stdin.write_all(&serde_json::to_vec(&pairs).expect("JSON")).expect("python3 reads");
    drop(stdin);
    let output = python.wait_with_output().expect("python3 ends");
    assert!(output.status.success(), "python3 failed: {}", output.status);
    serde_json::from_slice(&output.stdout).expect("a list of messages")
}

fn from_json(text: &str) -> Value {
    Value::from_json(text).expect("the notation")
}

proptest! {
    // Each case is a batch: one Python process for all of its values.
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 64, ..Default::default() })]

    #[test]
    fn python_rebuilds_the_value(values in vec(value(), 100)) {
        prop_assert!(values.iter().all(|value| Value::check_labels([value]).is_ok()));
        let differences = differences(&values);
        prop_assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    }
}

#[test]
fn python_rebuilds_what_is_deep_or_huge_or_odd() {
    let nested = |around: fn(Value) -> Value, times: usize| {
        (0..times).fold(Value::Tuple(vec![]), |value, _| around(value))
    };
    let values = [
        nested(|value| Value::List(vec![value]), 98),
        nested(|value| Value::Tuple(vec![value]), 49),
        nested(|value| Value::FrozenSet(vec![value]), 49),
        nested(|value| Value::Dict(vec![(Value::None, value)]), 32),
        nested(|value| Value::Returns(Box::new(value)), 98),
        nested(|value| Value::Yields(vec![value]), 49),
        nested(
            |value| Value::Stub {
                bases: vec![],
                members: vec![("x".to_owned(), value)],
                args: vec![],
                kwargs: vec![],
            },
            49,
        ),
        nested(
            |value| Value::After {
                value: Box::new(Value::List(vec![])),
                calls: vec![MethodCall {
                    name: "append".to_owned(),
                    args: vec![value],
                    kwargs: vec![],
                }],
            },
            24,
        ),
        nested(|value| Value::Shared { label: value.depth() as u32, value: Box::new(value) }, 98),
        nested(
            |value| Value::New {
                class: reference("types:SimpleNamespace"),
                args: vec![],
                kwargs: vec![("class".to_owned(), value)],
            },
            49,
        ),
        Value::parse_integer(&"9".repeat(4300)).expect("digits"),
        Value::parse_integer(&format!("-{}", "9".repeat(10_000))).expect("digits"),
        Value::Str(
            PyString::from_code_points((0..0x1_1000).chain([0xd800, 0x10_ffff])).expect("text"),
        ),
        Value::Bytes((0..=255).collect()),
        Value::ByteArray((0..=255).rev().collect()),
        from_json(r#"{"$repeat": {"$repeat": "a", "times": 1000}, "times": 1000}"#),
        from_json(r#"{"$repeat": -5, "times": 3}"#),
        from_json(r#"{"$method": "hex", "on": {"$float": "1e300"}}"#),
        from_json(r#"{"$method": "__eq__", "on": {"$ellipsis": true}, "args": [0]}"#),
        from_json(r#"{"$method": "upper", "on": {"$repeat": "a", "times": 3}}"#),
        from_json(r#"{"$method": "__class__", "on": {"$name": "builtins:int"}, "args": ["1"]}"#),
        from_json(r#"{"$method": "encode", "on": "é", "kwargs": {"encoding": "latin-1"}}"#),
        from_json(r#"{"$shared": {"a": {"$again": 1}, "b": [{"$again": 1}]}, "label": 1}"#),
        from_json(r#"{"$shared": [{"$returns": {"$again": 1}}], "label": 1}"#),
        from_json(r#"[{"$shared": {"$set": [1]}, "label": 7}, {"$again": 7}]"#),
        // Such calls see the container while it is being filled.
        from_json(
            r#"{"$shared": {"$set": [5, {"$call": "builtins:len", "args": [{"$again": 1}]}]},
                "label": 1}"#,
        ),
        from_json(
            r#"{"$shared": [1, {"$call": "builtins:list", "args": [{"$again": 2}]}], "label": 2}"#,
        ),
    ];
    let differences = differences(&values);
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[test]
fn source_looks_as_if_written_by_hand() {
    for (json, source) in [
        (
            r#"{"$call": "shop.models:Book", "args": ["x", {"$tuple": [1]}],
                "kwargs": {"day": {"$call": "datetime:date", "args": [1, 2, 3]}}}"#,
            "from shop.models import Book\nimport datetime\n\
             Book('x', (1,), day=datetime.date(1, 2, 3))",
        ),
        (r#"{"$shared": [{"$again": 1}], "label": 1}"#, "v1 = []\nv1.append(v1)\nv1"),
        (r#"{"$repeat": "a", "times": 1000000}"#, "'a' * 1000000"),
        (r#"{"$set": [{"$float": "nan"}]}"#, "{float('nan')}"),
        (r#"{"$returns": 5}"#, "lambda *args, **kwargs: 5"),
        (r#"{"$returns": []}"#, "v1 = []\nlambda *args, **kwargs: v1"),
        (
            r#"{"$raises": {"$call": "builtins:KeyError", "args": ["x"]}}"#,
            "v1 = KeyError('x')\ndef v2(*args, **kwargs):\n    raise v1\nv2",
        ),
        (r#"{"$async": {"$returns": 5}}"#, "async def v1(*args, **kwargs):\n    return 5\nv1"),
        (
            r#"{"$stub": {"read": {"$returns": ""}}, "bases": ["io:IOBase"]}"#,
            "import io\ntype('Stub', (io.IOBase,), {'read': lambda *args, **kwargs: ''})()",
        ),
        (
            r#"{"$after": {"$call": "io:StringIO"}, "calls": [{"method": "close"}]}"#,
            "import io\nv1 = io.StringIO()\nv1.close()\nv1",
        ),
        (
            r#"{"$call": "m:f", "kwargs": {"a": 1, "class": 2}}"#,
            "import m\nm.f(a=1, **{'class': 2})",
        ),
        (
            r#"{"$name": "my-script:main.class"}"#,
            "import importlib\ngetattr(importlib.import_module('my-script').main, 'class')",
        ),
    ] {
        assert_eq!(from_json(json).to_python().to_string(), source);
    }
}

#[test]
fn no_name_means_two_things() {
    let names = r#"[{"$name": "a.b:T"}, {"$name": "c.d:T"}, {"$name": "a.b:T"}, {"$name": "T:x"},
        {"$name": "float:x"}, {"$float": "inf"}, {"$name": "v1:x"}, {"$shared": 1, "label": 1}]"#;
    assert_eq!(
        from_json(names).to_python().to_string(),
        "from a.b import T\n\
         from c.d import T as T_2\n\
         import T as T_3\n\
         import builtins\n\
         import float\n\
         import v1\n\
         v2 = 1\n\
         [T, T_2, T, T_3.x, float.x, builtins.float('inf'), v1.x, v2]"
    );
}

#[test]
fn the_table_for_users_is_true() {
    let page = include_str!("../../../../../docs/values.md");
    let mut printed = 0;
    for row in page.lines().filter_map(|line| line.strip_prefix("| `{")) {
        let (notation, meaning) = row.split_once("` | ").expect("two columns");
        let source = from_json(&format!("{{{notation}")).to_python();
        if let Some((python, _)) = meaning.strip_prefix('`').and_then(|text| text.split_once('`')) {
            assert_eq!(source.expression, python);
            printed += 1;
        }
    }
    assert_eq!(printed, 15);
}
