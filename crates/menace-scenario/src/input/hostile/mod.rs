//! Values of the right type that are made to do harm, by the role of the parameter.
//!
//! Samples are in `data/hostile`, one file per role, each with the severity from which it is used:
//! 1 malformed, 2 injection, 3 combined and disguised, 4 made to exhaust something.

mod code;
mod command;
mod csv;
mod date;
mod email;
mod format;
mod html;
mod json;
mod number;
mod object;
mod path;
mod plain;
mod plant;
mod regex;
mod sql;
mod url;
mod xml;
mod yaml;

use std::collections::HashMap;
use std::sync::OnceLock;

use menace_model::{Random, Value};

use super::boundary;
use super::make::duck::stub;
use super::make::{Maker, Style, hashable, new, pattern};
use super::shape::Shape;
use super::topic::{Role, role_of};
use crate::judge::MARKER;

pub(crate) use plant::planted;

/// How bad inputs are, from `THREAT_INTENSITY`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threat {
    /// From 0 to 1.
    intensity: f64,
    memory_bytes: u64,
}

#[expect(clippy::cast_sign_loss, reason = "an intensity is never negative")]
impl Threat {
    /// `intensity` is a share from 0 to 1; `memory_bytes` bounds what is oversized.
    pub fn new(intensity: f64, memory_bytes: u64) -> Self {
        Self { intensity: intensity.clamp(0.0, 1.0), memory_bytes }
    }

    /// How many of all inputs are bad.
    pub fn share(self) -> f64 {
        self.intensity
    }

    /// The worst kind that is used: 1 malformed … 4 made to exhaust something.
    pub fn severity(self) -> u8 {
        (self.intensity * 4.0).ceil().clamp(1.0, 4.0) as u8
    }

    /// How large the oversized is: from 1 KiB to 1 MiB, at most a quarter of the memory.
    pub fn size(self) -> u64 {
        let size = 2_f64.powf(10.0 + self.intensity * 10.0) as u64;
        size.min(self.memory_bytes / 4).max(1)
    }

    /// How many mistakes a misuse makes at once.
    pub fn mistakes(self) -> usize {
        1 + (self.intensity * 2.0).round() as usize
    }
}

/// Samples and how bad each is.
fn samples(role: Role) -> &'static [(u8, Value)] {
    static SAMPLES: OnceLock<HashMap<Role, Vec<(u8, Value)>>> = OnceLock::new();
    let read = |text: &str| -> Vec<(u8, Value)> {
        let line = |line: &str| {
            let (severity, value) = line.split_once(' ')?;
            Some((severity.parse().ok()?, Value::from_json(value).ok()?))
        };
        text.lines().filter_map(line).collect()
    };
    let all = SAMPLES
        .get_or_init(|| Role::ALL.into_iter().map(|role| (role, read(parts(role).0))).collect());
    all.get(&role).map_or(&[], Vec::as_slice)
}

type Grown = fn(u64) -> Vec<Value>;

fn parts(role: Role) -> (&'static str, Grown) {
    match role {
        Role::Plain => (plain::SAMPLES, plain::grown),
        Role::Sql => (sql::SAMPLES, sql::grown),
        Role::Html => (html::SAMPLES, html::grown),
        Role::Path => (path::SAMPLES, path::grown),
        Role::Url => (url::SAMPLES, url::grown),
        Role::Command => (command::SAMPLES, command::grown),
        Role::Code => (code::SAMPLES, code::grown),
        Role::Regex => (regex::SAMPLES, regex::grown),
        Role::Json => (json::SAMPLES, json::grown),
        Role::Xml => (xml::SAMPLES, xml::grown),
        Role::Yaml => (yaml::SAMPLES, yaml::grown),
        Role::Csv => (csv::SAMPLES, csv::grown),
        Role::Format => (format::SAMPLES, format::grown),
        Role::Email => (email::SAMPLES, email::grown),
        Role::Number => (number::SAMPLES, number::grown),
        Role::Date => (date::SAMPLES, date::grown),
    }
}

