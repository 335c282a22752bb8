//! The inputs of one section.
//!
//! | room | what is in it |
//! |---|---|
//! | `stream` | which ways there are, in which order, with which shares |
//! | `ways` | what each of them makes |
//! | `edges` | one parameter at the edge of its type |
//! | `attack` | what does harm |
//! | `receiver` | the instances that methods are called on |
//! | `guessing` | what is thought of parameters |

mod attack;
mod edges;
mod guessing;
mod receiver;
mod stream;
mod ways;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use menace_model::{
    Fixtures, Hints, Intent, Outcome, Reference, Section, SectionId, SectionKind, Seed, Value,
};

use super::dangers;
use super::drift::{self, Drift};
use super::facts::{Facts, Told};
use super::history::History;
use super::hostile::{self, Threat};
use super::infer::{self, Guess};
use super::learn::Lessons;
use super::make::arguments::{assembled, fitted, in_place};
use super::make::file::Content;
use super::make::{Choice, Given, Maker, Slots, Style};
use super::misuse::Misuse;
use super::plugged::{Named, Plugged, is_plain};
use super::records::Record;
use super::shape::Shape;
use super::strategy::Strategy;
use super::synthetic::{self, Example};
use super::templates::Templates;
use super::topic::{Role, role_of};
use super::{Input, boundary, mutate};
use crate::explore::network;

use edges::Edge;
use guessing::{choices, class_of, guesses, is_constructor, others};

pub use stream::Stream;

/// A number that somebody may well count to.
pub(crate) const LARGEST_COUNT: i64 = 1_000_000;
/// Longer ones are messages.
const LONGEST_WORD: usize = 24;

/// What the user wants of inputs.
#[derive(Debug, Clone)]
pub struct InputSettings {
    /// The ways to use; all of them, in their order, when there are none.
    pub strategies: Vec<Strategy>,
    pub threat: Threat,
    /// `SANDBOX_INPUT_STUBS`: nothing else is tried when one of them fits.
    pub stubs: Vec<Record>,
    pub history: History,
    pub templates: Templates,
    /// What a language model wrote.
    pub synthetic: BTreeMap<SectionId, Vec<Record>>,
    /// What plugins made of inputs that they were shown.
    pub plugged: BTreeMap<SectionId, Plugged>,
}

impl Default for InputSettings {
    fn default() -> Self {
        Self {
            strategies: Vec::new(),
            threat: Threat::new(0.5, 512 << 20),
            stubs: Vec::new(),
            history: History::default(),
            templates: Templates::default(),
            synthetic: BTreeMap::new(),
            plugged: BTreeMap::new(),
        }
    }
}

/// Makes inputs for one section.
#[derive(Debug)]
pub struct Inputs<'a> {
    section: &'a Section,
    told: Told<'a>,
    facts: &'a Facts<'a>,
    settings: &'a InputSettings,
    guesses: Vec<Guess>,
    /// The class whose instance the section is called on, when it needs one.
    receiver: Option<String>,
    content: Content,
    lessons: Arc<Lessons>,
    examples: Vec<Example>,
    /// Parameter and rank of the shapes that are not the likeliest, the next likeliest first.
    others: Vec<(usize, usize)>,
    /// Parameters that may be left out, and the values that they are known to take.
    choices: Vec<(usize, Value)>,
    edges: OnceCell<Vec<Edge>>,
}

impl<'a> Inputs<'a> {
    pub fn new(
        section: &'a Section,
        hints: &'a Hints,
        facts: &'a Facts<'a>,
        settings: &'a InputSettings,
    ) -> Self {
        let module = facts.section(&section.id).map_or("", |told| told.module);
        let told = Told { module, section, hints };
        let class = class_of(told);
        let guesses = guesses(facts, told, class.as_deref(), &Lessons::default());
        let resolve = |name: &str| {
            // Examples use names as they are known in their module.
            let own = (!name.contains('.')).then(|| format!("{module}.{name}"));
            own.filter(|own| facts.class(own).is_some() || facts.named(own).is_some())
                .and_then(|own| facts.reference(&own))
                .or_else(|| facts.reference(name))
        };
        let needs_receiver = matches!(section.kind, SectionKind::Method | SectionKind::Property)
            && !is_constructor(section);
        Self {
            section,
            told,
            facts,
            settings,
            receiver: class.filter(|_| needs_receiver),
            content: Content::of(section),
            lessons: Arc::default(),
            examples: synthetic::examples(section, hints, &resolve),
            others: others(&guesses),
            choices: choices(&guesses),
            guesses,
            edges: OnceCell::new(),
        }
    }

    /// Takes what was learnt from calls of this section and of others into account.
    pub fn hear(&mut self, lessons: &Arc<Lessons>) {
        self.guesses = guesses(self.facts, self.told, class_of(self.told).as_deref(), lessons);
        self.others = others(&self.guesses);
        self.choices = choices(&self.guesses);
        self.edges = OnceCell::new();
        self.lessons = Arc::clone(lessons);
    }

    /// Adds what came of one of these inputs to what is known.
    pub fn teach(&self, lessons: &mut Lessons, input: &Input, outcome: &Outcome) {
        lessons.note(self.facts, self.told, self.receiver.as_deref(), input, outcome);
    }

    /// Does the section talk to others?
    pub(crate) fn talk(&self) -> bool {
        network::is_used_by(self.section, self.facts)
    }

    /// The first inputs; fewer when there are no more different ones.
    pub fn take(&self, count: usize, seed: Seed) -> Vec<Input> {
        self.stream(seed).take(count).collect()
    }

