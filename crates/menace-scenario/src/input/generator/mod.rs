//! The inputs of one section.
//!
//! | module | content |
//! |---|---|
//! | `stream` | which sources, in which order, with which shares |
//! | `sources` | what each source makes, boundary values included |
//! | `attack` | hostile inputs |
//! | `regex_attack` | texts that regular expressions search for long, in the places for texts |
//! | `receiver` | instances that methods are called on |

mod attack;
mod receiver;
mod regex_attack;
mod sources;
mod stream;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use menace_model::{
    CallFixtures, InputIntent, Outcome, PyReference, Section, SectionHints, SectionId, SectionKind,
    Seed, Value,
};
use sources::BoundaryValue;

use super::drift::{self, SchemaDrift};
use super::history::InputHistory;
use super::hostile::{self, ThreatIntensity};
use super::infer::{self, ParamGuess};
use super::learn::LearnedHints;
use super::make::arguments::{assemble_call, fit_to_params, wrap_variadic};
use super::make::file::FileContentKind;
use super::make::{ArgumentPolicy, ArgumentSlots, CallArguments, ValueMaker, ValueStyle};
use super::misuse::MisuseBuilder;
use super::name_topics::{TextRole, text_role};
use super::records::{InputRecord, InputTemplates, NamedArguments, PluginInputs, is_plain_data};
use super::repository_facts::{RepositoryFacts, SectionContext};
use super::shape::ValueShape;
use super::synthetic::{self, DocumentedCall};
use super::{CallInput, boundary, mutate};
use crate::input::network;
use menace_model::InputStrategy;

pub use regex_attack::GrowingInput;
pub use stream::InputStream;

/// The largest number that is a plausible count: a loop may run that often.
pub(crate) const MAX_PLAUSIBLE_COUNT: i64 = 1_000_000;
/// Longer literals are messages, not words.
const MAX_WORD_CHARS: usize = 24;

/// Settings of the user for inputs.
#[derive(Debug, Clone)]
pub struct InputSettings {
    /// The strategies to use; if empty, all of them in their default order.
    pub strategies: Vec<InputStrategy>,
    pub threat: ThreatIntensity,
    /// `SANDBOX_INPUT_STUBS`: if one of them fits, no other input is made.
    pub stubs: Vec<InputRecord>,
    pub history: InputHistory,
    pub templates: InputTemplates,
    /// Inputs that a language model wrote.
    pub synthetic: BTreeMap<SectionId, Vec<InputRecord>>,
    /// What plugins changed of the inputs that they were shown.
    pub plugin_inputs: BTreeMap<SectionId, PluginInputs>,
}

impl Default for InputSettings {
    fn default() -> Self {
        Self {
            strategies: Vec::new(),
            threat: ThreatIntensity::new(0.5, 512 << 20),
            stubs: Vec::new(),
            history: InputHistory::default(),
            templates: InputTemplates::default(),
            synthetic: BTreeMap::new(),
            plugin_inputs: BTreeMap::new(),
        }
    }
}

/// Makes inputs for one section.
#[derive(Debug)]
pub struct InputGenerator<'a> {
    section: &'a Section,
    context: SectionContext<'a>,
    facts: &'a RepositoryFacts<'a>,
    settings: &'a InputSettings,
    guesses: Vec<ParamGuess>,
    /// The class of the receiver, if the section needs one.
    receiver: Option<String>,
    file_content: FileContentKind,
    learned_hints: Arc<LearnedHints>,
    examples: Vec<DocumentedCall>,
    /// Parameter and rank of the shapes that are not the likeliest, the next likeliest first.
    alternative_shapes: Vec<(usize, usize)>,
    /// Optional parameters and values that they are known to accept.
    optional_values: Vec<(usize, Value)>,
    boundary_values: OnceCell<Vec<BoundaryValue>>,
}

