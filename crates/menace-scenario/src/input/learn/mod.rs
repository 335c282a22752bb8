//! What earlier calls taught: which values exceptions asked for, which instances could be made,
//! which calls returned.
//!
//! Pure: outcomes come from the caller. Invariant: the same outcomes in the same order teach the
//! same.

mod blame;
mod complaint;
mod making;
mod prose;
mod source;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;

use menace_model::{FixtureFile, Intent, Outcome, Random, SectionId, Stage, Value, Verdict};

use self::making::{call_of, character, parts};
use super::Input;
use super::facts::{Facts, Told};
use super::infer::{self, Guess};
use super::make::Given;
use super::shape::Shape;

/// Instances of a class that are remembered.
const MAX_INSTANCES: usize = 12;
/// Of them, such that were made in the same way.
const MAX_ALIKE: usize = 3;
/// Calls of a section that are remembered.
const MAX_CALLS: usize = 4;
/// Values made of more are not built upon.
const MAX_PARTS: usize = 60;

/// What is remembered, of all sections of a repository.
#[derive(Debug, Clone, Default)]
pub struct Lessons {
    wants: BTreeMap<SectionId, BTreeMap<String, Wants>>,
    /// By dotted name of the class.
    instances: BTreeMap<String, Vec<Instance>>,
    calls: BTreeMap<SectionId, Vec<Returned>>,
}

/// What exceptions asked for in place of a parameter.
#[derive(Debug, Clone, Default)]
struct Wants {
    shapes: Vec<(Shape, u32)>,
    members: Vec<String>,
    /// It has a default that does not do.
    is_needed: bool,
    /// A message names its value and no reason.
    is_refused: bool,
}

/// A way to an instance that worked.
#[derive(Debug, Clone)]
struct Instance {
    value: Value,
    files: Vec<FixtureFile>,
    returned: u32,
    failed: u32,
}

#[derive(Debug, Clone)]
struct Returned {
    given: Given,
    files: Vec<FixtureFile>,
    /// What it gave, by the name of its class.
    gave: String,
    /// How many items there were in it.
    length: Option<u64>,
}

impl Instance {
    /// What became of calls on it, from 0 to 1.
    fn worth(&self) -> f64 {
        f64::from(self.returned + 1) / f64::from(self.returned + self.failed + 2)
    }
}

impl Lessons {
    pub fn is_empty(&self) -> bool {
        self.wants.is_empty() && self.instances.is_empty() && self.calls.is_empty()
    }

    /// What came of an input of a section, whose receiver is an instance of `class`.
    pub(super) fn note(
        &mut self,
        facts: &Facts<'_>,
        told: Told<'_>,
        class: Option<&str>,
        input: &Input,
        outcome: &Outcome,
    ) {
        if !matches!(input.intent, Intent::Valid | Intent::Boundary) {
            return;
        }
        let returned = outcome.verdict == Verdict::Returned;
        if let (Some(class), Some(receiver), Stage::Call | Stage::Consume) =
            (class, &input.receiver, outcome.stage)
        {
            let value = match receiver {
                Value::After { value, .. } => value,
                value => value,
            };
            self.keep(class, value, &input.fixtures.files, returned);
        }
        if returned {
            self.keep_call(told, input, outcome);
            self.keep_result(facts, told, input, outcome);
        } else if let Some(raised) = &outcome.exception {
            if let Some(class) = class
                && matches!(outcome.stage, Stage::Call | Stage::Consume)
                && let Some(maker) = facts.constructor(class)
            {
                // `bad operation for mode 'r'`: the instance should have been made otherwise.
                for param in &maker.section.params {
                    if param.default.is_some() && value::mentions(&raised.message, &param.name) {
                        let wants = self.wants.entry(maker.section.id.clone()).or_default();
                        wants.entry(param.name.clone()).or_default().is_needed = true;
                    }
                }
            }
            let complaints = complaint::complaints(facts, raised);
            if complaints.is_empty() && outcome.stage == Stage::Call {
                for param in blame::quoted(told, input, &raised.message) {
                    let wants = self.wants.entry(told.section.id.clone()).or_default();
                    wants.entry(param.to_owned()).or_default().is_refused = true;
                }
            }
            for complaint in complaints {
                let places = blame::places(
                    facts,
                    told,
                    class,
                    input,
                    outcome.stage,
                    &complaint,
                    &raised.message,
                );
                for place in places {
                    self.want(place, &complaint);
                }
            }
        }
    }

    fn want(&mut self, place: blame::Place, complaint: &complaint::Complaint) {
        let wants = self.wants.entry(place.section).or_default().entry(place.param).or_default();
        wants.is_needed |= place.was_left_out;
        if let Some(member) = &complaint.member
            && place.inside.is_none()
            && !wants.members.contains(member)
        {
            wants.members.push(member.clone());
        }
        let counted = place.count.map(|count| Shape::Tuple(vec![Shape::text(); count]));
        let shapes = match &place.instead {
            Some(shape) => std::slice::from_ref(shape),
            None => &complaint.shapes,
        };
        for shape in shapes.iter().chain(&counted) {
            let shape = match &place.inside {
                Some(container) => container.of(shape.clone()),
                None => shape.clone(),
            };
            match wants.shapes.iter_mut().find(|(known, _)| *known == shape) {
                Some((_, count)) => *count += 1,
                None => wants.shapes.push((shape, 1)),
            }
        }
    }

