//! Learned hints: the values that exceptions required, the instances that could be constructed, and
//! the calls that returned.
//!
//! Pure: outcomes come from the caller. Invariant: the same outcomes in the same order give the
//! same hints.

mod attribution;
mod error_hints;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;

use menace_model::{
    CallStage, FixtureFile, InputIntent, Outcome, SectionId, SectionKind, SeededRng, Value, Verdict,
};

use self::value::{call_as_value, construction_signature, count_parts};
use super::CallInput;
use super::infer::{self, ParamGuess};
use super::make::CallArguments;
use super::name_topics::split_words;
use super::repository_facts::{RepositoryFacts, SectionContext};
use super::shape::ValueShape;

const MAX_INSTANCES_PER_CLASS: usize = 12;
/// The most instances that were constructed in the same way.
const MAX_SIMILAR_INSTANCES: usize = 3;
const MAX_CALLS_PER_SECTION: usize = 4;
/// Larger values are not stored.
const MAX_VALUE_PARTS: usize = 60;

/// The learned hints of all sections of a repository.
#[derive(Debug, Clone, Default)]
pub struct LearnedHints {
    param_hints: BTreeMap<SectionId, BTreeMap<String, LearnedParamHints>>,
    /// Working instances by dotted name of their class.
    instances: BTreeMap<String, Vec<ProvenInstance>>,
    calls: BTreeMap<SectionId, Vec<ReturnedCall>>,
}

/// Hints about a parameter from exceptions.
#[derive(Debug, Clone, Default)]
struct LearnedParamHints {
    shapes: Vec<(ValueShape, u32)>,
    members: Vec<String>,
    /// Calls without it failed although it has a default.
    is_required: bool,
    /// A message quotes its value without a reason.
    is_value_rejected: bool,
}

/// A value that constructs an instance, with the results of calls on it.
#[derive(Debug, Clone)]
struct ProvenInstance {
    value: Value,
    files: Vec<FixtureFile>,
    returned: u32,
    failed: u32,
}

#[derive(Debug, Clone)]
struct ReturnedCall {
    arguments: CallArguments,
    files: Vec<FixtureFile>,
    /// Class of its result.
    result_class: String,
    /// Number of items of its result.
    length: Option<u64>,
}

impl ProvenInstance {
    /// Share of calls on it that returned, from 0 to 1.
    fn success_rate(&self) -> f64 {
        f64::from(self.returned + 1) / f64::from(self.returned + self.failed + 2)
    }
}

impl LearnedHints {
    pub fn is_empty(&self) -> bool {
        self.param_hints.is_empty() && self.instances.is_empty() && self.calls.is_empty()
    }

    /// Records the outcome of an input of a section whose receiver is an instance of `class`.
    pub(super) fn record_outcome(
        &mut self,
        facts: &RepositoryFacts<'_>,
        context: SectionContext<'_>,
        class: Option<&str>,
        input: &CallInput,
        outcome: &Outcome,
    ) {
        if !matches!(input.intent, InputIntent::Valid | InputIntent::Boundary) {
            return;
        }
        let returned = outcome.verdict == Verdict::Returned;
        if let (Some(class), Some(receiver), CallStage::Call | CallStage::Consume) =
            (class, &input.receiver, outcome.stage)
        {
            let value = match receiver {
                Value::After { value, .. } => value,
                value => value,
            };
            self.keep_instance(class, value, &input.fixtures.files, returned);
        }
        if returned {
            self.keep_call(context, input, outcome);
            self.keep_result(facts, context, input, outcome);
        } else if let Some(raised) = &outcome.exception {
            if let Some(class) = class
                && matches!(outcome.stage, CallStage::Call | CallStage::Consume)
                && let Some(maker) = facts.constructor(class)
            {
                // `bad operation for mode 'r'`: the instance needs another constructor argument.
                for param in &maker.section.params {
                    if param.default.is_some() && value::mentions_name(&raised.message, &param.name)
                    {
                        let hints = self.param_hints.entry(maker.section.id.clone()).or_default();
                        hints.entry(param.name.clone()).or_default().is_required = true;
                    }
                }
            }
            let error_hints = self::error_hints::parse_hints(facts, raised);
            if error_hints.is_empty() && outcome.stage == CallStage::Call {
                for param in attribution::params_quoted_in(context, input, &raised.message) {
                    let hints = self.param_hints.entry(context.section.id.clone()).or_default();
                    hints.entry(param.to_owned()).or_default().is_value_rejected = true;
                }
            }
            for hint in error_hints {
                let places = attribution::attribute_to_params(
                    facts,
                    context,
                    class,
                    input,
                    outcome.stage,
                    &hint,
                    &raised.message,
                );
                for place in places {
                    self.add_param_hint(place, &hint);
                }
            }
        }
    }