/// Texts of that role whose success can be told from what comes of it.
pub(crate) fn telling(role: Role) -> impl Iterator<Item = &'static str> {
    samples(role).iter().filter_map(move |(_, value)| match value {
        Value::Str(text) => text.as_str().filter(|text| tells(role, text)),
        _ => None,
    })
}

/// It would leave a file or a tag, show a file that is known, or be no query any more.
fn tells(role: Role, text: &str) -> bool {
    match role {
        Role::Path => text.contains("../etc/passwd"),
        Role::Sql => text.contains('\'') && !text.contains('\0'),
        _ => text.contains(MARKER),
    }
}

/// A text of that role that is up to no good.
fn text(role: Role, threat: Threat, random: &mut Random) -> Value {
    let worst = threat.severity();
    // Oversized text belongs to the worst.
    if worst == 4 && random.chance(0.3) {
        let grown = parts(role).1(threat.size());
        if let Some(value) = random.pick(&grown) {
            return value.clone();
        }
    }
    let fitting: Vec<&Value> =
        samples(role).iter().filter(|(severity, _)| *severity <= worst).map(|(_, it)| it).collect();
    random.pick(&fitting).map_or(Value::from(""), |value| (*value).clone())
}

/// A harmful value of the shape; none when nothing of it can do harm.
pub(crate) fn value(
    maker: &mut Maker<'_, '_>,
    shape: &Shape,
    name: &str,
    threat: Threat,
) -> Option<Value> {
    Some(match shape {
        Shape::Str(role) => {
            let role = role.unwrap_or_else(|| role_of(name));
            // What the name does not tell may still be pasted anywhere.
            let role = if maker.random.chance(0.15) { Role::Plain } else { role };
            text(role, threat, &mut maker.random)
        }
        Shape::Path { is_text, .. } => {
            let path = text(Role::Path, threat, &mut maker.random);
            if *is_text { path } else { new("pathlib:Path", vec![path]) }
        }
        Shape::Bytes => match text(role_of(name), threat, &mut maker.random) {
            Value::Str(text) => Value::Bytes(text.as_bytes().to_vec()),
            Value::Repeat { value, times } => match *value {
                Value::Str(text) => {
                    boundary::repeated(Value::Bytes(text.as_bytes().to_vec()), times)
                }
                _ => Value::Bytes(Vec::new()),
            },
            _ => Value::Bytes(b"\xff\xfe\0".to_vec()),
        },
        Shape::Known(name) if is_file(name) => failing_file(maker),
        Shape::Int | Shape::Float | Shape::Known(_) => {
            let edges = boundary::values(maker, shape, name);
            maker.random.pick(&edges).cloned()?
        }
        Shape::List(item) | Shape::TupleOf(item) => {
            if threat.severity() == 4 && maker.random.chance(0.3) {
                let one = maker.make(item, name, Style::Typical);
                // Each item is a pointer of eight bytes.
                boundary::repeated(Value::List(vec![one]), threat.size() / 8)
            } else {
                let mut items = maker.several(item, name, Style::Smart, 2);
                items.push(value(maker, item, name, threat)?);
                if matches!(shape, Shape::List(_)) {
                    Value::List(items)
                } else {
                    Value::Tuple(items)
                }
            }
        }
        Shape::Set(item) => Value::Set(members(maker, item, name, threat)?),
        Shape::FrozenSet(item) => Value::FrozenSet(members(maker, item, name, threat)?),
        Shape::Tuple(items) if !items.is_empty() => {
            let mut values: Vec<Value> =
                items.iter().map(|item| maker.make(item, name, Style::Smart)).collect();
            let index = maker.random.below(items.len() as u64) as usize;
            values[index] = value(maker, &items[index], name, threat)?;
            Value::Tuple(values)
        }
        Shape::Dict(_, inner) => {
            let key = text(Role::Plain, threat, &mut maker.random);
            let usual = maker.make(inner, name, Style::Typical);
            let inside = value(maker, inner, name, threat).unwrap_or_else(|| usual.clone());
            Value::Dict(vec![(Value::from("alpha"), inside), (key, usual)])
        }
        Shape::Record(fields) if !fields.is_empty() => {
            let index = maker.random.below(fields.len() as u64) as usize;
            let Value::Dict(mut pairs) = maker.make(shape, name, Style::Typical) else {
                return None;
            };
            let field = &fields[index];
            let bad = value(maker, &field.shape, &field.name, threat)?;
            pairs.retain(|(key, _)| *key != Value::from(field.name.as_str()));
            pairs.push((Value::from(field.name.as_str()), bad));
            Value::Dict(pairs)
        }
        Shape::Function { is_async, .. } => {
            let failing = raising(maker);
            if *is_async { Value::Async(Box::new(failing)) } else { failing }
        }
        Shape::Iterator(_) => endless(maker, threat),
        Shape::Duck(_) | Shape::ContextManager { .. } => {
            // Whatever is asked of it fails.
            let failing = raising(maker);
            let names = ["__getattr__", "__enter__", "__call__", "__iter__", "__len__", "__str__"];
            stub(Vec::new(), names.map(|name| (name.to_owned(), failing.clone())).to_vec())
        }
        Shape::Union(shapes) => {
            let found = shapes.iter().find_map(|shape| value(maker, shape, name, threat));
            found?
        }
        Shape::Instance(class) => object::instance(maker, class, threat)?,
        Shape::Applied(inner, args) => {
            maker.applying(inner, args, |maker| value(maker, inner, name, threat))?
        }
        Shape::About(topic, inner) => value(maker, inner, topic, threat)?,
        Shape::Bounded(inner, _) => value(maker, inner, name, threat)?,
        Shape::Any => text(Role::Plain, threat, &mut maker.random),
        // Nobody keeps a caller from passing what is none of them.
        Shape::OneOf(values) => match values.first()? {
            Value::Str(_) => value(maker, &Shape::Str(None), name, threat)?,
            Value::Int(_) => value(maker, &Shape::Int, name, threat)?,
            _ => return None,
        },
        _ => return None,
    })
}

