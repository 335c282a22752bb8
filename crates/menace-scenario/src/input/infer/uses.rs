//! From the uses of a parameter in the body to its shape.

use menace_model::{ParamPart, Value};

use super::library;
use super::param_usage::ParamUsage;
use super::votes::ShapeVotes;
use super::{annotation, collect_param_votes, literal};
use crate::input::python;
use crate::input::repository_facts::RepositoryFacts;
use crate::input::shape::{DuckType, PathKind, RecordField, ValueBounds, ValueShape};

/// Depth to which parts of parts, and callees that receive the parameter, are followed.
pub(super) const MAX_USAGE_DEPTH: usize = 3;
pub(super) const MAX_CHOICES: usize = 12;
/// Classes of the repository that are tried because of their members.
const MAX_CLASSES: usize = 3;

/// Adds the votes of the uses.
pub(crate) fn vote_by_usage(
    facts: &RepositoryFacts<'_>,
    usage: &ParamUsage,
    name: &str,
    votes: &mut ShapeVotes,
    depth: usize,
) {
    for (rank, class) in usage.classes.iter().enumerate() {
        let shape =
            annotation::annotation_shape(facts, &menace_model::TypeExpr::Name(class.clone()));
        if shape != ValueShape::Any {
            votes.add_vote(shape, 2.5 - 0.2 * (rank.min(5) as f64));
        }
    }
    vote_by_members(facts, usage, name, votes, depth);
    vote_by_operations(facts, usage, votes, depth);
    vote_by_literals(facts, usage, votes);
    if depth < MAX_USAGE_DEPTH {
        for (function, argument) in &usage.passed_to {
            for (rank, shape) in
                shapes_of_callee_param(facts, function, argument, depth).into_iter().enumerate()
            {
                votes.add_vote(shape, 2.0 / (1.0 + rank as f64));
            }
        }
    }
    if usage.may_be_none {
        votes.add_vote(ValueShape::None, 0.3);
    }
}

/// Votes for classes that have the used members.
pub(crate) fn vote_by_members(
    facts: &RepositoryFacts<'_>,
    usage: &ParamUsage,
    name: &str,
    votes: &mut ShapeVotes,
    depth: usize,
) {
    let wanted = usage.required_members();
    if wanted.is_empty() {
        return;
    }
    let has = |members: &library::BuiltinMembers| {
        wanted.iter().filter(|name| members.names.contains(name.as_str())).count()
    };
    let best = library::builtin_classes().iter().map(has).max().unwrap_or(0);
    let part = best as f64 / wanted.len() as f64;
    let named = usage.named_member_count() as f64;
    if best > 0 {
        let fitting = library::builtin_classes().iter().filter(|members| has(members) == best);
        for (rank, members) in fitting.enumerate().take(6) {
            let shape = fill_container_shape(facts, library::shape_of(members.class), usage, depth);
            let certainty = if part < 1.0 { part * 0.5 } else { 1.0 };
            // The table has frequent classes first.
            votes.add_vote(shape, certainty * (1.0 + named.min(3.0)) / (1.0 + 0.5 * rank as f64));
        }
    }
    let called = facts.classes_named_like(name);
    let mut own: Vec<(f64, &str)> = facts
        .classes_with_members(&wanted)
        .into_iter()
        .filter_map(|class| {
            let shape = ValueShape::Instance(class.to_owned());
            let covered = library::member_coverage(facts, &shape, &wanted)?;
            let score = covered + if called.contains(&class) { 1.0 } else { 0.0 };
            let near = facts.class_likelihood(&usage.module, class);
            (score >= 0.99 && named > 0.0 && near > 0.3).then_some((score * near, class))
        })
        .collect();
    own.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    for (rank, (score, class)) in own.into_iter().take(MAX_CLASSES).enumerate() {
        let weight = score * (0.8 + named.min(3.0)) / (1.0 + rank as f64);
        votes.add_vote(ValueShape::Instance(class.to_owned()), weight);
    }
    if named > 0.0 || part < 1.0 {
        let weight = if part < 1.0 { 2.0 + named.min(3.0) } else { 0.8 };
        votes.add_vote(duck_shape(facts, usage, depth), weight);
    }
}