    fn add_param_hint(
        &mut self,
        place: attribution::AttributedParam,
        hint: &self::error_hints::ErrorHint,
    ) {
        let hints =
            self.param_hints.entry(place.section).or_default().entry(place.param).or_default();
        hints.is_required |= place.was_left_out;
        if let Some(member) = &hint.missing_member
            && place.container.is_none()
            && !hints.members.contains(member)
        {
            hints.members.push(member.clone());
        }
        let counted =
            place.count.map(|count| ValueShape::Tuple(vec![ValueShape::any_text(); count]));
        let shapes = match &place.replacement_shape {
            Some(shape) => std::slice::from_ref(shape),
            None => &hint.shapes,
        };
        for shape in shapes.iter().chain(&counted) {
            let shape = match &place.container {
                Some(container) => container.container_of(shape.clone()),
                None => shape.clone(),
            };
            match hints.shapes.iter_mut().find(|(known, _)| *known == shape) {
                Some((_, count)) => *count += 1,
                None => hints.shapes.push((shape, 1)),
            }
        }
    }

    fn keep_instance(&mut self, class: &str, value: &Value, files: &[FixtureFile], returned: bool) {
        let known = self.instances.entry(class.to_owned()).or_default();
        let at = known.iter().position(|known| known.value == *value).unwrap_or(known.len());
        if at == known.len() {
            if count_parts(value) > MAX_VALUE_PARTS {
                return;
            }
            let files = files.to_vec();
            known.push(ProvenInstance { value: value.clone(), files, returned: 0, failed: 0 });
        }
        if returned {
            known[at].returned += 1;
        } else {
            known[at].failed += 1;
        }
        known.sort_by(|one, other| other.success_rate().total_cmp(&one.success_rate()));
        // An instance that was constructed differently may suit other methods.
        let mut alike: BTreeMap<String, usize> = BTreeMap::new();
        known.retain(|known| {
            let count = alike.entry(construction_signature(&known.value)).or_default();
            *count += 1;
            *count <= MAX_SIMILAR_INSTANCES
        });
        known.truncate(MAX_INSTANCES_PER_CLASS);
    }

    fn keep_call(&mut self, context: SectionContext<'_>, input: &CallInput, outcome: &Outcome) {
        let known = self.calls.entry(context.section.id.clone()).or_default();
        let arguments = (input.args.clone(), input.kwargs.clone());
        let size: usize = input.args.iter().map(count_parts).sum();
        if known.len() < MAX_CALLS_PER_SECTION
            && size <= MAX_VALUE_PARTS
            && known.iter().all(|known| known.arguments != arguments)
        {
            let value = outcome.value.as_ref();
            let result_class = value.map_or("NoneType", |value| value.kind.as_str());
            known.push(ReturnedCall {
                arguments,
                files: input.fixtures.files.clone(),
                result_class: result_class.rsplit('.').next().unwrap_or_default().to_owned(),
                length: value.and_then(|value| value.length),
            });
        }
    }

    /// A result of a class of the repository can be an argument of other calls.
    fn keep_result(
        &mut self,
        facts: &RepositoryFacts<'_>,
        context: SectionContext<'_>,
        input: &CallInput,
        outcome: &Outcome,
    ) {
        let Some(class) = outcome.value.as_ref().map(|value| value.kind.as_str()) else { return };
        if facts.class(class).is_none() {
            return;
        }
        if let Some(value) = call_as_value(context, input) {
            self.keep_instance(class, &value, &input.fixtures.files, true);
        }
    }