/// What a set has in it, one of which does harm.
fn members(
    maker: &mut Maker<'_, '_>,
    item: &Shape,
    name: &str,
    threat: Threat,
) -> Option<Vec<Value>> {
    let mut members = Vec::new();
    let bad = value(maker, item, name, threat)?;
    for one in maker.several(item, name, Style::Smart, 2).into_iter().chain([bad]).map(hashable) {
        if !members.contains(&one) {
            members.push(one);
        }
    }
    Some(members)
}

/// Texts that a pattern nearly matches: often enough to search forever or, where the work does not
/// double each time, as often as the size allows.
pub(crate) fn searched(pattern: &str, size: u64) -> Vec<Value> {
    // A search of that many times as many steps takes seconds.
    const LONGEST: u64 = 50_000;
    const DOUBLED: u64 = 40;
    let pumps = pattern::pumps(pattern);
    let texts = pumps.iter().flat_map(|pump| {
        let length = pump.unit.len().max(1) as u64;
        let times = if pump.is_nested { DOUBLED } else { size.min(LONGEST) / length };
        // The end of a line stops what takes everything else.
        let ends = ["!", "\n!"].into_iter().filter(move |_| times > 0);
        ends.map(move |end| around(&pump.before, repeated(&pump.unit, times), end))
    });
    texts.collect()
}

fn raising(maker: &mut Maker<'_, '_>) -> Value {
    let errors =
        ["builtins:ValueError", "builtins:OSError", "builtins:KeyError", "builtins:RuntimeError"];
    let error = maker.random.pick(&errors).copied().unwrap_or("builtins:ValueError");
    Value::Raises(Box::new(new(error, vec![Value::from("refused")])))
}

/// An iterator that goes on, or that fails on the way.
fn endless(maker: &mut Maker<'_, '_>, threat: Threat) -> Value {
    if threat.severity() == 4 && maker.random.chance(0.5) {
        return new(
            "itertools:repeat",
            vec![Value::from("a"), Value::Int(threat.size().cast_signed())],
        );
    }
    let failing = Value::Returns(Box::new(Value::None));
    let next = raising(maker);
    stub(
        Vec::new(),
        vec![
            ("__iter__".to_owned(), Value::Argument(0)),
            ("__next__".to_owned(), next),
            ("close".to_owned(), failing),
        ],
    )
}

