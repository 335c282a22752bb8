//! Hostile values: of the right shape, and made to do harm to the role of their parameter.

mod insertion;
mod samples;

use menace_model::{ClassKind, ParamKind, Value};

use super::boundary;
use super::make::arguments::{assemble_call, wrap_variadic};
use super::make::objects::stub_object;
use super::make::{ArgumentPolicy, ValueMaker, ValueStyle, construct_by_name, to_hashable};
use super::name_topics::{TextRole, text_role};
use super::shape::{RecordField, ValueShape};

pub(crate) use insertion::insert_text;
pub use samples::INJECTION_MARKER;
pub(crate) use samples::{detectable_texts, regex_attack_texts};

use samples::{MAX_SEVERITY, hostile_text};

/// Bytes that one item of a list takes: a pointer.
const LIST_ITEM_BYTES: u64 = 8;

/// How aggressive inputs are, from `THREAT_INTENSITY`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreatIntensity {
    /// From 0 to 1.
    intensity: f64,
    memory_bytes: u64,
}

#[expect(clippy::cast_sign_loss, reason = "an intensity is never negative")]
impl ThreatIntensity {
    /// `intensity` is a share from 0 to 1; `memory_bytes` bounds the size of oversized inputs.
    pub fn new(intensity: f64, memory_bytes: u64) -> Self {
        Self { intensity: intensity.clamp(0.0, 1.0), memory_bytes }
    }

    /// The share of hostile and misusing inputs.
    pub fn input_share(self) -> f64 {
        self.intensity
    }

    /// The highest severity of samples that is used, from 1 (malformed) to 4 (exhausting).
    pub fn max_severity(self) -> u8 {
        let max_severity = f64::from(MAX_SEVERITY);
        (self.intensity * max_severity).ceil().clamp(1.0, max_severity) as u8
    }

    /// The size of oversized inputs: from 1 KiB to 1 MiB, at most a quarter of the memory.
    pub fn oversized_bytes(self) -> u64 {
        let size = 2_f64.powf(10.0 + self.intensity * 10.0) as u64;
        size.min(self.memory_bytes / 4).max(1)
    }

    /// How many mistakes a misusing input makes at once.
    pub fn mistake_count(self) -> usize {
        1 + (self.intensity * 2.0).round() as usize
    }
}

/// A hostile value of the shape; none when no part of the shape can be hostile.
pub(crate) fn hostile_value(
    maker: &mut ValueMaker<'_, '_>,
    shape: &ValueShape,
    name: &str,
    threat: ThreatIntensity,
) -> Option<Value> {
    match shape {
        ValueShape::Str(role) => {
            let role = role.unwrap_or_else(|| text_role(name));
            // The text may also end up where its name does not say.
            let role = if maker.random.chance(0.15) { TextRole::Plain } else { role };
            Some(hostile_text(role, threat, &mut maker.random))
        }
        ValueShape::Any => Some(hostile_text(TextRole::Plain, threat, &mut maker.random)),
        ValueShape::Path { is_text, .. } => {
            let path = hostile_text(TextRole::Path, threat, &mut maker.random);
            Some(if *is_text { path } else { construct_by_name("pathlib:Path", vec![path]) })
        }
        ValueShape::Bytes => Some(hostile_bytes(maker, name, threat)),
        ValueShape::LibraryInstance(name) if is_file_class(name) => Some(failing_file(maker)),
        ValueShape::Int | ValueShape::Float | ValueShape::LibraryInstance(_) => {
            let edges = boundary::boundary_values(maker, shape, name);
            maker.random.pick(&edges).cloned()
        }
        ValueShape::Function { is_async, .. } => {
            let failing = raising_callable(maker);
            Some(if *is_async { Value::Async(Box::new(failing)) } else { failing })
        }
        ValueShape::Iterator(_) => Some(hostile_iterator(maker, threat)),
        ValueShape::Duck(_) | ValueShape::ContextManager { .. } => Some(raising_object(maker)),
        ValueShape::Union(shapes) => {
            shapes.iter().find_map(|shape| hostile_value(maker, shape, name, threat))
        }
        ValueShape::Instance(class) => hostile_instance(maker, class, threat),
        ValueShape::GenericInstance(inner, args) => {
            maker
                .with_type_arguments(inner, args, |maker| hostile_value(maker, inner, name, threat))
        }
        ValueShape::WithTopic(topic, inner) => hostile_value(maker, inner, topic, threat),
        ValueShape::Bounded(inner, _) => hostile_value(maker, inner, name, threat),
        // A caller may also pass a value that is not among the declared ones.
        ValueShape::OneOf(values) => match values.first()? {
            Value::Str(_) => hostile_value(maker, &ValueShape::Str(None), name, threat),
            Value::Int(_) => hostile_value(maker, &ValueShape::Int, name, threat),
            _ => None,
        },
        shape => hostile_container(maker, shape, name, threat),
    }
}

