//! Weighted evidence for shapes, and the evidence that the name of a parameter gives.

use super::{ParamGuess, annotation, library};
use crate::input::name_topics::{NameTopic, TextRole, split_words};
use crate::input::repository_facts::RepositoryFacts;
use crate::input::shape::ValueShape;

#[derive(Debug, Default, Clone)]
pub(crate) struct ShapeVotes(Vec<(ValueShape, f64)>);

impl ShapeVotes {
    pub(crate) fn add_vote(&mut self, shape: ValueShape, weight: f64) {
        if let ValueShape::Union(shapes) = shape {
            for (rank, shape) in shapes.into_iter().enumerate() {
                self.add_vote(shape, weight / (1.0 + 0.3 * rank as f64));
            }
            return;
        }
        if shape == ValueShape::Any {
            return;
        }
        match self.0.iter_mut().find(|(known, _)| *known == shape) {
            Some((_, sum)) => *sum += weight,
            None => self.0.push((shape, weight)),
        }
    }

    /// Reduces the weight of shapes that lack a wanted member.
    pub(crate) fn discount(&mut self, facts: &RepositoryFacts<'_>, wanted: &[String]) {
        for (shape, weight) in &mut self.0 {
            if let Some(covered) = library::member_coverage(facts, shape, wanted) {
                *weight *= 0.1 + 0.9 * covered * covered;
            }
        }
    }

    /// The highest weight first; equal ones in the order in which they were added.
    pub(crate) fn into_ranked(mut self) -> Vec<(ValueShape, f64)> {
        // Votes for a container also count for the same container with known items.
        let all = self.0.clone();
        for (shape, weight) in &mut self.0 {
            *weight += all
                .iter()
                .filter(|(other, _)| other != shape && is_less_specific(other, shape))
                .map(|(_, weight)| weight)
                .sum::<f64>();
        }
        self.0.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Is the second shape the first one with more detail?
fn is_less_specific(one: &ValueShape, other: &ValueShape) -> bool {
    match (one, other) {
        (ValueShape::List(item), ValueShape::List(known)) => {
            **item == ValueShape::Any && **known != ValueShape::Any
        }
        (ValueShape::Dict(_, value), ValueShape::Dict(_, known)) => {
            **value == ValueShape::Any && **known != ValueShape::Any
        }
        (ValueShape::Dict(_, value), ValueShape::Record(_)) => **value == ValueShape::Any,
        (
            ValueShape::Str(None),
            ValueShape::Str(Some(_)) | ValueShape::Path { is_text: true, .. },
        ) => true,
        (
            ValueShape::Str(None),
            ValueShape::Bounded(inner, _) | ValueShape::WithTopic(_, inner),
        ) => {
            matches!(**inner, ValueShape::Str(_))
        }
        (ValueShape::TupleOf(item), ValueShape::Tuple(_)) => **item == ValueShape::Any,
        (ValueShape::Function { returns, .. }, ValueShape::Function { returns: known, .. }) => {
            **returns == ValueShape::Any && **known != ValueShape::Any
        }
        _ => false,
    }
}

/// Adds the votes of the name.
pub(crate) fn vote_by_name(facts: &RepositoryFacts<'_>, name: &str, votes: &mut ShapeVotes) {
    let Some(topic) = NameTopic::find_for_name(name) else { return };
    for (rank, kind) in topic.kinds.iter().enumerate() {
        let shape = annotation::shape_of_kind(facts, kind);
        votes.add_vote(shape, 1.6 / (1.0 + 0.6 * rank as f64));
    }
}

/// The likeliest shape for a name.
pub(crate) fn shape_for_name(facts: &RepositoryFacts<'_>, name: &str) -> Option<ValueShape> {
    let topic = NameTopic::find_for_name(name)?;
    topic.kinds.first().map(|kind| annotation::shape_of_kind(facts, kind))
}

/// Names without a meaning of their own; the name of the function may have one.
const VAGUE_NAMES: &str =
    "data text string s str value val v x arg input content raw buf source src";

/// `parse_date(data)` takes a date.
pub(crate) fn refine_by_function_name(guess: &mut ParamGuess, qualname: &str) {
    if guess.is_certain || !VAGUE_NAMES.split(' ').any(|vague| vague == guess.name) {
        return;
    }
    let function = qualname.rsplit('.').next().unwrap_or_default();
    let function = function.split('#').next().unwrap_or_default().to_lowercase();
    let role =
        TextRole::ALL.into_iter().filter(|role| !matches!(role, TextRole::Plain | TextRole::Path));
    // `parsedate` cannot be split into words; a short role would match anywhere.
    let is_about = |role: &TextRole| {
        let name = role.as_str();
        split_words(&function).iter().any(|word| word == name)
            || name.len() > 3 && function.contains(name)
    };
    let roles: Vec<TextRole> = role.filter(is_about).collect();
    let top = guess.shapes.first().map_or(1.0, |(_, weight)| *weight);
    for role in roles {
        guess.shapes.insert(0, (ValueShape::Str(Some(role)), top + 0.1));
    }
}