fn is_file(name: &str) -> bool {
    matches!(name.rsplit('.').next(), Some("StringIO" | "BytesIO" | "TextIO" | "BinaryIO" | "IO"))
}

/// A file whose disk is broken.
fn failing_file(maker: &mut Maker<'_, '_>) -> Value {
    let error = new("builtins:OSError", vec![Value::Int(5), Value::from("Input/output error")]);
    let failing = Value::Raises(Box::new(error));
    let names = ["read", "readline", "write", "__next__", "seek"];
    let wanted = maker.random.below(names.len() as u64) as usize;
    let mut members = vec![(names[wanted].to_owned(), failing.clone())];
    members.push(("flush".to_owned(), failing));
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

fn repeated(text: &str, times: u64) -> Value {
    boundary::repeated(Value::from(text), times.max(1))
}

fn around(before: &str, middle: Value, after: &str) -> Value {
    let add = |on: Value, with: Value| Value::Method {
        on: Box::new(on),
        name: "__add__".to_owned(),
        args: vec![with],
        kwargs: Vec::new(),
    };
    let value = if before.is_empty() { middle } else { add(Value::from(before), middle) };
    if after.is_empty() { value } else { add(value, Value::from(after)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_model::Seed;

    #[test]
    fn every_role_has_samples_of_every_kind() {
        for role in Role::ALL {
            let lines = parts(role).0.lines().count();
            assert_eq!(samples(role).len(), lines, "{role:?}");
            for severity in 1..=3 {
                let found = samples(role).iter().any(|(own, _)| *own == severity);
                assert!(found, "{role:?} {severity}");
            }
            assert!(!parts(role).1(1000).is_empty());
        }
    }

    #[test]
    fn the_worst_of_each_role_is_what_it_is_known_for() {
        for (role, known_for) in [
            (Role::Sql, "RECURSIVE"),
            (Role::Xml, "&c;&c;&c;"),
            (Role::Yaml, "*"),
            (Role::Regex, "+)+"),
        ] {
            let worst = samples(role).iter().filter(|(severity, _)| *severity == 4);
            let mut texts = worst.map(|(_, value)| format!("{value:?}"));
            assert!(texts.any(|text| text.contains(known_for)), "{role:?}: {known_for}");
        }
        let threat = Threat::new(1.0, 1 << 30);
        for role in Role::ALL {
            let worst = samples(role).iter().filter(|(severity, _)| *severity == 4);
            let mut worst: Vec<Value> = worst.map(|(_, value)| value.clone()).collect();
            worst.extend(parts(role).1(threat.size()));
            let mut random = Seed(1).random();
            let used = (0..500).any(|_| worst.contains(&text(role, threat, &mut random)));
            assert!(used, "{role:?}");
        }
    }

    #[test]
    fn more_intensity_is_worse() {
        let threats = [0.0, 0.25, 0.5, 0.75, 1.0].map(|it| Threat::new(it, 1 << 30));
        assert_eq!(threats.map(Threat::severity), [1, 1, 2, 3, 4]);
        assert_eq!(threats.map(Threat::mistakes), [1, 2, 2, 3, 3]);
        assert_eq!((threats[0].size(), threats[4].size()), (1024, 1 << 20));
        assert_eq!(Threat::new(1.0, 4000).size(), 1000);
    }

    #[test]
    fn mild_threats_use_no_severe_samples() {
        let mut random = Seed(1).random();
        let severe: Vec<&Value> =
            samples(Role::Sql).iter().filter(|(own, _)| *own > 1).map(|(_, it)| it).collect();
        for _ in 0..200 {
            let mild = text(Role::Sql, Threat::new(0.1, 1 << 30), &mut random);
            assert!(!severe.contains(&&mild), "{mild:?}");
        }
    }

    #[test]
    fn the_worst_is_as_large_as_asked_for() {
        let mut random = Seed(1).random();
        let threat = Threat::new(1.0, 1 << 30);
        let huge = (0..200).map(|_| text(Role::Json, threat, &mut random));
        let is_huge =
            |value: &Value| matches!(value, Value::Repeat { times, .. } if *times == 1 << 20);
        assert!(huge.into_iter().any(|value| is_huge(&value)));
    }
}