/// Votes of operations: subscripts, iteration, arithmetic, calls.
fn vote_by_operations(
    facts: &RepositoryFacts<'_>,
    usage: &ParamUsage,
    votes: &mut ShapeVotes,
    depth: usize,
) {
    if !usage.keys.is_empty() {
        votes.add_vote(record_shape(facts, usage, depth), 3.0);
    }
    if usage.is_called {
        let returns = shape_of_part(facts, usage, &ParamPart::Returned, depth);
        votes.add_vote(ValueShape::function_returning(returns), 3.0);
    }
    if usage.is_awaited {
        votes.add_vote(
            ValueShape::Awaitable(Box::new(shape_of_part(
                facts,
                usage,
                &ParamPart::Awaited,
                depth,
            ))),
            3.0,
        );
    }
    if usage.is_iterated_async {
        votes.add_vote(
            ValueShape::AsyncIterator(Box::new(shape_of_part(
                facts,
                usage,
                &ParamPart::Item,
                depth,
            ))),
            3.0,
        );
    }
    if let Some(count) = usage.tuples {
        let items = (0..i64::from(count.min(8))).map(|index| {
            let at = usage
                .parts
                .get(&ParamPart::Item)
                .and_then(|item| item.parts.get(&ParamPart::Index(index)));
            at.map_or(ValueShape::Any, |at| likeliest_shape(facts, at, "", depth + 1))
        });
        votes.add_vote(ValueShape::list_of(ValueShape::Tuple(items.collect())), 2.5);
        if count == 2 {
            votes.add_vote(
                ValueShape::Dict(Box::new(ValueShape::any_text()), Box::new(ValueShape::Any)),
                0.5,
            );
        }
    } else if usage.is_iterated {
        votes.add_vote(
            ValueShape::list_of(shape_of_part(facts, usage, &ParamPart::Item, depth)),
            1.5,
        );
        votes.add_vote(ValueShape::any_text(), 0.4);
    }
    if let Some(count) = usage.unpacked {
        let items = (0..i64::from(count.min(8)))
            .map(|index| shape_of_part(facts, usage, &ParamPart::Index(index), depth));
        votes.add_vote(ValueShape::Tuple(items.collect()), 2.5);
    }
    if !usage.indices.is_empty() || usage.is_subscripted {
        let item = match usage.indices.first() {
            Some(index) => shape_of_part(facts, usage, &ParamPart::Index(*index), depth),
            None => shape_of_part(facts, usage, &ParamPart::Element, depth),
        };
        votes.add_vote(ValueShape::list_of(item), 1.2);
        votes.add_vote(ValueShape::any_text(), 0.6);
        if usage.is_subscripted && !usage.is_sliced {
            votes.add_vote(
                ValueShape::Dict(Box::new(ValueShape::any_text()), Box::new(ValueShape::Any)),
                0.6,
            );
        }
    }
    if usage.is_sliced {
        votes.add_vote(ValueShape::any_text(), 1.0);
        votes.add_vote(ValueShape::list_of(ValueShape::Any), 0.8);
        votes.add_vote(ValueShape::Bytes, 0.4);
    }
    if usage.is_mapping {
        votes.add_vote(
            ValueShape::Dict(Box::new(ValueShape::any_text()), Box::new(ValueShape::Any)),
            2.0,
        );
    }
    if usage.has_length {
        votes.add_vote(ValueShape::list_of(ValueShape::Any), 0.5);
        votes.add_vote(ValueShape::any_text(), 0.5);
    }
    if usage.is_arithmetic {
        votes.add_vote(ValueShape::Int, 1.4);
        votes.add_vote(ValueShape::Float, 1.0);
    }
    if usage.is_text {
        votes.add_vote(ValueShape::any_text(), 2.0);
    }
    if usage.is_bytes {
        votes.add_vote(ValueShape::Bytes, 2.0);
    }
    if usage.is_path {
        votes.add_vote(ValueShape::Path { kind: PathKind::File, is_text: false }, 2.0);
    }
    let resolve = |name: &str| facts.reference(name);
    let literals = usage.method_texts.iter().filter_map(|(name, source)| {
        let value = python::parse_value(source, &resolve)?;
        text_matching_literal(name, &value)
    });
    let texts: Vec<Value> = literals.take(MAX_CHOICES).collect();
    if !texts.is_empty() {
        votes.add_vote(ValueShape::OneOf(texts), 0.9);
    }
    for pattern in &usage.patterns {
        let bounds = ValueBounds { pattern: Some(pattern.clone()), ..ValueBounds::default() };
        votes.add_vote(ValueShape::Bounded(Box::new(ValueShape::any_text()), bounds), 2.0);
    }
    if usage.is_membership_tested {
        votes.add_vote(ValueShape::list_of(ValueShape::Any), 0.5);
        votes.add_vote(
            ValueShape::Dict(Box::new(ValueShape::any_text()), Box::new(ValueShape::Any)),
            0.4,
        );
    }
}