impl<'a> InputGenerator<'a> {
    pub fn new(
        section: &'a Section,
        hints: &'a SectionHints,
        facts: &'a RepositoryFacts<'a>,
        settings: &'a InputSettings,
    ) -> Self {
        let module = facts.section(&section.id).map_or("", |context| context.module);
        let context = SectionContext { module, section, hints };
        let class = class_of(context);
        let guesses = guess_with_hints(facts, context, class.as_deref(), &LearnedHints::default());
        let resolve = |name: &str| {
            // Examples use names as they are known in their module.
            let own = (!name.contains('.')).then(|| format!("{module}.{name}"));
            own.filter(|own| facts.class(own).is_some() || facts.section_named(own).is_some())
                .and_then(|own| facts.reference(&own))
                .or_else(|| facts.reference(name))
        };
        let needs_receiver = matches!(section.kind, SectionKind::Method | SectionKind::Property)
            && !is_constructor(section);
        Self {
            section,
            context,
            facts,
            settings,
            receiver: class.filter(|_| needs_receiver),
            file_content: FileContentKind::for_section(section),
            learned_hints: Arc::default(),
            examples: synthetic::documented_calls(section, hints, &resolve),
            alternative_shapes: alternative_shapes(&guesses),
            optional_values: optional_values(&guesses),
            guesses,
            boundary_values: OnceCell::new(),
        }
    }

    /// Uses hints that calls of this and other sections gave.
    pub fn apply_hints(&mut self, learned_hints: &Arc<LearnedHints>) {
        self.guesses = guess_with_hints(
            self.facts,
            self.context,
            class_of(self.context).as_deref(),
            learned_hints,
        );
        self.alternative_shapes = alternative_shapes(&self.guesses);
        self.optional_values = optional_values(&self.guesses);
        self.boundary_values = OnceCell::new();
        self.learned_hints = Arc::clone(learned_hints);
    }

    /// Adds the outcome of an input to the hints.
    pub fn record_hints(
        &self,
        learned_hints: &mut LearnedHints,
        input: &CallInput,
        outcome: &Outcome,
    ) {
        learned_hints.record_outcome(
            self.facts,
            self.context,
            self.receiver.as_deref(),
            input,
            outcome,
        );
    }

    /// Does the section send requests, as far as its source shows?
    pub(crate) fn uses_network(&self) -> bool {
        network::section_uses_network(self.section, self.facts)
    }

    /// The first inputs of the stream; fewer when there are no more different ones.
    pub fn take(&self, count: usize, seed: Seed) -> Vec<CallInput> {
        self.stream(seed).take(count).collect()
    }

    /// The first valid inputs of plain data, as plugins are shown them.
    pub fn plugin_samples(&self, count: usize, seed: Seed) -> Vec<NamedArguments> {
        let inputs =
            self.stream(seed).take(4 * count).filter(|input| !input.strategy.is_adversarial());
        inputs.filter_map(|input| self.plain_named_arguments(&input)).take(count).collect()
    }

    /// The arguments by name, if all of them are plain data.
    fn plain_named_arguments(&self, input: &CallInput) -> Option<NamedArguments> {
        let slots = fit_to_params(&self.guesses, input.args.clone(), input.kwargs.clone())?;
        let named = self.guesses.iter().zip(slots);
        let named = named.filter_map(|(guess, slot)| Some((guess.name.clone(), slot?)));
        let named: NamedArguments = named.collect();
        named.iter().all(|(_, value)| is_plain_data(value)).then_some(named)
    }

    /// An input in which every integer is the largest plausible count; none without integers.
    pub fn largest_counts(&self, seed: Seed) -> Option<CallInput> {
        let mut maker = self.new_maker(seed);
        let receiver = self.make_receiver(&mut maker, 0);
        let mut slots = maker.make_slots(&self.guesses, ArgumentPolicy::COMPLETE);
        let mut has_numbers = false;
        for (guess, slot) in self.guesses.iter().zip(&mut slots) {
            if *guess.likeliest_shape() == ValueShape::Int && !guess.is_variable() {
                *slot = Some(Value::Int(MAX_PLAUSIBLE_COUNT));
                has_numbers = true;
            }
        }
        let call_args = assemble_call(&self.guesses, slots);
        let input = Self::finish_input(
            maker,
            receiver,
            call_args,
            InputIntent::Boundary,
            InputStrategy::Signature,
        );
        has_numbers.then_some(input)
    }

