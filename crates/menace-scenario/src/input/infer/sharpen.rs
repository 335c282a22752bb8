//! What uses add to a declared type: the keys of a dict, the words that a text is compared with.
//!
//! Invariant: whatever is added is of the declared type.

use menace_model::{Part, Value};

use super::seen::Seen;
use super::uses::{MAX_CHOICES, MAX_DEPTH, part};
use crate::input::facts::Facts;
use crate::input::python;
use crate::input::shape::{Bounds, Field, Shape};

/// The declared shape, then narrower ones.
pub(super) fn sharpened(facts: &Facts<'_>, declared: &Shape, seen: &Seen) -> Vec<Shape> {
    let mut shapes = vec![declared.clone()];
    shapes.extend(narrower(facts, declared, seen, 0).into_iter().filter(|one| one != declared));
    shapes
}

fn narrower(facts: &Facts<'_>, declared: &Shape, seen: &Seen, depth: usize) -> Vec<Shape> {
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    let container = |around: fn(Box<Shape>) -> Shape, item: &Shape| {
        let inside = item_of(facts, item, seen, depth);
        inside.map(|shape| around(Box::new(shape))).into_iter().collect()
    };
    match declared {
        Shape::Dict(key, value) if matches!(**key, Shape::Str(_) | Shape::Any) => {
            record(facts, value, seen, depth).into_iter().collect()
        }
        Shape::Record(fields) => refined(facts, fields, seen, depth).into_iter().collect(),
        Shape::List(item) => container(Shape::List, item),
        Shape::TupleOf(item) => container(Shape::TupleOf, item),
        Shape::Iterator(item) => container(Shape::Iterator, item),
        Shape::Str(_) => {
            let matching = seen.patterns.iter().map(|pattern| {
                let bounds = Bounds { pattern: Some(pattern.clone()), ..Bounds::default() };
                Shape::Bounded(Box::new(declared.clone()), bounds)
            });
            let words = choices(facts, seen, |value| matches!(value, Value::Str(_)));
            matching.chain(words).collect()
        }
        Shape::Int => {
            choices(facts, seen, |value| matches!(value, Value::Int(_))).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// What all elements look like, if more is known than was declared.
fn item_of(facts: &Facts<'_>, item: &Shape, seen: &Seen, depth: usize) -> Option<Shape> {
    let is_element = |part: &Part| matches!(part, Part::Item | Part::Element | Part::Index(_));
    let mut parts = seen.parts.iter().filter(|(part, _)| is_element(part));
    parts.find_map(|(_, seen)| narrower(facts, item, seen, depth + 1).into_iter().next())
}

fn record(facts: &Facts<'_>, value: &Shape, seen: &Seen, depth: usize) -> Option<Shape> {
    let field = |name: &String| {
        let key = Part::Key(name.clone());
        let shape = match value {
            Shape::Any => part(facts, seen, &key, depth),
            declared => seen
                .parts
                .get(&key)
                .and_then(|seen| narrower(facts, declared, seen, depth + 1).into_iter().next())
                .unwrap_or_else(|| declared.clone()),
        };
        Field { name: name.clone(), shape, required: true }
    };
    (!seen.keys.is_empty()).then(|| Shape::Record(seen.keys.iter().map(field).collect()))
}

/// Declared fields, with what is known of their values.
fn refined(facts: &Facts<'_>, fields: &[Field], seen: &Seen, depth: usize) -> Option<Shape> {
    let mut changed = false;
    let field = |field: &Field| {
        let part = seen.parts.get(&Part::Key(field.name.clone()));
        let narrow =
            part.and_then(|seen| narrower(facts, &field.shape, seen, depth + 1).into_iter().next());
        changed |= narrow.is_some();
        Field { shape: narrow.unwrap_or_else(|| field.shape.clone()), ..field.clone() }
    };
    let fields: Vec<Field> = fields.iter().map(field).collect();
    changed.then_some(Shape::Record(fields))
}

/// Literals that it is compared with.
fn choices(facts: &Facts<'_>, seen: &Seen, fits: fn(&Value) -> bool) -> Option<Shape> {
    let resolve = |name: &str| facts.reference(name);
    let read = seen.equals.iter().filter_map(|source| python::value(source, &resolve));
    let mut values: Vec<Value> = read.filter(fits).collect();
    // Both sides of a limit, and the limit itself.
    for source in seen.ordered.iter().flatten() {
        if let Some(limit @ Value::Int(number)) = python::value(source, &resolve)
            && fits(&limit)
        {
            let near = [number.saturating_sub(1), number, number.saturating_add(1)];
            values.extend(near.map(Value::Int));
        }
    }
    values.dedup();
    values.truncate(MAX_CHOICES);
    (!values.is_empty()).then_some(Shape::OneOf(values))
}
