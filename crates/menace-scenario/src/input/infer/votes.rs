//! Evidence for shapes, added up.

use super::members;
use crate::input::facts::Facts;
use crate::input::shape::Shape;

#[derive(Debug, Default, Clone)]
pub(crate) struct Votes(Vec<(Shape, f64)>);

impl Votes {
    pub(crate) fn add(&mut self, shape: Shape, weight: f64) {
        if let Shape::Union(shapes) = shape {
            for (rank, shape) in shapes.into_iter().enumerate() {
                self.add(shape, weight / (1.0 + 0.3 * rank as f64));
            }
            return;
        }
        if shape == Shape::Any {
            return;
        }
        // A container whose items are known is also evidence for one whose items are not.
        match self.0.iter_mut().find(|(known, _)| *known == shape) {
            Some((_, sum)) => *sum += weight,
            None => self.0.push((shape, weight)),
        }
    }

    /// Takes weight from what lacks something that is wanted.
    pub(crate) fn discount(&mut self, facts: &Facts<'_>, wanted: &[String]) {
        for (shape, weight) in &mut self.0 {
            if let Some(covered) = members::coverage(facts, shape, wanted) {
                *weight *= 0.1 + 0.9 * covered * covered;
            }
        }
    }

    /// The weightiest first; equal ones in the order in which they were added.
    pub(crate) fn ranked(mut self) -> Vec<(Shape, f64)> {
        // What is said about a kind of container counts for the one that says most.
        let all = self.0.clone();
        for (shape, weight) in &mut self.0 {
            *weight += all
                .iter()
                .filter(|(other, _)| other != shape && is_vaguer(other, shape))
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

/// Does the first say the same as the second, only less of it?
fn is_vaguer(one: &Shape, other: &Shape) -> bool {
    match (one, other) {
        (Shape::List(item), Shape::List(known)) => **item == Shape::Any && **known != Shape::Any,
        (Shape::Dict(_, value), Shape::Dict(_, known)) => {
            **value == Shape::Any && **known != Shape::Any
        }
        (Shape::Dict(_, value), Shape::Record(_)) => **value == Shape::Any,
        (Shape::Str(None), Shape::Str(Some(_)) | Shape::Path { is_text: true, .. }) => true,
        (Shape::Str(None), Shape::Bounded(inner, _) | Shape::About(_, inner)) => {
            matches!(**inner, Shape::Str(_))
        }
        (Shape::TupleOf(item), Shape::Tuple(_)) => **item == Shape::Any,
        (Shape::Function { returns, .. }, Shape::Function { returns: known, .. }) => {
            **returns == Shape::Any && **known != Shape::Any
        }
        _ => false,
    }
}
