//! Generates values of all kinds that Python can build.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;

use crate::value::{MethodCall, PyReference, PyString, Value};

pub(super) fn value() -> impl Strategy<Value = Value> {
    let tree = leaf().prop_recursive(5, 40, 6, |inner| {
        let items = vec(inner.clone(), 0..5).boxed();
        prop_oneof![
            3 => items.clone().prop_map(Value::List),
            2 => items.clone().prop_map(Value::Tuple),
            1 => vec(hashable(), 0..5).prop_map(Value::Set),
            2 => vec((hashable(), inner.clone()), 0..4).prop_map(Value::Dict),
            2 => vec((text().prop_map(Value::Str), inner.clone()), 0..4).prop_map(Value::Dict),
            2 => call(inner.clone()),
            1 => method(items.clone()),
            1 => (items, 0..3_u64).prop_map(|(items, times)| {
                Value::Repeat { value: Box::new(Value::Tuple(items)), times }
            }),
            1 => (text(), 0..3_u64).prop_map(|(text, times)| {
                Value::Repeat { value: Box::new(Value::Str(text)), times }
            }),
            1 => inner.clone().prop_map(|value| Value::Returns(Box::new(value))),
            2 => callable(inner.clone()),
            1 => stub(inner.clone()),
            1 => after(inner),
        ]
    });
    (tree, vec(any::<u8>(), 64))
        .prop_map(|(value, choices)| LabelGenerator::new(choices).add_labels(value))
}

fn text() -> impl Strategy<Value = PyString> {
    let point = prop_oneof![0..128_u32, 0..0x3000_u32, 0xd7f0..0xe010_u32, 0x1_0000..0x11_0000_u32];
    prop_oneof![
        "[$a-z]{0,4}".prop_map(PyString::from),
        vec(point, 0..6)
            .prop_map(|points| PyString::from_code_points(points).expect("code points")),
    ]
}

fn hashable() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(2, 8, 3, |inner| {
        let items = vec(inner, 0..3);
        prop_oneof![items.clone().prop_map(Value::Tuple), items.prop_map(Value::FrozenSet),]
    })
}

fn leaf() -> impl Strategy<Value = Value> {
    let float = proptest::num::f64::ANY;
    let everyday = prop_oneof![Just(-0.0), Just(0.1), Just(1e22), Just(f64::INFINITY), -1e3..1e3];
    let names =
        vec!["builtins:int", "os.path:join", "datetime:datetime.now", "collections.abc:Set"];
    prop_oneof![
        4 => Just(Value::None),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => any::<i64>().prop_map(Value::Int),
        1 => "-?[1-9][0-9]{15,60}".prop_map(|text| Value::parse_integer(&text).expect("digits")),
        1 => float.prop_map(Value::Float),
        1 => everyday.prop_map(Value::Float),
        1 => (float, float).prop_map(|(re, im)| Value::Complex { re, im }),
        2 => text().prop_map(Value::Str),
        1 => vec(any::<u8>(), 0..8).prop_map(Value::Bytes),
        1 => Just(Value::Ellipsis),
        1 => select(names).prop_map(|name| Value::Name(reference(name))),
    ]
}

fn call(inner: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    let name = prop_oneof!["[a-z_]{1,6}", "\\PC{0,5}", select(vec!["class".into(), "ﬁ".into()])];
    let new = |class, args, kwargs| Value::New { class: reference(class), args, kwargs };
    prop_oneof![
        btree_map(name, inner, 0..4).prop_map(move |kwargs| {
            new("types:SimpleNamespace", vec![], kwargs.into_iter().collect())
        }),
        (1..9999_i64, 1..12_i64).prop_map(move |(year, month)| {
            let kwargs = vec![("day".to_owned(), Value::Int(1))];
            new("datetime:date", vec![Value::Int(year), Value::Int(month)], kwargs)
        }),
        "[0-9]{1,9}".prop_map(move |digits| new("decimal:Decimal", vec![digits.into()], vec![])),
        "[a-z]{0,3}".prop_map(move |word| new("os.path:join", vec![word.into()], vec![])),
    ]
}

fn callable(inner: impl Strategy<Value = Value> + Clone + 'static) -> impl Strategy<Value = Value> {
    let error = inner.clone().prop_map(|value| Value::New {
        class: reference("builtins:KeyError"),
        args: vec![value],
        kwargs: vec![],
    });
    let plain = prop_oneof![
        inner.clone().prop_map(|value| Value::Returns(Box::new(value))),
        error.prop_map(|error| Value::Raises(Box::new(error))),
        vec(inner, 0..3).prop_map(Value::Yields),
        (0..5_u32).prop_map(Value::Argument),
    ];
    (plain, any::<bool>()).prop_map(|(callable, is_async)| {
        if is_async { Value::Async(Box::new(callable)) } else { callable }
    })
}

