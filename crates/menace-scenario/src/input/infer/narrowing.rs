//! Narrows a declared shape by uses: the keys of a dict, the literals that a text is compared with.
//!
//! Invariant: a narrowed shape is of the declared type.

use menace_model::{ParamPart, Value};

use super::param_usage::ParamUsage;
use super::uses::{MAX_CHOICES, MAX_USAGE_DEPTH, shape_of_part};
use crate::input::python;
use crate::input::repository_facts::RepositoryFacts;
use crate::input::shape::{RecordField, ValueBounds, ValueShape};

/// The declared shape, then narrower ones.
pub(super) fn narrowed_shapes(
    facts: &RepositoryFacts<'_>,
    declared: &ValueShape,
    usage: &ParamUsage,
) -> Vec<ValueShape> {
    let mut shapes = vec![declared.clone()];
    shapes
        .extend(narrow_shape(facts, declared, usage, 0).into_iter().filter(|one| one != declared));
    shapes
}

fn narrow_shape(
    facts: &RepositoryFacts<'_>,
    declared: &ValueShape,
    usage: &ParamUsage,
    depth: usize,
) -> Vec<ValueShape> {
    if depth > MAX_USAGE_DEPTH {
        return Vec::new();
    }
    let container = |around: fn(Box<ValueShape>) -> ValueShape, item: &ValueShape| {
        let inside = narrow_item(facts, item, usage, depth);
        inside.map(|shape| around(Box::new(shape))).into_iter().collect()
    };
    match declared {
        ValueShape::Dict(key, value) if matches!(**key, ValueShape::Str(_) | ValueShape::Any) => {
            narrow_to_record(facts, value, usage, depth).into_iter().collect()
        }
        ValueShape::Record(fields) => {
            narrow_fields(facts, fields, usage, depth).into_iter().collect()
        }
        ValueShape::List(item) => container(ValueShape::List, item),
        ValueShape::TupleOf(item) => container(ValueShape::TupleOf, item),
        ValueShape::Iterator(item) => container(ValueShape::Iterator, item),
        ValueShape::Str(_) => {
            let matching = usage.patterns.iter().map(|pattern| {
                let bounds =
                    ValueBounds { pattern: Some(pattern.clone()), ..ValueBounds::default() };
                ValueShape::Bounded(Box::new(declared.clone()), bounds)
            });
            let words = literal_choices(facts, usage, |value| matches!(value, Value::Str(_)));
            matching.chain(words).collect()
        }
        ValueShape::Int => literal_choices(facts, usage, |value| matches!(value, Value::Int(_)))
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}

/// The narrowed shape of the elements, if uses tell more than the declaration.
fn narrow_item(
    facts: &RepositoryFacts<'_>,
    item: &ValueShape,
    usage: &ParamUsage,
    depth: usize,
) -> Option<ValueShape> {
    let is_element = |part: &ParamPart| {
        matches!(part, ParamPart::Item | ParamPart::Element | ParamPart::Index(_))
    };
    let mut parts = usage.parts.iter().filter(|(part, _)| is_element(part));
    parts.find_map(|(_, seen)| narrow_shape(facts, item, seen, depth + 1).into_iter().next())
}

fn narrow_to_record(
    facts: &RepositoryFacts<'_>,
    value: &ValueShape,
    usage: &ParamUsage,
    depth: usize,
) -> Option<ValueShape> {
    let field = |name: &String| {
        let key = ParamPart::Key(name.clone());
        let shape = match value {
            ValueShape::Any => shape_of_part(facts, usage, &key, depth),
            declared => usage
                .parts
                .get(&key)
                .and_then(|seen| narrow_shape(facts, declared, seen, depth + 1).into_iter().next())
                .unwrap_or_else(|| declared.clone()),
        };
        RecordField { name: name.clone(), shape, required: true }
    };
    (!usage.keys.is_empty()).then(|| ValueShape::Record(usage.keys.iter().map(field).collect()))
}

/// Declared fields, narrowed by the uses of their values.
fn narrow_fields(
    facts: &RepositoryFacts<'_>,
    fields: &[RecordField],
    usage: &ParamUsage,
    depth: usize,
) -> Option<ValueShape> {
    let mut changed = false;
    let field = |field: &RecordField| {
        let part = usage.parts.get(&ParamPart::Key(field.name.clone()));
        let narrow = part
            .and_then(|seen| narrow_shape(facts, &field.shape, seen, depth + 1).into_iter().next());
        changed |= narrow.is_some();
        RecordField { shape: narrow.unwrap_or_else(|| field.shape.clone()), ..field.clone() }
    };
    let fields: Vec<RecordField> = fields.iter().map(field).collect();
    changed.then_some(ValueShape::Record(fields))
}

/// Literals that the value is compared with.
fn literal_choices(
    facts: &RepositoryFacts<'_>,
    usage: &ParamUsage,
    fits: fn(&Value) -> bool,
) -> Option<ValueShape> {
    let resolve = |name: &str| facts.reference(name);
    let read = usage.equals.iter().filter_map(|source| python::parse_value(source, &resolve));
    let mut values: Vec<Value> = read.filter(fits).collect();
    // The limit of a comparison and its neighbours.
    for source in usage.ordered.iter().flatten() {
        if let Some(limit @ Value::Int(number)) = python::parse_value(source, &resolve)
            && fits(&limit)
        {
            let near = [number.saturating_sub(1), number, number.saturating_add(1)];
            values.extend(near.map(Value::Int));
        }
    }
    values.dedup();
    values.truncate(MAX_CHOICES);
    (!values.is_empty()).then_some(ValueShape::OneOf(values))
}