/// A text in which the method finds the literal.
fn text_matching_literal(method: &str, literal: &Value) -> Option<Value> {
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

/// Votes of comparisons with literals.
fn vote_by_literals(facts: &RepositoryFacts<'_>, usage: &ParamUsage, votes: &mut ShapeVotes) {
    let resolve = |name: &str| facts.reference(name);
    let read = |source: &String| python::parse_value(source, &resolve);
    let mut choices: Vec<Value> = Vec::new();
    for value in usage.equals.iter().filter_map(read) {
        // `x in ('a', 'b')` is one literal or several.
        votes.add_vote(literal::literal_shape(&value), 0.8);
        choices.push(value);
    }
    choices.truncate(MAX_CHOICES);
    if !choices.is_empty() {
        votes.add_vote(ValueShape::OneOf(choices), 1.2);
    }
    for literal in &usage.ordered {
        if let Some(value) = literal.as_ref().and_then(read) {
            votes.add_vote(literal::literal_shape(&value), 1.2);
        } else {
            votes.add_vote(ValueShape::Int, 0.6);
            votes.add_vote(ValueShape::Float, 0.3);
        }
    }
}

/// Shapes of the parameter of a callee: from the repository, else from the table of library
/// functions.
fn shapes_of_callee_param(
    facts: &RepositoryFacts<'_>,
    function: &str,
    argument: &str,
    depth: usize,
) -> Vec<ValueShape> {
    let Some(context) = facts.section_named(function) else {
        return library::argument_shapes(facts, function, argument);
    };
    let params = &context.section.params;
    let index = match argument.parse::<usize>() {
        Ok(position) => (position < params.len()).then_some(position),
        Err(_) => params.iter().position(|param| param.name == argument),
    };
    let Some(index) = index else { return Vec::new() };
    let votes = collect_param_votes(facts, context, index, depth + 1);
    votes.into_ranked().into_iter().take(3).map(|(shape, _)| shape).collect()
}

pub(super) fn shape_at_key(
    facts: &RepositoryFacts<'_>,
    usage: &ParamUsage,
    key: &str,
) -> ValueShape {
    shape_of_part(facts, usage, &ParamPart::Key(key.to_owned()), 0)
}

pub(super) fn shape_of_part(
    facts: &RepositoryFacts<'_>,
    usage: &ParamUsage,
    wanted: &ParamPart,
    depth: usize,
) -> ValueShape {
    let name = match wanted {
        ParamPart::Attribute(name) | ParamPart::Method(name) | ParamPart::Key(name) => {
            name.as_str()
        }
        _ => "",
    };
    usage.parts.get(wanted).map_or_else(
        || super::votes::shape_for_name(facts, name).unwrap_or(ValueShape::Any),
        |seen| likeliest_shape(facts, seen, name, depth + 1),
    )
}

/// The likeliest shape of a value with these uses.
fn likeliest_shape(
    facts: &RepositoryFacts<'_>,
    usage: &ParamUsage,
    name: &str,
    depth: usize,
) -> ValueShape {
    if depth > MAX_USAGE_DEPTH {
        return ValueShape::Any;
    }
    let mut votes = ShapeVotes::default();
    vote_by_usage(facts, usage, name, &mut votes, depth);
    super::votes::vote_by_name(facts, name, &mut votes);
    votes.discount(facts, &usage.required_members());
    votes.into_ranked().into_iter().next().map_or(ValueShape::Any, |(shape, _)| shape)
}

/// Gives a container the item shapes that its parts are used as.
fn fill_container_shape(
    facts: &RepositoryFacts<'_>,
    shape: ValueShape,
    usage: &ParamUsage,
    depth: usize,
) -> ValueShape {
    let item = || {
        let wanted = if usage.parts.contains_key(&ParamPart::Item) {
            ParamPart::Item
        } else {
            ParamPart::Element
        };
        Box::new(shape_of_part(facts, usage, &wanted, depth))
    };
    match shape {
        ValueShape::List(_) => ValueShape::List(item()),
        ValueShape::TupleOf(_) => ValueShape::TupleOf(item()),
        ValueShape::Set(_) => ValueShape::Set(item()),
        ValueShape::FrozenSet(_) => ValueShape::FrozenSet(item()),
        ValueShape::Dict(..) if !usage.keys.is_empty() => record_shape(facts, usage, depth),
        ValueShape::Dict(key, _) => {
            ValueShape::Dict(key, Box::new(shape_of_part(facts, usage, &ParamPart::Element, depth)))
        }
        other => other,
    }
}

fn record_shape(facts: &RepositoryFacts<'_>, usage: &ParamUsage, depth: usize) -> ValueShape {
    let field = |name: &String| RecordField {
        name: name.clone(),
        shape: shape_of_part(facts, usage, &ParamPart::Key(name.clone()), depth),
        required: true,
    };
    ValueShape::Record(usage.keys.iter().map(field).collect())
}

/// The shape of a stub object with the used members.
fn duck_shape(facts: &RepositoryFacts<'_>, usage: &ParamUsage, depth: usize) -> ValueShape {
    let method = |name: &String| {
        (name.clone(), shape_of_part(facts, usage, &ParamPart::Method(name.clone()), depth))
    };
    let is_awaited = |name: &&String| {
        usage
            .parts
            .get(&ParamPart::Method((*name).clone()))
            .is_some_and(|returned| returned.is_awaited)
    };
    let attribute = |name: &String| {
        (name.clone(), shape_of_part(facts, usage, &ParamPart::Attribute(name.clone()), depth))
    };
    let indexed = usage.is_subscripted
        || usage.is_sliced
        || !usage.indices.is_empty()
        || !usage.keys.is_empty();
    let unwrapped = |(name, shape): (String, ValueShape)| match shape {
        ValueShape::Awaitable(inner) => (name, *inner),
        shape => (name, shape),
    };
    ValueShape::Duck(Box::new(DuckType {
        attributes: usage.attributes.iter().map(attribute).collect(),
        methods: usage.methods.iter().filter(|name| !is_awaited(name)).map(method).collect(),
        async_methods: usage.methods.iter().filter(is_awaited).map(method).map(unwrapped).collect(),
        element: indexed.then(|| shape_of_part(facts, usage, &ParamPart::Element, depth)),
        item: (usage.is_iterated || usage.tuples.is_some())
            .then(|| shape_of_part(facts, usage, &ParamPart::Item, depth)),
        has_length: usage.has_length,
        call_result: usage
            .is_called
            .then(|| shape_of_part(facts, usage, &ParamPart::Returned, depth)),
        is_context_manager: usage.is_entered,
        is_async_context_manager: usage.is_entered_async,
    }))
}
