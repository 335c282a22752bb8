//! From what a body does with a parameter to what the parameter is.

use menace_model::{Part, Value};

use super::members;
use super::seen::Seen;
use super::votes::Votes;
use super::{annotation, functions, literal, param_votes};
use crate::input::facts::Facts;
use crate::input::python;
use crate::input::shape::{Bounds, Duck, Field, PathWhat, Shape};

/// How deep parts of parts, and functions that pass a parameter on, are followed.
pub(super) const MAX_DEPTH: usize = 3;
/// More values than that are no choice.
pub(super) const MAX_CHOICES: usize = 12;
/// Classes of the repository that are tried for their members alone.
const MAX_CLASSES: usize = 3;

/// Adds what the uses tell to the votes.
pub(crate) fn vote(facts: &Facts<'_>, seen: &Seen, name: &str, votes: &mut Votes, depth: usize) {
    for (rank, class) in seen.classes.iter().enumerate() {
        let shape = annotation::shape(facts, &menace_model::TypeExpr::Name(class.clone()));
        if shape != Shape::Any {
            votes.add(shape, 2.5 - 0.2 * (rank.min(5) as f64));
        }
    }
    by_members(facts, seen, name, votes, depth);
    by_operations(facts, seen, votes, depth);
    by_literals(facts, seen, votes);
    if depth < MAX_DEPTH {
        for (function, argument) in &seen.passed {
            for (rank, shape) in passed_to(facts, function, argument, depth).into_iter().enumerate()
            {
                votes.add(shape, 2.0 / (1.0 + rank as f64));
            }
        }
    }
    if seen.maybe_none {
        votes.add(Shape::None, 0.3);
    }
}

/// Classes that have what is asked of it.
pub(crate) fn by_members(
    facts: &Facts<'_>,
    seen: &Seen,
    name: &str,
    votes: &mut Votes,
    depth: usize,
) {
    let wanted = seen.wanted();
    if wanted.is_empty() {
        return;
    }
    let has = |members: &members::Members| {
        wanted.iter().filter(|name| members.names.contains(name.as_str())).count()
    };
    let best = members::all().iter().map(has).max().unwrap_or(0);
    let part = best as f64 / wanted.len() as f64;
    let named = seen.named() as f64;
    if best > 0 {
        let fitting = members::all().iter().filter(|members| has(members) == best);
        for (rank, members) in fitting.enumerate().take(6) {
            let shape = filled(facts, members::shape_of(members.class), seen, depth);
            let certainty = if part < 1.0 { part * 0.5 } else { 1.0 };
            // The table has the usual ones first.
            votes.add(shape, certainty * (1.0 + named.min(3.0)) / (1.0 + 0.5 * rank as f64));
        }
    }
    let called = facts.classes_called(name);
    let mut own: Vec<(f64, &str)> = facts
        .classes_with(&wanted)
        .into_iter()
        .filter_map(|class| {
            let shape = Shape::Instance(class.to_owned());
            let covered = members::coverage(facts, &shape, &wanted)?;
            let score = covered + if called.contains(&class) { 1.0 } else { 0.0 };
            let near = facts.nearness(&seen.module, class);
            (score >= 0.99 && named > 0.0 && near > 0.3).then_some((score * near, class))
        })
        .collect();
    own.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    for (rank, (score, class)) in own.into_iter().take(MAX_CLASSES).enumerate() {
        let weight = score * (0.8 + named.min(3.0)) / (1.0 + rank as f64);
        votes.add(Shape::Instance(class.to_owned()), weight);
    }
    if named > 0.0 || part < 1.0 {
        let weight = if part < 1.0 { 2.0 + named.min(3.0) } else { 0.8 };
        votes.add(duck(facts, seen, depth), weight);
    }
}