/// A container with one hostile item.
fn hostile_container(
    maker: &mut ValueMaker<'_, '_>,
    shape: &ValueShape,
    name: &str,
    threat: ThreatIntensity,
) -> Option<Value> {
    match shape {
        ValueShape::List(item) | ValueShape::TupleOf(item) => {
            if threat.max_severity() == MAX_SEVERITY && maker.random.chance(0.3) {
                let typical = maker.make_value(item, name, ValueStyle::Typical);
                let count = threat.oversized_bytes() / LIST_ITEM_BYTES;
                return Some(boundary::repeat_value(Value::List(vec![typical]), count));
            }
            let mut items = maker.make_several(item, name, ValueStyle::Smart, 2);
            items.push(hostile_value(maker, item, name, threat)?);
            Some(match shape {
                ValueShape::List(_) => Value::List(items),
                _ => Value::Tuple(items),
            })
        }
        ValueShape::Set(item) => hostile_set_items(maker, item, name, threat).map(Value::Set),
        ValueShape::FrozenSet(item) => {
            hostile_set_items(maker, item, name, threat).map(Value::FrozenSet)
        }
        ValueShape::Tuple(items) if !items.is_empty() => {
            let mut values: Vec<Value> =
                items.iter().map(|item| maker.make_value(item, name, ValueStyle::Smart)).collect();
            let index = maker.random.next_below(items.len() as u64) as usize;
            values[index] = hostile_value(maker, &items[index], name, threat)?;
            Some(Value::Tuple(values))
        }
        ValueShape::Dict(_, value) => {
            let key = hostile_text(TextRole::Plain, threat, &mut maker.random);
            let typical = maker.make_value(value, name, ValueStyle::Typical);
            let hostile =
                hostile_value(maker, value, name, threat).unwrap_or_else(|| typical.clone());
            Some(Value::Dict(vec![(Value::from("alpha"), hostile), (key, typical)]))
        }
        ValueShape::Record(fields) if !fields.is_empty() => {
            hostile_record(maker, fields, name, threat)
        }
        _ => None,
    }
}

fn hostile_bytes(maker: &mut ValueMaker<'_, '_>, name: &str, threat: ThreatIntensity) -> Value {
    match hostile_text(text_role(name), threat, &mut maker.random) {
        Value::Str(text) => Value::Bytes(text.as_bytes().to_vec()),
        Value::Repeat { value, times } => match *value {
            Value::Str(text) => {
                boundary::repeat_value(Value::Bytes(text.as_bytes().to_vec()), times)
            }
            _ => Value::Bytes(Vec::new()),
        },
        _ => Value::Bytes(b"\xff\xfe\0".to_vec()),
    }
}

