//! From the name of a parameter to what it may be.

use super::Guess;
use super::annotation;
use super::votes::Votes;
use crate::input::facts::Facts;
use crate::input::shape::Shape;
use crate::input::topic::{Role, Topic, words};

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

/// Names that say nothing: what is meant is told by the function.
const VAGUE: &str = "data text string s str value val v x arg input content raw buf source src";

/// `parse_date(data)` takes a date, whatever else `data` may be.
pub(crate) fn by_function(guess: &mut Guess, qualname: &str) {
    if guess.is_certain || !VAGUE.split(' ').any(|vague| vague == guess.name) {
        return;
    }
    let function = qualname.rsplit('.').next().unwrap_or_default();
    let function = function.split('#').next().unwrap_or_default().to_lowercase();
    let role = Role::ALL.into_iter().filter(|role| !matches!(role, Role::Plain | Role::Path));
    // `parsedate` has no words; a short role would be found anywhere.
    let is_about = |role: &Role| {
        let name = role.as_str();
        words(&function).iter().any(|word| word == name)
            || name.len() > 3 && function.contains(name)
    };
    let roles: Vec<Role> = role.filter(is_about).collect();
    let top = guess.shapes.first().map_or(1.0, |(_, weight)| *weight);
    for role in roles {
        guess.shapes.insert(0, (Shape::Str(Some(role)), top + 0.1));
    }
}