fn stub(inner: impl Strategy<Value = Value> + Clone + 'static) -> impl Strategy<Value = Value> {
    let members = btree_map("[a-z]{1,4}", inner.clone(), 0..3);
    let sized = inner.clone().prop_map(|value| vec![("__len__".to_owned(), value)]);
    prop_oneof![
        members.prop_map(|members| Value::Stub {
            bases: vec![],
            members: members.into_iter().collect(),
            args: vec![],
            kwargs: vec![],
        }),
        sized.prop_map(|members| Value::Stub {
            bases: vec![reference("collections.abc:Sized")],
            members,
            args: vec![],
            kwargs: vec![],
        }),
        inner.prop_map(|value| Value::Stub {
            bases: vec![reference("types:SimpleNamespace"), reference("collections.abc:Hashable")],
            members: vec![("__hash__".to_owned(), Value::Returns(Box::new(Value::Int(1))))],
            args: vec![],
            kwargs: vec![("size".to_owned(), value)],
        }),
    ]
}

fn after(inner: impl Strategy<Value = Value> + Clone + 'static) -> impl Strategy<Value = Value> {
    let append =
        |value| MethodCall { name: "append".to_owned(), args: vec![value], kwargs: vec![] };
    let sort = MethodCall {
        name: "sort".to_owned(),
        args: vec![],
        kwargs: vec![("key".to_owned(), Value::Name(reference("builtins:id")))],
    };
    prop_oneof![
        vec(inner.prop_map(append), 0..3)
            .prop_map(|calls| Value::After { value: Box::new(Value::List(vec![])), calls }),
        Just(Value::After { value: Box::new(Value::List(vec![])), calls: vec![sort] }),
    ]
}

fn method(items: impl Strategy<Value = Vec<Value>>) -> impl Strategy<Value = Value> {
    let method = |on, name: &str, args| Value::Method {
        on: Box::new(on),
        name: name.to_owned(),
        args,
        kwargs: vec![],
    };
    prop_oneof![
        items.prop_map(move |items| method(Value::List(items), "copy", vec![])),
        any::<i64>().prop_map(move |number| method(Value::Int(number), "bit_length", vec![])),
        (text(), text()).prop_map(move |(on, with)| {
            method(Value::Str(on), "__add__", vec![Value::Str(with)])
        }),
    ]
}

pub(super) fn reference(text: &str) -> PyReference {
    text.parse().expect("a reference")
}

/// Labels some parts of a tree, and names them in others.
struct LabelGenerator {
    choices: std::vec::IntoIter<u8>,
    label_count: u32,
    available_labels: Vec<u32>,
}

impl LabelGenerator {
    fn new(choices: Vec<u8>) -> Self {
        Self { choices: choices.into_iter(), label_count: 0, available_labels: vec![] }
    }

    fn add_labels(&mut self, value: Value) -> Value {
        let choice = usize::from(self.choices.next().unwrap_or(0));
        if value == Value::None && choice % 2 == 1 && !self.available_labels.is_empty() {
            return Value::SharedRef(self.available_labels[choice % self.available_labels.len()]);
        }
        let label = (choice % 3 == 1).then(|| {
            self.label_count += 1;
            self.label_count
        });
        let early = matches!(value, Value::List(_) | Value::Dict(_));
        self.available_labels.extend(label.filter(|_| early));
        let value = self.add_labels_inside(value);
        self.available_labels.extend(label.filter(|_| !early));
        match label {
            Some(label) => Value::Shared { label, value: Box::new(value) },
            None => value,
        }
    }

    fn add_labels_inside(&mut self, value: Value) -> Value {
        match value {
            Value::List(items) => Value::List(self.add_labels_to_all(items)),
            Value::Tuple(items) => Value::Tuple(self.add_labels_to_all(items)),
            Value::Dict(pairs) => {
                let pairs = pairs.into_iter();
                Value::Dict(pairs.map(|(key, value)| (key, self.add_labels(value))).collect())
            }
            Value::New { class, args, kwargs } => {
                let kwargs = kwargs.into_iter();
                let kwargs = kwargs.map(|(name, value)| (name, self.add_labels(value))).collect();
                Value::New { class, args, kwargs }
            }
            Value::Returns(value) => Value::Returns(Box::new(self.add_labels(*value))),
            other => other,
        }
    }

    fn add_labels_to_all(&mut self, items: Vec<Value>) -> Vec<Value> {
        items.into_iter().map(|item| self.add_labels(item)).collect()
    }
}
