//! The stream of inputs: which sources, in which order, with which shares.
//!
//! Invariant: the same seed gives the same inputs, and no two are equal.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use menace_model::Seed;

use super::{CallInput, InputGenerator, InputStrategy, NamedArguments, ParamGuess};

/// After this many duplicates in a row the stream ends.
const MAX_DUPLICATES_IN_A_ROW: usize = 40;

/// The source of an input; boundary values belong to [`InputStrategy::Signature`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum InputSource {
    History,
    Templates,
    Signature,
    Boundary,
    Smart,
    Synthetic,
    Random,
    Hostile,
    Misuse,
    Related,
}

impl InputSource {
    pub(super) fn strategy(self) -> InputStrategy {
        match self {
            Self::History => InputStrategy::History,
            Self::Templates => InputStrategy::Templates,
            Self::Signature | Self::Boundary | Self::Related => InputStrategy::Signature,
            Self::Smart => InputStrategy::Smart,
            Self::Synthetic => InputStrategy::Synthetic,
            Self::Random => InputStrategy::Random,
            Self::Hostile => InputStrategy::Hostile,
            Self::Misuse => InputStrategy::Misuse,
        }
    }
}

/// The sources of the first inputs, one each, in the order of [`InputStrategy::DEFAULT_ORDER`].
const OPENING_SOURCES: [InputSource; 9] = [
    InputSource::History,
    InputSource::Templates,
    InputSource::Signature,
    InputSource::Boundary,
    InputSource::Smart,
    InputSource::Synthetic,
    InputSource::Hostile,
    InputSource::Misuse,
    InputSource::Random,
];

/// The sources of valid inputs after the first ones, repeated in this order; frequent ones give
/// more inputs.
const REPEATED_SOURCES: [InputSource; 15] = [
    InputSource::History,
    InputSource::Templates,
    InputSource::Signature,
    InputSource::Related,
    InputSource::Smart,
    InputSource::Synthetic,
    InputSource::Signature,
    InputSource::Boundary,
    InputSource::Related,
    InputSource::Smart,
    InputSource::Synthetic,
    InputSource::Boundary,
    InputSource::Signature,
    InputSource::Related,
    InputSource::Random,
];

impl InputGenerator<'_> {
    /// The inputs for a seed; no two are equal.
    pub fn stream(&self, seed: Seed) -> InputStream<'_> {
        let module = Some(self.context.module).filter(|module| !module.is_empty());
        let stubs = self.settings.stubs.iter().filter(|stub| stub.is_for(self.section, module));
        let stubs: Vec<CallInput> =
            stubs.filter_map(|stub| self.input_from_record(stub, InputStrategy::Stubs)).collect();
        let wanted = |source: &InputSource| {
            let chosen = &self.settings.strategies;
            chosen.is_empty() || chosen.contains(&source.strategy())
        };
        let templates: Vec<CallInput> = self
            .settings
            .templates
            .records(self.section, module)
            .filter_map(|record| self.input_from_record(record, InputStrategy::Templates))
            .collect();
        let has_any = |source: &InputSource| match source {
            InputSource::History => !self.settings.history.inputs_of(&self.section.id).is_empty(),
            InputSource::Templates => {
                let values = |guess: &ParamGuess| {
                    !self.settings.templates.parameter_values(&guess.name).is_empty()
                };
                !templates.is_empty() || self.guesses.iter().any(values)
            }
            InputSource::Related => {
                let class = self.receiver.as_deref();
                class.is_some_and(|class| self.learned_hints.has_instances(class))
            }
            InputSource::Synthetic => !self.examples.is_empty() || !self.model_records().is_empty(),
            _ => true,
        };
        let mut good: Vec<InputSource> = REPEATED_SOURCES
            .into_iter()
            .filter(|source| wanted(source) && has_any(source))
            .collect();
        if good.is_empty() {
            good = vec![InputSource::Signature];
        }
        // The threat intensity is the share of hostile inputs; some misuse is always made.
        let is_hostile = self.settings.threat.input_share() > 0.0;
        let bad = [InputSource::Hostile, InputSource::Misuse].into_iter();
        let bad: Vec<InputSource> = bad
            .filter(|source| wanted(source) && (is_hostile || *source == InputSource::Misuse))
            .collect();
        let is_all_bad = self.settings.threat.input_share() >= 1.0 && !bad.is_empty();
        let is_there =
            |source: &InputSource| bad.contains(source) || !is_all_bad && good.contains(source);
        let opening = OPENING_SOURCES.into_iter().filter(is_there).collect();
        let plugged = self.settings.plugin_inputs.get(&self.section.id);
        let added = plugged.map_or(&[][..], |plugged| plugged.added.as_slice()).iter();
        InputStream {
            inputs: self,
            seed,
            stubs,
            plugin_inputs: added
                .filter_map(|record| self.input_from_record(record, InputStrategy::Plugins))
                .collect(),
            dropped: plugged.map_or(&[], |plugged| plugged.dropped.as_slice()),
            templates,
            opening_sources: opening,
            valid_sources: good,
            adversarial_sources: bad,
            index: 0,
            adversarial_count: 0,
            made_per_source: [0; 10],
            turns: [0; 2],
            is_exhausted: false,
            seen: HashSet::new(),
        }
    }
}

