//! From the name of a parameter to what it may be.

use super::annotation;
use super::votes::Votes;
use crate::input::facts::Facts;
use crate::input::shape::Shape;
use crate::input::topic::Topic;

/// Adds what the name tells to the votes.
pub(crate) fn vote(facts: &Facts<'_>, name: &str, votes: &mut Votes) {
    let Some(topic) = Topic::of(name) else { return };
    for (rank, kind) in topic.kinds.iter().enumerate() {
        let shape = annotation::kind(facts, kind);
        votes.add(shape, 1.6 / (1.0 + 0.6 * rank as f64));
    }
}

/// The likeliest shape of something with that name.
pub(crate) fn best(facts: &Facts<'_>, name: &str) -> Option<Shape> {
    let topic = Topic::of(name)?;
    topic.kinds.first().map(|kind| annotation::kind(facts, kind))
}