/// Shapes that operations alone make likely.
fn by_operations(facts: &Facts<'_>, seen: &Seen, votes: &mut Votes, depth: usize) {
    if !seen.keys.is_empty() {
        votes.add(record(facts, seen, depth), 3.0);
    }
    if seen.called {
        let returns = part(facts, seen, &Part::Returned, depth);
        votes.add(Shape::function(returns), 3.0);
    }
    if seen.awaited {
        votes.add(Shape::Awaitable(Box::new(part(facts, seen, &Part::Awaited, depth))), 3.0);
    }
    if seen.iterated_async {
        votes.add(Shape::AsyncIterator(Box::new(part(facts, seen, &Part::Item, depth))), 3.0);
    }
    if let Some(count) = seen.tuples {
        let items = (0..i64::from(count.min(8))).map(|index| {
            let at =
                seen.parts.get(&Part::Item).and_then(|item| item.parts.get(&Part::Index(index)));
            at.map_or(Shape::Any, |at| of(facts, at, "", depth + 1))
        });
        votes.add(Shape::list(Shape::Tuple(items.collect())), 2.5);
        if count == 2 {
            votes.add(Shape::Dict(Box::new(Shape::text()), Box::new(Shape::Any)), 0.5);
        }
    } else if seen.iterated {
        votes.add(Shape::list(part(facts, seen, &Part::Item, depth)), 1.5);
        votes.add(Shape::text(), 0.4);
    }
    if let Some(count) = seen.unpacked {
        let items =
            (0..i64::from(count.min(8))).map(|index| part(facts, seen, &Part::Index(index), depth));
        votes.add(Shape::Tuple(items.collect()), 2.5);
    }
    if !seen.indices.is_empty() || seen.subscript {
        let item = match seen.indices.first() {
            Some(index) => part(facts, seen, &Part::Index(*index), depth),
            None => part(facts, seen, &Part::Element, depth),
        };
        votes.add(Shape::list(item), 1.2);
        votes.add(Shape::text(), 0.6);
        if seen.subscript && !seen.slice {
            votes.add(Shape::Dict(Box::new(Shape::text()), Box::new(Shape::Any)), 0.6);
        }
    }
    if seen.slice {
        votes.add(Shape::text(), 1.0);
        votes.add(Shape::list(Shape::Any), 0.8);
        votes.add(Shape::Bytes, 0.4);
    }
    if seen.mapping {
        votes.add(Shape::Dict(Box::new(Shape::text()), Box::new(Shape::Any)), 2.0);
    }
    if seen.length {
        votes.add(Shape::list(Shape::Any), 0.5);
        votes.add(Shape::text(), 0.5);
    }
    if seen.arithmetic {
        votes.add(Shape::Int, 1.4);
        votes.add(Shape::Float, 1.0);
    }
    if seen.text {
        votes.add(Shape::text(), 2.0);
    }
    if seen.bytes {
        votes.add(Shape::Bytes, 2.0);
    }
    if seen.path {
        votes.add(Shape::Path { what: PathWhat::File, is_text: false }, 2.0);
    }
    let resolve = |name: &str| facts.reference(name);
    let literals = seen.method_texts.iter().filter_map(|(name, source)| {
        let value = python::value(source, &resolve)?;
        with_literal(name, &value)
    });
    let texts: Vec<Value> = literals.take(MAX_CHOICES).collect();
    if !texts.is_empty() {
        votes.add(Shape::OneOf(texts), 0.9);
    }
    for pattern in &seen.patterns {
        let bounds = Bounds { pattern: Some(pattern.clone()), ..Bounds::default() };
        votes.add(Shape::Bounded(Box::new(Shape::text()), bounds), 2.0);
    }
    if seen.contains {
        votes.add(Shape::list(Shape::Any), 0.5);
        votes.add(Shape::Dict(Box::new(Shape::text()), Box::new(Shape::Any)), 0.4);
    }
}

/// Text in which the method finds what it looks for.
fn with_literal(method: &str, literal: &Value) -> Option<Value> {
    let Value::Str(literal) = literal else { return None };
    let literal = literal.as_str().filter(|literal| literal.len() <= 40)?;
    Some(Value::from(match method {
        "split" | "rsplit" | "partition" | "rpartition" | "count" | "index" | "rindex" | "find"
        | "rfind" => format!("alpha{literal}beta"),
        "startswith" | "removeprefix" => format!("{literal}alpha"),
        "endswith" | "removesuffix" => format!("alpha{literal}"),
        _ => return None,
    }))
}

/// What it is compared with.
fn by_literals(facts: &Facts<'_>, seen: &Seen, votes: &mut Votes) {
    let resolve = |name: &str| facts.reference(name);
    let read = |source: &String| python::value(source, &resolve);
    let mut choices: Vec<Value> = Vec::new();
    for value in seen.equals.iter().filter_map(read) {
        // `x in ('a', 'b')` comes as one literal or as several.
        votes.add(literal::shape(&value), 0.8);
        choices.push(value);
    }
    choices.truncate(MAX_CHOICES);
    if !choices.is_empty() {
        votes.add(Shape::OneOf(choices), 1.2);
    }
    for literal in &seen.ordered {
        if let Some(value) = literal.as_ref().and_then(read) {
            votes.add(literal::shape(&value), 1.2);
        } else {
            votes.add(Shape::Int, 0.6);
            votes.add(Shape::Float, 0.3);
        }
    }
}