    /// Puts the shapes that exceptions required before the guessed ones; for declared parameters
    /// only narrower shapes.
    pub(super) fn apply_to_guesses(
        &self,
        facts: &RepositoryFacts<'_>,
        section: &SectionId,
        guesses: &mut [ParamGuess],
    ) {
        let Some(params) = self.param_hints.get(section) else { return };
        let module = facts.section(section).map_or("", |context| context.module);
        for guess in guesses {
            let Some(hints) = params.get(&guess.name) else { continue };
            let known = guess.shapes.iter().find_map(|(shape, _)| match shape {
                ValueShape::Duck(duck) => Some(duck.with_members(&hints.members)),
                _ => None,
            });
            let mut wanted = infer::shapes_with_members(facts, module, &guess.name, &hints.members);
            // Members that the source uses and members that were missing belong to one object.
            if let Some(duck) = known.filter(|_| !hints.members.is_empty()) {
                wanted.retain(|(shape, _)| !matches!(shape, ValueShape::Duck(_)));
                wanted.push((ValueShape::Duck(Box::new(duck)), 1.2));
            }
            wanted.extend(hints.shapes.iter().map(|(shape, count)| {
                let count = f64::from((*count).min(20));
                (shape.clone(), 0.5 + count / (count + 5.0))
            }));
            let top = guess.shapes.first().map_or(0.0, |(_, weight)| *weight);
            if hints.is_value_rejected {
                // Literals of the source are less likely to be rejected.
                let named =
                    guess.shapes.iter().filter(|(it, _)| matches!(it, ValueShape::OneOf(_)));
                wanted.extend(named.map(|(shape, _)| (shape.clone(), 0.4)));
            }
            for (shape, weight) in wanted {
                if guess.is_certain
                    && !guess.shapes.iter().any(|(known, _)| is_narrower(known, &shape))
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
            guess.is_needed |= hints.is_required;
        }
    }

    /// An instance that worked, and the files that it needs; the `turn`th best, or a random one.
    pub(super) fn instance(
        &self,
        class: &str,
        turn: Option<usize>,
        random: &mut SeededRng,
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

    /// Whether exceptions of methods showed that instances of the class must be constructed
    /// differently.
    pub(super) fn needs_other_instances(&self, facts: &RepositoryFacts<'_>, class: &str) -> bool {
        let params =
            facts.constructor(class).and_then(|context| self.param_hints.get(&context.section.id));
        params.is_some_and(|params| !params.is_empty())
    }

    pub(super) fn has_returned(&self, section: &SectionId) -> bool {
        self.calls.contains_key(section)
    }

    /// Arguments with which the section returned.
    pub(super) fn returned_arguments(
        &self,
        section: &SectionId,
        random: &mut SeededRng,
    ) -> Option<(CallArguments, &[FixtureFile])> {
        let known = random.pick(self.calls.get(section)?)?;
        Some((known.arguments.clone(), known.files.as_slice()))
    }
}

/// Is every value of the shape also of the declared shape?
fn is_narrower(declared: &ValueShape, shape: &ValueShape) -> bool {
    match (declared.without_bounds(), shape.without_bounds()) {
        (ValueShape::Any, _) | (ValueShape::Dict(..), ValueShape::Record(_)) => true,
        (declared, ValueShape::OneOf(values)) => {
            values.iter().all(|value| is_narrower(declared, &infer::literal::literal_shape(value)))
        }
        (declared, shape) => std::mem::discriminant(declared) == std::mem::discriminant(shape),
    }
}

/// A method with a result.
#[derive(Debug)]
pub(crate) struct ResultSource<'a> {
    method: &'a str,
    is_property: bool,
    returned: &'a ReturnedCall,
}

impl ResultSource<'_> {
    pub(crate) fn files(&self) -> &[FixtureFile] {
        &self.returned.files
    }

    /// The result of the method on a value; of a list its first item.
    pub(crate) fn result_on(&self, on: Value) -> Value {
        let on = Box::new(on);
        let (name, args, kwargs) = if self.is_property {
            ("__getattribute__", vec![Value::from(self.method)], Vec::new())
        } else {
            let (args, kwargs) = self.returned.arguments.clone();
            (self.method, args, kwargs)
        };
        let result = Value::Method { on, name: name.to_owned(), args, kwargs };
        if self.returned.result_class == "list" {
            let (name, args) = ("__getitem__".to_owned(), vec![Value::Int(0)]);
            return Value::Method { on: Box::new(result), name, args, kwargs: Vec::new() };
        }
        result
    }
}

impl LearnedHints {
    /// Methods of a class whose results may fit a parameter of that name, the likeliest first.
    pub(in crate::input) fn result_sources<'a>(
        &'a self,
        facts: &RepositoryFacts<'a>,
        class: &str,
        but: &str,
        param: &str,
    ) -> Vec<ResultSource<'a>> {
        let methods = facts.class(class).map_or(&[][..], |class| &class.methods);
        let mut sources: Vec<(u8, ResultSource<'a>)> = Vec::new();
        for method in methods.iter().filter(|method| method.name != but) {
            let Some(context) = facts.method(class, &method.name) else { continue };
            let known = self.calls.get(&context.section.id).map_or(&[][..], Vec::as_slice);
            // Prefers the call with most items in its result.
            let best = known.iter().max_by_key(|known| known.length.unwrap_or(0));
            let Some(returned) = best.filter(|known| known.result_class != "NoneType") else {
                continue;
            };
            if context.section.is_async || context.section.is_generator {
                continue;
            }
            let is_property = context.section.kind == SectionKind::Property;
            let source = ResultSource { method: &method.name, is_property, returned };
            sources.push((name_affinity(&method.name, param), source));
        }
        sources.sort_by_key(|(affinity, _)| std::cmp::Reverse(*affinity));
        sources.into_iter().map(|(_, source)| source).collect()
    }
}

/// How similar the names of a method and a parameter are: `sections` and `section`, `getstate` and
/// `state`.
fn name_affinity(method: &str, param: &str) -> u8 {
    let (method, param) = (method.to_lowercase(), param.to_lowercase());
    if param.len() > 2 && method.contains(&param) {
        return 2;
    }
    let own = split_words(&param);
    u8::from(own.iter().any(|word| word.len() > 2 && method.contains(word.as_str())))
}