    /// Inputs in which every text is a word of the source of the section or its class. Such words
    /// have a meaning there, and sometimes two parameters get the same one.
    pub fn source_word_inputs(&self, count: usize, seed: Seed) -> Vec<CallInput> {
        let own = self.context.hints.literals.strings.iter().map(String::as_str);
        let class = class_of(self.context).map(|class| self.facts.class_literals(&class));
        let mut words: Vec<&str> = own.chain(class.into_iter().flatten()).collect();
        words.retain(|word| word.len() <= MAX_WORD_CHARS && !word.contains(char::is_whitespace));
        words.sort_unstable();
        words.dedup();
        let is_text = |guess: &ParamGuess| {
            matches!(guess.likeliest_shape().without_bounds(), ValueShape::Str(_))
        };
        if words.is_empty() || !self.guesses.iter().any(is_text) {
            return Vec::new();
        }
        let mut inputs = Vec::new();
        for turn in 0..count as u64 {
            let mut maker = self.new_maker(seed.derive_nth(turn));
            let receiver = self.make_receiver(&mut maker, 0);
            let mut slots = maker.make_slots(&self.guesses, ArgumentPolicy::TYPICAL);
            for (guess, slot) in self.guesses.iter().zip(&mut slots) {
                if is_text(guess) && slot.is_some() {
                    *slot = maker.random.pick(&words).map(|word| Value::from(*word));
                }
            }
            let call_args = assemble_call(&self.guesses, slots);
            inputs.push(Self::finish_input(
                maker,
                receiver,
                call_args,
                InputIntent::Valid,
                InputStrategy::Signature,
            ));
        }
        inputs
    }

    /// The input with one mutation that may use literals of the source.
    #[must_use]
    pub fn mutate_input(&self, input: &CallInput, seed: Seed) -> CallInput {
        let mut random = seed.rng();
        let literals = &self.context.hints.literals;
        let mut new = input.clone();
        let has_arguments = !input.args.is_empty() || !input.kwargs.is_empty();
        match &input.receiver {
            Some(receiver) if !has_arguments || random.chance(0.2) => {
                new.receiver = Some(mutate::mutate_value(receiver, literals, &mut random));
            }
            _ => {
                (new.args, new.kwargs) = mutate::mutate_call_arguments(
                    &input.args,
                    &input.kwargs,
                    literals,
                    &mut random,
                );
            }
        }
        // The mutation may have removed a labelled value.
        if Value::check_labels(new.all_values()).is_err() {
            return input.clone();
        }
        new.strategy = InputStrategy::Mutated;
        if new.intent == InputIntent::Valid {
            new.intent = InputIntent::Boundary;
        }
        new
    }

    /// The input with a drifted schema; none when it has no schema.
    pub fn drift_input(
        &self,
        input: &CallInput,
        how: SchemaDrift,
        seed: Seed,
    ) -> Option<CallInput> {
        let mut random = seed.rng();
        let mut new = input.clone();
        let mut changed = false;
        let kwargs = new.kwargs.iter_mut().map(|(_, value)| value);
        let is_record = |class: &PyReference| self.facts.is_record(class);
        for value in new.args.iter_mut().chain(kwargs) {
            if let Some(other) = drift::drift_value_with(value, how, &is_record, &mut random) {
                *value = other;
                changed = true;
            }
        }
        for file in &mut new.fixtures.files {
            let text = std::str::from_utf8(&file.content).ok();
            if let Some(other) = text.and_then(|text| drift::drift_text(text, how, &mut random)) {
                file.content = other.into_bytes();
                changed = true;
            }
        }
        new.intent = InputIntent::Drifted;
        changed.then_some(new)
    }