    /// The first well-meant inputs of plain data, as plugins are shown them.
    pub fn shown(&self, count: usize, seed: Seed) -> Vec<Named> {
        let inputs = self.stream(seed).take(4 * count).filter(|input| !input.strategy.is_bad());
        inputs.filter_map(|input| self.named(&input)).take(count).collect()
    }

    /// The arguments by name, when all of them are plain data.
    fn named(&self, input: &Input) -> Option<Named> {
        let slots = fitted(&self.guesses, input.args.clone(), input.kwargs.clone())?;
        let named = self.guesses.iter().zip(slots);
        let named = named.filter_map(|(guess, slot)| Some((guess.name.clone(), slot?)));
        let named: Named = named.collect();
        named.iter().all(|(_, value)| is_plain(value)).then_some(named)
    }

    /// Every number as large as a count may be, all at once; none without numbers.
    pub fn largest(&self, seed: Seed) -> Option<Input> {
        let mut maker = self.maker(seed);
        let receiver = self.on(&mut maker, 0);
        let mut slots = maker.slots(&self.guesses, Choice::COMPLETE);
        let mut has_numbers = false;
        for (guess, slot) in self.guesses.iter().zip(&mut slots) {
            if *guess.best() == Shape::Int && !guess.is_variable() {
                *slot = Some(Value::Int(LARGEST_COUNT));
                has_numbers = true;
            }
        }
        let given = assembled(&self.guesses, slots);
        let input = Self::finished(maker, receiver, given, Intent::Boundary, Strategy::Signature);
        has_numbers.then_some(input)
    }

    /// Every text one of the words that the section and its class spell out, all at once: names that
    /// mean something there, and now and then the same one twice.
    pub fn of_words(&self, count: usize, seed: Seed) -> Vec<Input> {
        let own = self.told.hints.literals.strings.iter().map(String::as_str);
        let class = class_of(self.told).map(|class| self.facts.words_of(&class));
        let mut words: Vec<&str> = own.chain(class.into_iter().flatten()).collect();
        words.retain(|word| word.len() <= LONGEST_WORD && !word.contains(char::is_whitespace));
        words.sort_unstable();
        words.dedup();
        let is_text = |guess: &Guess| matches!(guess.best().bare(), Shape::Str(_));
        if words.is_empty() || !self.guesses.iter().any(is_text) {
            return Vec::new();
        }
        let mut inputs = Vec::new();
        for turn in 0..count as u64 {
            let mut maker = self.maker(seed.nth(turn));
            let receiver = self.on(&mut maker, 0);
            let mut slots = maker.slots(&self.guesses, Choice::TYPICAL);
            for (guess, slot) in self.guesses.iter().zip(&mut slots) {
                if is_text(guess) && slot.is_some() {
                    *slot = maker.random.pick(&words).map(|word| Value::from(*word));
                }
            }
            let given = assembled(&self.guesses, slots);
            inputs.push(Self::finished(maker, receiver, given, Intent::Valid, Strategy::Signature));
        }
        inputs
    }

    /// An input with one change, fed by what stands in the source.
    #[must_use]
    pub fn mutated(&self, input: &Input, seed: Seed) -> Input {
        let mut random = seed.random();
        let literals = &self.told.hints.literals;
        let mut new = input.clone();
        let has_arguments = !input.args.is_empty() || !input.kwargs.is_empty();
        match &input.receiver {
            Some(receiver) if !has_arguments || random.chance(0.2) => {
                new.receiver = Some(mutate::value(receiver, literals, &mut random));
            }
            _ => {
                (new.args, new.kwargs) =
                    mutate::arguments(&input.args, &input.kwargs, literals, &mut random);
            }
        }
        // A change may have taken what another part refers to.
        if Value::check_labels(new.values()).is_err() {
            return input.clone();
        }
        new.strategy = Strategy::Mutated;
        if new.intent == Intent::Valid {
            new.intent = Intent::Boundary;
        }
        new
    }

    /// The input as if the schema of its data had changed; none when it has none.
    pub fn drifted(&self, input: &Input, how: Drift, seed: Seed) -> Option<Input> {
        let mut random = seed.random();
        let mut new = input.clone();
        let mut changed = false;
        let kwargs = new.kwargs.iter_mut().map(|(_, value)| value);
        let is_record = |class: &Reference| self.facts.is_record(class);
        for value in new.args.iter_mut().chain(kwargs) {
            if let Some(other) = drift::value_with(value, how, &is_record, &mut random) {
                *value = other;
                changed = true;
            }
        }
        for file in &mut new.fixtures.files {
            let text = std::str::from_utf8(&file.content).ok();
            if let Some(other) = text.and_then(|text| drift::text(text, how, &mut random)) {
                file.content = other.into_bytes();
                changed = true;
            }
        }
        new.intent = Intent::Drifted;
        changed.then_some(new)
    }

    fn maker(&self, seed: Seed) -> Maker<'a, 'a> {
        let mut maker = Maker::new(self.facts, seed.random(), self.content);
        maker.lessons = Arc::clone(&self.lessons);
        maker
    }

    fn finished(
        maker: Maker<'_, '_>,
        receiver: Option<Value>,
        (args, kwargs): Given,
        intent: Intent,
        strategy: Strategy,
    ) -> Input {
        let fixtures = Fixtures { files: maker.files, environment: Vec::new() };
        Input { receiver, args, kwargs, fixtures, intent, strategy }
    }
}