/// What the function takes there: from our table, or from the function itself.
fn passed_to(facts: &Facts<'_>, function: &str, argument: &str, depth: usize) -> Vec<Shape> {
    let Some(told) = facts.named(function) else {
        return functions::argument(facts, function, argument);
    };
    let params = &told.section.params;
    let index = match argument.parse::<usize>() {
        Ok(position) => (position < params.len()).then_some(position),
        Err(_) => params.iter().position(|param| param.name == argument),
    };
    let Some(index) = index else { return Vec::new() };
    let votes = param_votes(facts, told, index, depth + 1);
    votes.ranked().into_iter().take(3).map(|(shape, _)| shape).collect()
}

/// The likeliest shape of what is under a key.
pub(super) fn at_key(facts: &Facts<'_>, seen: &Seen, key: &str) -> Shape {
    part(facts, seen, &Part::Key(key.to_owned()), 0)
}

/// The likeliest shape of a part.
pub(super) fn part(facts: &Facts<'_>, seen: &Seen, wanted: &Part, depth: usize) -> Shape {
    let name = match wanted {
        Part::Attribute(name) | Part::Method(name) | Part::Key(name) => name.as_str(),
        _ => "",
    };
    seen.parts.get(wanted).map_or_else(
        || super::names::best(facts, name).unwrap_or(Shape::Any),
        |seen| of(facts, seen, name, depth + 1),
    )
}

/// The likeliest shape of something that is used like that.
fn of(facts: &Facts<'_>, seen: &Seen, name: &str, depth: usize) -> Shape {
    if depth > MAX_DEPTH {
        return Shape::Any;
    }
    let mut votes = Votes::default();
    vote(facts, seen, name, &mut votes, depth);
    super::names::vote(facts, name, &mut votes);
    votes.discount(facts, &seen.wanted());
    votes.ranked().into_iter().next().map_or(Shape::Any, |(shape, _)| shape)
}

/// Containers get the shape of what is done with their parts.
fn filled(facts: &Facts<'_>, shape: Shape, seen: &Seen, depth: usize) -> Shape {
    let item = || {
        let wanted = if seen.parts.contains_key(&Part::Item) { Part::Item } else { Part::Element };
        Box::new(part(facts, seen, &wanted, depth))
    };
    match shape {
        Shape::List(_) => Shape::List(item()),
        Shape::TupleOf(_) => Shape::TupleOf(item()),
        Shape::Set(_) => Shape::Set(item()),
        Shape::FrozenSet(_) => Shape::FrozenSet(item()),
        Shape::Dict(..) if !seen.keys.is_empty() => record(facts, seen, depth),
        Shape::Dict(key, _) => Shape::Dict(key, Box::new(part(facts, seen, &Part::Element, depth))),
        other => other,
    }
}

fn record(facts: &Facts<'_>, seen: &Seen, depth: usize) -> Shape {
    let field = |name: &String| Field {
        name: name.clone(),
        shape: part(facts, seen, &Part::Key(name.clone()), depth),
        required: true,
    };
    Shape::Record(seen.keys.iter().map(field).collect())
}

/// An object made for the occasion.
fn duck(facts: &Facts<'_>, seen: &Seen, depth: usize) -> Shape {
    let method =
        |name: &String| (name.clone(), part(facts, seen, &Part::Method(name.clone()), depth));
    let is_awaited = |name: &&String| {
        seen.parts.get(&Part::Method((*name).clone())).is_some_and(|returned| returned.awaited)
    };
    let attribute =
        |name: &String| (name.clone(), part(facts, seen, &Part::Attribute(name.clone()), depth));
    let indexed = seen.subscript || seen.slice || !seen.indices.is_empty() || !seen.keys.is_empty();
    let unwrapped = |(name, shape): (String, Shape)| match shape {
        Shape::Awaitable(inner) => (name, *inner),
        shape => (name, shape),
    };
    Shape::Duck(Box::new(Duck {
        attributes: seen.attributes.iter().map(attribute).collect(),
        methods: seen.methods.iter().filter(|name| !is_awaited(name)).map(method).collect(),
        async_methods: seen.methods.iter().filter(is_awaited).map(method).map(unwrapped).collect(),
        element: indexed.then(|| part(facts, seen, &Part::Element, depth)),
        item: (seen.iterated || seen.tuples.is_some())
            .then(|| part(facts, seen, &Part::Item, depth)),
        has_length: seen.length,
        returned: seen.called.then(|| part(facts, seen, &Part::Returned, depth)),
        entered: seen.entered,
        entered_async: seen.entered_async,
    }))
}