/// The items of a set, one of them hostile.
fn hostile_set_items(
    maker: &mut ValueMaker<'_, '_>,
    item: &ValueShape,
    name: &str,
    threat: ThreatIntensity,
) -> Option<Vec<Value>> {
    let hostile = hostile_value(maker, item, name, threat)?;
    let usual = maker.make_several(item, name, ValueStyle::Smart, 2);
    let mut unique = Vec::new();
    for value in usual.into_iter().chain([hostile]).map(to_hashable) {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    Some(unique)
}

/// A dict with known keys, one of whose values is hostile.
fn hostile_record(
    maker: &mut ValueMaker<'_, '_>,
    fields: &[RecordField],
    name: &str,
    threat: ThreatIntensity,
) -> Option<Value> {
    let index = maker.random.next_below(fields.len() as u64) as usize;
    let record = ValueShape::Record(fields.to_vec());
    let Value::Dict(mut pairs) = maker.make_value(&record, name, ValueStyle::Typical) else {
        return None;
    };
    let field = &fields[index];
    let hostile = hostile_value(maker, &field.shape, &field.name, threat)?;
    let key = Value::from(field.name.as_str());
    pairs.retain(|(other, _)| *other != key);
    pairs.push((key, hostile));
    Some(Value::Dict(pairs))
}

/// An instance of a class of the repository with one hostile constructor argument; none when no
/// argument can be hostile.
fn hostile_instance(
    maker: &mut ValueMaker<'_, '_>,
    dotted: &str,
    threat: ThreatIntensity,
) -> Option<Value> {
    let class = maker.facts.class(dotted)?;
    match class.kind {
        ClassKind::Enum => return None,
        ClassKind::TypedDict => {
            let record = ValueShape::Record(maker.typed_dict_fields(dotted, class));
            return maker.while_building(dotted, |maker| hostile_value(maker, &record, "", threat));
        }
        _ => {}
    }
    let (class, guesses) = maker.constructor_params(class)?;
    maker.while_building(dotted, |maker| {
        let mut order: Vec<usize> = (0..guesses.len()).collect();
        maker.random.shuffle(&mut order);
        let (index, hostile) = order.into_iter().find_map(|index| {
            let guess = &guesses[index];
            let shape = guess.likeliest_shape();
            let is_unnamed = guess.kind == ParamKind::VarKeyword
                && !matches!(shape, ValueShape::Record(_) | ValueShape::Dict(..));
            if is_unnamed {
                return None;
            }
            Some((index, hostile_value(maker, shape, &guess.name, threat)?))
        })?;
        // A positional argument needs all arguments before it.
        let is_positional = guesses[index].kind == ParamKind::PositionalOnly;
        let policy = if is_positional { ArgumentPolicy::COMPLETE } else { ArgumentPolicy::TYPICAL };
        let mut slots = maker.make_slots(&guesses, policy);
        slots[index] = Some(wrap_variadic(guesses[index].kind, hostile));
        let (args, kwargs) = assemble_call(&guesses, slots);
        Some(Value::New { class, args, kwargs })
    })
}

fn raising_callable(maker: &mut ValueMaker<'_, '_>) -> Value {
    let errors =
        ["builtins:ValueError", "builtins:OSError", "builtins:KeyError", "builtins:RuntimeError"];
    let error = maker.random.pick(&errors).copied().unwrap_or("builtins:ValueError");
    Value::Raises(Box::new(construct_by_name(error, vec![Value::from("refused")])))
}

/// An object on which every operation raises.
fn raising_object(maker: &mut ValueMaker<'_, '_>) -> Value {
    let failing = raising_callable(maker);
    let names = ["__getattr__", "__enter__", "__call__", "__iter__", "__len__", "__str__"];
    stub_object(Vec::new(), names.map(|name| (name.to_owned(), failing.clone())).to_vec())
}

/// An iterator with very many items, or one whose `__next__` raises.
fn hostile_iterator(maker: &mut ValueMaker<'_, '_>, threat: ThreatIntensity) -> Value {
    if threat.max_severity() == MAX_SEVERITY && maker.random.chance(0.5) {
        return construct_by_name(
            "itertools:repeat",
            vec![Value::from("a"), Value::Int(threat.oversized_bytes().cast_signed())],
        );
    }
    let next = raising_callable(maker);
    stub_object(
        Vec::new(),
        vec![
            ("__iter__".to_owned(), Value::Argument(0)),
            ("__next__".to_owned(), next),
            ("close".to_owned(), Value::Returns(Box::new(Value::None))),
        ],
    )
}

fn is_file_class(name: &str) -> bool {
    matches!(name.rsplit('.').next(), Some("StringIO" | "BytesIO" | "TextIO" | "BinaryIO" | "IO"))
}

/// A file of which one operation, and `flush`, fail with an I/O error.
fn failing_file(maker: &mut ValueMaker<'_, '_>) -> Value {
    let error = construct_by_name(
        "builtins:OSError",
        vec![Value::Int(5), Value::from("Input/output error")],
    );
    let failing = Value::Raises(Box::new(error));
    let operations = ["read", "readline", "write", "__next__", "seek"];
    let index = maker.random.next_below(operations.len() as u64) as usize;
    let members =
        vec![(operations[index].to_owned(), failing.clone()), ("flush".to_owned(), failing)];
    match "io:StringIO".parse() {
        Ok(base) => Value::Stub {
            bases: vec![base],
            members,
            args: vec![Value::from("one\ntwo\n")],
            kwargs: Vec::new(),
        },
        Err(_) => Value::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_intensity_raises_severity_size_and_mistakes() {
        let threats = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| ThreatIntensity::new(share, 1 << 30));
        assert_eq!(threats.map(ThreatIntensity::max_severity), [1, 1, 2, 3, 4]);
        assert_eq!(threats.map(ThreatIntensity::mistake_count), [1, 2, 2, 3, 3]);
        assert_eq!((threats[0].oversized_bytes(), threats[4].oversized_bytes()), (1024, 1 << 20));
        assert_eq!(ThreatIntensity::new(1.0, 4000).oversized_bytes(), 1000);
    }
}