    fn new_maker(&self, seed: Seed) -> ValueMaker<'a, 'a> {
        let mut maker = ValueMaker::new(self.facts, seed.rng(), self.file_content);
        maker.learned_hints = Arc::clone(&self.learned_hints);
        maker
    }

    fn finish_input(
        maker: ValueMaker<'_, '_>,
        receiver: Option<Value>,
        (args, kwargs): CallArguments,
        intent: InputIntent,
        strategy: InputStrategy,
    ) -> CallInput {
        let fixtures = CallFixtures { files: maker.files, environment: Vec::new() };
        CallInput { receiver, args, kwargs, fixtures, intent, strategy }
    }
}

const MAX_CHOICES_PER_PARAM: usize = 6;
const MAX_SHAPES_PER_PARAM: usize = 4;

pub(super) fn guess_with_hints(
    facts: &RepositoryFacts<'_>,
    context: SectionContext<'_>,
    class: Option<&str>,
    learned_hints: &LearnedHints,
) -> Vec<ParamGuess> {
    let mut guesses = infer::guess_params(facts, context, class);
    guesses.iter_mut().for_each(ParamGuess::add_alternatives);
    learned_hints.apply_to_guesses(facts, &context.section.id, &mut guesses);
    guesses
}

/// Parameter and rank of the shapes that are not the likeliest, the next likeliest first.
pub(super) fn alternative_shapes(guesses: &[ParamGuess]) -> Vec<(usize, usize)> {
    let mut others: Vec<(usize, usize)> = guesses
        .iter()
        .enumerate()
        .filter(|(_, guess)| !guess.has_default && !guess.is_variable())
        .flat_map(|(index, guess)| (1..guess.shapes.len()).map(move |rank| (index, rank)))
        .collect();
    others.sort_by(|one, other| {
        let weight = |(index, rank): &(usize, usize)| guesses[*index].shapes[*rank].1;
        weight(other).total_cmp(&weight(one))
    });
    others
}

/// Values of optional parameters that the source or an exception names.
pub(super) fn optional_values(guesses: &[ParamGuess]) -> Vec<(usize, Value)> {
    let mut found = Vec::new();
    for (index, guess) in guesses.iter().enumerate() {
        if !guess.has_default || guess.is_variable() {
            continue;
        }
        for (shape, _) in guess.shapes.iter().take(MAX_SHAPES_PER_PARAM) {
            if let ValueShape::OneOf(values) = shape.without_bounds() {
                let values = values.iter().take(MAX_CHOICES_PER_PARAM).cloned();
                found.extend(values.map(|value| (index, value)));
            }
        }
    }
    found
}

/// A constructor is called by making an instance.
pub(super) fn is_constructor(section: &Section) -> bool {
    let name = section.id.qualname().rsplit('.').next().unwrap_or_default();
    matches!(name.split('#').next(), Some("__init__" | "__new__"))
}

/// The dotted name of the class that a method belongs to.
pub(super) fn class_of(context: SectionContext<'_>) -> Option<String> {
    if matches!(
        context.section.kind,
        SectionKind::Function | SectionKind::Nested | SectionKind::Module
    ) {
        return None;
    }
    let qualname = context.section.id.qualname();
    let class = qualname.rsplit_once('.').map(|(class, _)| class)?;
    // `C.size.setter` belongs to `C`.
    let class = match qualname.rsplit('.').next() {
        Some(name) if name.starts_with("setter") || name.starts_with("deleter") => {
            class.rsplit_once('.').map(|(class, _)| class)?
        }
        _ => class,
    };
    Some(if context.module.is_empty() {
        class.to_owned()
    } else {
        format!("{}.{class}", context.module)
    })
}