/// See [`InputGenerator::stream`].
#[derive(Debug)]
pub struct InputStream<'a> {
    inputs: &'a InputGenerator<'a>,
    seed: Seed,
    stubs: Vec<CallInput>,
    plugin_inputs: VecDeque<CallInput>,
    /// Inputs that a plugin dropped.
    dropped: &'a [NamedArguments],
    templates: Vec<CallInput>,
    /// Sources of the opening that are left.
    opening_sources: VecDeque<InputSource>,
    valid_sources: Vec<InputSource>,
    adversarial_sources: Vec<InputSource>,
    index: u64,
    /// Number of hostile and misusing inputs.
    adversarial_count: u64,
    /// Number of inputs per source.
    made_per_source: [usize; 10],
    /// Number of valid and adversarial inputs after the opening.
    turns: [usize; 2],
    /// The valid sources have no new inputs.
    is_exhausted: bool,
    seen: HashSet<u64>,
}

impl InputStream<'_> {
    /// When the valid sources have no new inputs, adversarial ones follow, unless the intensity is
    /// 0.
    fn may_continue(&self) -> bool {
        !self.adversarial_sources.is_empty() && self.inputs.settings.threat.input_share() > 0.0
    }

    /// The next input that was not there before; none after too many duplicates.
    fn next_distinct(&mut self) -> Option<CallInput> {
        for _ in 0..MAX_DUPLICATES_IN_A_ROW {
            let Some(input) = self.try_next() else { continue };
            if self.is_dropped(&input) {
                continue;
            }
            let mut hasher = DefaultHasher::new();
            (&input.receiver, &input.args, &input.kwargs).hash(&mut hasher);
            if self.seen.insert(hasher.finish()) {
                return Some(input);
            }
        }
        None
    }

    fn next_source(&mut self) -> InputSource {
        self.index += 1;
        if let Some(source) = self.opening_sources.pop_front() {
            self.adversarial_count += u64::from(source.strategy().is_adversarial());
            return source;
        }
        #[expect(clippy::cast_sign_loss, reason = "neither is negative")]
        let bad_by_now =
            (self.index as f64 * self.inputs.settings.threat.input_share()).floor() as u64;
        let is_bad = !self.adversarial_sources.is_empty()
            && (bad_by_now > self.adversarial_count || self.is_exhausted);
        self.adversarial_count += u64::from(is_bad);
        let sources = if is_bad { &self.adversarial_sources } else { &self.valid_sources };
        let turn = &mut self.turns[usize::from(is_bad)];
        let source = sources[*turn % sources.len()];
        *turn += 1;
        source
    }

    fn try_next(&mut self) -> Option<CallInput> {
        if let Some(input) = self.plugin_inputs.pop_front() {
            return Some(input);
        }
        let source = self.next_source();
        let mut input = self.make_from(source);
        // A source without a further input leaves its turn to the signature.
        if input.is_none() && !source.strategy().is_adversarial() {
            input = self.make_from(InputSource::Signature);
        }
        input
    }

    fn is_dropped(&self, input: &CallInput) -> bool {
        !self.dropped.is_empty()
            && self
                .inputs
                .plain_named_arguments(input)
                .is_some_and(|named| self.dropped.contains(&named))
    }

    fn make_from(&mut self, source: InputSource) -> Option<CallInput> {
        let made = &mut self.made_per_source[source as usize];
        let turn = *made;
        *made += 1;
        let seed = self.seed.derive(source.strategy().as_str()).derive_nth(turn as u64);
        let seed = match source {
            InputSource::Boundary => seed.derive("boundary"),
            InputSource::Related => seed.derive("related"),
            _ => seed,
        };
        self.inputs.make_from_source(source, turn, seed, &self.templates)
    }
}

impl Iterator for InputStream<'_> {
    type Item = CallInput;

    fn next(&mut self) -> Option<CallInput> {
        if !self.stubs.is_empty() || self.index == u64::MAX {
            self.index = u64::MAX;
            return if self.stubs.is_empty() { None } else { Some(self.stubs.remove(0)) };
        }
        let input = self.next_distinct();
        if input.is_some() || self.is_exhausted || !self.may_continue() {
            return input;
        }
        self.is_exhausted = true;
        self.next_distinct()
    }
}