    fn keep(&mut self, class: &str, value: &Value, files: &[FixtureFile], returned: bool) {
        let known = self.instances.entry(class.to_owned()).or_default();
        let at = known.iter().position(|known| known.value == *value).unwrap_or(known.len());
        if at == known.len() {
            if parts(value) > MAX_PARTS {
                return;
            }
            let files = files.to_vec();
            known.push(Instance { value: value.clone(), files, returned: 0, failed: 0 });
        }
        if returned {
            known[at].returned += 1;
        } else {
            known[at].failed += 1;
        }
        known.sort_by(|one, other| other.worth().total_cmp(&one.worth()));
        // What was made in another way may be good for other methods.
        let mut alike: BTreeMap<String, usize> = BTreeMap::new();
        known.retain(|known| {
            let count = alike.entry(character(&known.value)).or_default();
            *count += 1;
            *count <= MAX_ALIKE
        });
        known.truncate(MAX_INSTANCES);
    }

    fn keep_call(&mut self, told: Told<'_>, input: &Input, outcome: &Outcome) {
        let known = self.calls.entry(told.section.id.clone()).or_default();
        let given = (input.args.clone(), input.kwargs.clone());
        let size: usize = input.args.iter().map(parts).sum();
        if known.len() < MAX_CALLS
            && size <= MAX_PARTS
            && known.iter().all(|known| known.given != given)
        {
            let value = outcome.value.as_ref();
            let gave = value.map_or("NoneType", |value| value.kind.as_str());
            known.push(Returned {
                given,
                files: input.fixtures.files.clone(),
                gave: gave.rsplit('.').next().unwrap_or_default().to_owned(),
                length: value.and_then(|value| value.length),
            });
        }
    }

    /// What a call returned may be what another one needs.
    fn keep_result(&mut self, facts: &Facts<'_>, told: Told<'_>, input: &Input, outcome: &Outcome) {
        let Some(class) = outcome.value.as_ref().map(|value| value.kind.as_str()) else { return };
        if facts.class(class).is_none() {
            return;
        }
        if let Some(value) = call_of(told, input) {
            self.keep(class, &value, &input.fixtures.files, true);
        }
    }

    /// Puts what exceptions asked for before what was guessed; of what was declared, only what is of
    /// the same kind.
    pub(super) fn adjust(&self, facts: &Facts<'_>, section: &SectionId, guesses: &mut [Guess]) {
        let Some(params) = self.wants.get(section) else { return };
        let module = facts.section(section).map_or("", |told| told.module);
        for guess in guesses {
            let Some(wants) = params.get(&guess.name) else { continue };
            let known = guess.shapes.iter().find_map(|(shape, _)| match shape {
                Shape::Duck(duck) => Some(duck.with(&wants.members)),
                _ => None,
            });
            let mut wanted = infer::having(facts, module, &guess.name, &wants.members);
            // What was seen in the source and what was found missing belong to one thing.
            if let Some(duck) = known.filter(|_| !wants.members.is_empty()) {
                wanted.retain(|(shape, _)| !matches!(shape, Shape::Duck(_)));
                wanted.push((Shape::Duck(Box::new(duck)), 1.2));
            }
            wanted.extend(wants.shapes.iter().map(|(shape, count)| {
                let count = f64::from((*count).min(20));
                (shape.clone(), 0.5 + count / (count + 5.0))
            }));
            let top = guess.shapes.first().map_or(0.0, |(_, weight)| *weight);
            if wants.is_refused {
                // Values that the source names are less likely to be.
                let named = guess.shapes.iter().filter(|(it, _)| matches!(it, Shape::OneOf(_)));
                wanted.extend(named.map(|(shape, _)| (shape.clone(), 0.4)));
            }
            for (shape, weight) in wanted {
                if guess.is_certain && !guess.shapes.iter().any(|(known, _)| narrows(known, &shape))
                {
                    continue;
                }
                let weight = top + weight;
                match guess.shapes.iter_mut().find(|(known, _)| *known == shape) {
                    Some((_, own)) => *own = own.max(weight),
                    None => guess.shapes.push((shape, weight)),
                }
            }
            guess.shapes.sort_by(|(_, one), (_, other)| other.total_cmp(one));
            guess.is_needed |= wants.is_needed;
        }
    }

    /// An instance that could be made, and the files that it needs; the `turn`th best, or any.
    pub(super) fn instance(
        &self,
        class: &str,
        turn: Option<usize>,
        random: &mut Random,
    ) -> Option<(Value, &[FixtureFile])> {
        let known = self.instances.get(class)?;
        let chosen = match turn {
            Some(turn) => known.get(turn % known.len()),
            None => random.pick(known),
        };
        chosen.map(|known| (known.value.clone(), known.files.as_slice()))
    }

    pub(super) fn has_instances(&self, class: &str) -> bool {
        self.instances.contains_key(class)
    }

    /// Did methods complain about how instances of the class are made?
    pub(super) fn wants_others(&self, facts: &Facts<'_>, class: &str) -> bool {
        let params = facts.constructor(class).and_then(|told| self.wants.get(&told.section.id));
        params.is_some_and(|params| !params.is_empty())
    }

    pub(super) fn has_returned(&self, section: &SectionId) -> bool {
        self.calls.contains_key(section)
    }

    /// Arguments with which the section returned.
    pub(super) fn call(
        &self,
        section: &SectionId,
        random: &mut Random,
    ) -> Option<(Given, &[FixtureFile])> {
        let known = random.pick(self.calls.get(section)?)?;
        Some((known.given.clone(), known.files.as_slice()))
    }
}

/// Is everything of this shape also of the declared kind?
fn narrows(declared: &Shape, shape: &Shape) -> bool {
    match (declared.bare(), shape.bare()) {
        (Shape::Any, _) | (Shape::Dict(..), Shape::Record(_)) => true,
        (declared, Shape::OneOf(values)) => {
            values.iter().all(|value| narrows(declared, &infer::literal::shape(value)))
        }
        (declared, shape) => std::mem::discriminant(declared) == std::mem::discriminant(shape),
    }
}
