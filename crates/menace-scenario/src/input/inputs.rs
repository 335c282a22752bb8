//! The inputs of one section: which ways there are, in which order, with which shares.

mod attack;
mod receiver;

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use menace_model::{
    FixtureFile, Fixtures, Hints, Intent, Outcome, Reference, Section, SectionId, SectionKind,
    Seed, Value,
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

/// So many inputs in a row that were there before: there are no others.
const MAX_REPEATS: usize = 40;

/// The first bad input comes at this turn at the latest, however low the intensity is.
const FIRST_BAD: u64 = 4;

/// A number that somebody may well count to.
pub(crate) const LARGEST_COUNT: i64 = 1_000_000;
/// Longer ones are messages.
const LONGEST_WORD: usize = 24;
/// With so many parameters more there are twice as many edges, and never more.
const MORE_EDGES: usize = 5;
/// So many declared shapes of a parameter have their edges tried.
const DECLARED: usize = 4;
/// Values of an optional parameter that are tried one by one, of so many of its shapes.
const MAX_CHOICES: usize = 6;
const MAX_SHAPES: usize = 4;

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

/// What an input is made by; the edges of types are a part of [`Strategy::Signature`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Way {
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

impl Way {
    fn strategy(self) -> Strategy {
        match self {
            Self::History => Strategy::History,
            Self::Templates => Strategy::Templates,
            Self::Signature | Self::Boundary | Self::Related => Strategy::Signature,
            Self::Smart => Strategy::Smart,
            Self::Synthetic => Strategy::Synthetic,
            Self::Random => Strategy::Random,
            Self::Hostile => Strategy::Hostile,
            Self::Misuse => Strategy::Misuse,
        }
    }
}

/// What well-meaning callers pass, over and over in this order.
const CYCLE: [Way; 15] = [
    Way::History,
    Way::Templates,
    Way::Signature,
    Way::Related,
    Way::Synthetic,
    Way::Signature,
    Way::Boundary,
    Way::Related,
    Way::Smart,
    Way::Synthetic,
    Way::Random,
    Way::Boundary,
    Way::Signature,
    Way::Related,
    Way::Smart,
];

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

/// A parameter at the edge of its type.
#[derive(Debug, Clone)]
struct Edge {
    param: usize,
    value: Value,
    files: Vec<FixtureFile>,
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

    /// Input after input, no two alike. The same seed gives the same ones.
    pub fn stream(&self, seed: Seed) -> Stream<'_> {
        let module = Some(self.told.module).filter(|module| !module.is_empty());
        let stubs = self.settings.stubs.iter().filter(|stub| stub.is_for(self.section, module));
        let stubs: Vec<Input> =
            stubs.filter_map(|stub| self.of_record(stub, Strategy::Stubs)).collect();
        let wanted = |way: &Way| {
            let chosen = &self.settings.strategies;
            chosen.is_empty() || chosen.contains(&way.strategy())
        };
        let templates: Vec<Input> = self
            .settings
            .templates
            .records(self.section, module)
            .filter_map(|record| self.of_record(record, Strategy::Templates))
            .collect();
        let has_any = |way: &Way| match way {
            Way::History => !self.settings.history.of(&self.section.id).is_empty(),
            Way::Templates => {
                let values =
                    |guess: &Guess| !self.settings.templates.values(&guess.name).is_empty();
                !templates.is_empty() || self.guesses.iter().any(values)
            }
            Way::Related => {
                let class = self.receiver.as_deref();
                class.is_some_and(|class| self.lessons.has_instances(class))
            }
            _ => true,
        };
        let mut good: Vec<Way> =
            CYCLE.into_iter().filter(|way| wanted(way) && has_any(way)).collect();
        if good.is_empty() {
            good = vec![Way::Signature];
        }
        // The intensity is the share of hostile inputs; of misuse there is always some.
        let is_hostile = self.settings.threat.share() > 0.0;
        let bad = [Way::Hostile, Way::Misuse].into_iter();
        let bad = bad.filter(|way| wanted(way) && (is_hostile || *way == Way::Misuse)).collect();
        let plugged = self.settings.plugged.get(&self.section.id);
        let added = plugged.map_or(&[][..], |plugged| plugged.added.as_slice()).iter();
        Stream {
            inputs: self,
            seed,
            stubs,
            plugged: added.filter_map(|record| self.of_record(record, Strategy::Plugins)).collect(),
            dropped: plugged.map_or(&[], |plugged| plugged.dropped.as_slice()),
            templates,
            good,
            bad,
            index: 0,
            made: [0; 10],
            turns: [0; 2],
            is_dry: false,
            seen: HashSet::new(),
        }
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

    fn made(&self, way: Way, turn: usize, seed: Seed, templates: &[Input]) -> Option<Input> {
        let mut maker = self.maker(seed);
        let strategy = way.strategy();
        match way {
            Way::History => {
                let kept = self.settings.history.of(&self.section.id).get(turn)?;
                return Some(Input {
                    receiver: kept.receiver.clone(),
                    args: kept.args.clone(),
                    kwargs: kept.kwargs.clone(),
                    fixtures: kept.fixtures(),
                    intent: kept.intent,
                    strategy,
                });
            }
            Way::Templates => {
                if let Some(input) = templates.get(turn) {
                    return Some(input.clone());
                }
                return self.by_parameters(maker, turn - templates.len());
            }
            Way::Synthetic => return self.example(maker, turn),
            Way::Boundary => return self.edge(maker, turn, Choice::TYPICAL),
            Way::Hostile => return self.hostile(maker, turn),
            Way::Misuse => return self.misuse(maker),
            Way::Related => return self.related(maker, turn),
            Way::Signature | Way::Smart | Way::Random => {}
        }
        let receiver = self.on(&mut maker, turn);
        let slots = match way {
            Way::Signature => self.signature(&mut maker, turn),
            Way::Smart => {
                let choice = Choice { style: Style::Smart, optional: 0.4, spread: true };
                maker.slots(&self.guesses, choice)
            }
            _ => {
                let choice = Choice { style: Style::Random, optional: 0.5, spread: true };
                maker.slots(&self.guesses, choice)
            }
        };
        let slots = self.agreeing(slots, receiver.as_ref(), &mut maker);
        let given = assembled(&self.guesses, slots);
        Some(Self::finished(maker, receiver, given, Intent::Valid, strategy))
    }

    /// The likeliest shapes first, then one other at a time, then other combinations.
    fn signature(&self, maker: &mut Maker<'_, '_>, turn: usize) -> Slots {
        match turn {
            0 => return maker.slots(&self.guesses, Choice::TYPICAL),
            1 => return maker.slots(&self.guesses, Choice::COMPLETE),
            _ => {}
        }
        let turn = turn - 2;
        if turn % 3 == 2
            && let Some((param, value)) = self.choices.get(turn / 3)
        {
            let mut slots = maker.slots(&self.guesses, Choice::TYPICAL);
            slots[*param] = Some(value.clone());
            return slots;
        }
        if turn % 3 != 2
            && let Some((param, rank)) = self.others.get(turn - turn / 3)
        {
            let mut slots = maker.slots(&self.guesses, Choice::TYPICAL);
            let guess = &self.guesses[*param];
            slots[*param] = Some(maker.make(&guess.shapes[*rank].0, &guess.name, Style::Typical));
            return slots;
        }
        let choice = Choice { style: Style::Typical, optional: 0.3, spread: true };
        maker.slots(&self.guesses, choice)
    }

    fn example(&self, mut maker: Maker<'_, '_>, turn: usize) -> Option<Input> {
        let written = self.settings.synthetic.get(&self.section.id).map_or(&[][..], Vec::as_slice);
        if let Some(record) = written.get(turn) {
            return self.of_record(record, Strategy::Synthetic);
        }
        let example = self.examples.get(turn - written.len())?;
        let receiver = match &example.receiver {
            Some(receiver) if self.receiver.is_some() => Some(receiver.clone()),
            _ => self.on(&mut maker, turn),
        };
        let slots = fitted(&self.guesses, example.args.clone(), example.kwargs.clone())?;
        let given = assembled(&self.guesses, slots);
        Some(Self::finished(maker, receiver, given, Intent::Valid, Strategy::Synthetic))
    }

    /// Edges of all parameters, in turns: so many for one parameter, and more for several. Where there
    /// are still more, those that tell most are always there, and the seed chooses among the others.
    pub fn at_edges(&self, count: usize, seed: Seed) -> Vec<Input> {
        let more = self.guesses.len().saturating_sub(1).min(MORE_EDGES);
        let count = count + count * more / MORE_EDGES;
        let edge = |turn: usize, choice| self.edge(self.maker(seed.nth(turn as u64)), turn, choice);
        let chosen = |count: usize| {
            let mut turns: Vec<usize> = (0..self.edges().len()).collect();
            if turns.len() > count {
                let mut others = turns.split_off(count / 2);
                seed.of("which").random().shuffle(&mut others);
                others.truncate(count - count / 2);
                others.sort_unstable();
                turns.extend(others);
            }
            turns
        };
        let made = |count: usize, choice| -> Vec<Input> {
            chosen(count).into_iter().filter_map(|turn| edge(turn, choice)).collect()
        };
        if !self.guesses.iter().any(|guess| guess.has_default) {
            return made(count, Choice::TYPICAL);
        }
        // With all that may be left out, too.
        let mut inputs = made(count * 2 / 3, Choice::TYPICAL);
        inputs.extend(made(count / 3, Choice::COMPLETE));
        inputs
    }

    fn edges(&self) -> &[Edge] {
        self.edges.get_or_init(|| {
            let mut lists = Vec::new();
            for (param, guess) in self.guesses.iter().enumerate() {
                // Parts of a variable number of arguments have edges of their own.
                let mut maker = self.maker(Seed(0));
                // All that was declared belongs to it; of guesses, only the best.
                let shapes = if guess.is_certain { DECLARED } else { 1 };
                let shapes = guess.shapes.iter().take(shapes);
                let values = shapes
                    .map(|(shape, _)| boundary::values(&mut maker, shape, &guess.name))
                    .collect();
                let values = boundary::interleaved(values);
                let values = values.into_iter().map(|value| in_place(guess.kind, value));
                let edge = |value| Edge { param, value, files: maker.files.clone() };
                lists.push(values.map(edge).collect::<Vec<_>>());
            }
            boundary::interleaved(lists)
        })
    }

    /// One parameter at its edge, the others as usual.
    fn edge(&self, mut maker: Maker<'_, '_>, turn: usize, others: Choice) -> Option<Input> {
        let edge = self.edges().get(turn)?;
        let receiver = self.on(&mut maker, turn);
        let mut slots = maker.slots(&self.guesses, others);
        // What comes before a positional argument has to be given too.
        let complete = maker.slots(&self.guesses, Choice::COMPLETE);
        for (slot, full) in slots.iter_mut().zip(complete).take(edge.param) {
            if slot.is_none()
                && self.guesses[edge.param].kind == menace_model::ParamKind::PositionalOnly
            {
                *slot = full;
            }
        }
        slots[edge.param] = Some(edge.value.clone());
        for file in &edge.files {
            if maker.files.iter().all(|known| known.path != file.path) {
                maker.files.push(file.clone());
            }
        }
        let given = assembled(&self.guesses, slots);
        Some(Self::finished(maker, receiver, given, Intent::Boundary, Strategy::Signature))
    }

    fn by_parameters(&self, mut maker: Maker<'_, '_>, turn: usize) -> Option<Input> {
        let values = |guess: &Guess| self.settings.templates.values(&guess.name);
        let most = self.guesses.iter().map(|guess| values(guess).len()).max()?;
        if turn >= most {
            return None;
        }
        let receiver = self.on(&mut maker, 0);
        let mut slots = maker.slots(&self.guesses, Choice::TYPICAL);
        for (guess, slot) in self.guesses.iter().zip(&mut slots) {
            let values = values(guess);
            if !values.is_empty() && !guess.is_variable() {
                *slot = values.get(turn % values.len()).cloned();
            }
        }
        let given = assembled(&self.guesses, slots);
        Some(Self::finished(maker, receiver, given, Intent::Valid, Strategy::Templates))
    }

    fn misuse(&self, mut maker: Maker<'_, '_>) -> Option<Input> {
        let receiver = self.on(&mut maker, 0);
        let choice = if maker.random.chance(0.5) { Choice::TYPICAL } else { Choice::COMPLETE };
        let slots = maker.slots(&self.guesses, choice);
        let class = self.receiver.as_ref().and_then(|class| self.facts.class(class));
        let methods = class
            .map_or(Vec::new(), |class| class.methods.iter().map(|it| it.name.as_str()).collect());
        let misuse = Misuse { guesses: &self.guesses, slots, receiver, methods };
        let (receiver, given) = misuse.made(self.settings.threat.mistakes(), &mut maker.random)?;
        Some(Self::finished(maker, receiver, given, Intent::Misuse, Strategy::Misuse))
    }

    fn of_record(&self, record: &Record, strategy: Strategy) -> Option<Input> {
        let slots = match record.slots(&self.guesses) {
            Ok(slots) => slots,
            Err(why) => {
                tracing::debug!(section = %self.section.id, "an input does not fit: {why}");
                return None;
            }
        };
        let mut maker = self.maker(Seed(0));
        let receiver = match &record.receiver {
            Some(receiver) => Some(receiver.clone()),
            None => self.on(&mut maker, 0),
        };
        let given = assembled(&self.guesses, slots);
        let mut input = Self::finished(maker, receiver, given, Intent::Valid, strategy);
        input.fixtures.environment.clone_from(&record.environment);
        Some(input)
    }
}

fn guesses(
    facts: &Facts<'_>,
    told: Told<'_>,
    class: Option<&str>,
    lessons: &Lessons,
) -> Vec<Guess> {
    let mut guesses = infer::guesses(facts, told, class);
    guesses.iter_mut().for_each(Guess::widen);
    lessons.adjust(facts, &told.section.id, &mut guesses);
    guesses
}

/// Parameter and rank of the shapes that are not the likeliest, the next likeliest first.
fn others(guesses: &[Guess]) -> Vec<(usize, usize)> {
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

/// What the source, or an exception, names as values of parameters that have a default.
fn choices(guesses: &[Guess]) -> Vec<(usize, Value)> {
    let mut found = Vec::new();
    for (index, guess) in guesses.iter().enumerate() {
        if !guess.has_default || guess.is_variable() {
            continue;
        }
        for (shape, _) in guess.shapes.iter().take(MAX_SHAPES) {
            if let Shape::OneOf(values) = shape.bare() {
                let values = values.iter().take(MAX_CHOICES).cloned();
                found.extend(values.map(|value| (index, value)));
            }
        }
    }
    found
}

/// Making an instance is how Python itself gets to a constructor.
fn is_constructor(section: &Section) -> bool {
    let name = section.id.qualname().rsplit('.').next().unwrap_or_default();
    matches!(name.split('#').next(), Some("__init__" | "__new__"))
}

/// The dotted name of the class around a method.
fn class_of(told: Told<'_>) -> Option<String> {
    if matches!(
        told.section.kind,
        SectionKind::Function | SectionKind::Nested | SectionKind::Module
    ) {
        return None;
    }
    let qualname = told.section.id.qualname();
    let class = qualname.rsplit_once('.').map(|(class, _)| class)?;
    // `C.size.setter` is about `C`.
    let class = match qualname.rsplit('.').next() {
        Some(name) if name.starts_with("setter") || name.starts_with("deleter") => {
            class.rsplit_once('.').map(|(class, _)| class)?
        }
        _ => class,
    };
    Some(if told.module.is_empty() { class.to_owned() } else { format!("{}.{class}", told.module) })
}

/// See [`Inputs::stream`].
#[derive(Debug)]
pub struct Stream<'a> {
    inputs: &'a Inputs<'a>,
    seed: Seed,
    stubs: Vec<Input>,
    plugged: VecDeque<Input>,
    /// What a plugin took out.
    dropped: &'a [Named],
    templates: Vec<Input>,
    good: Vec<Way>,
    bad: Vec<Way>,
    index: u64,
    /// How many each way has made.
    made: [usize; 10],
    /// How many good and bad ones there were.
    turns: [usize; 2],
    /// The good ways have nothing new any more.
    is_dry: bool,
    seen: HashSet<u64>,
}

impl Stream<'_> {
    /// Where the good ways have nothing new any more, bad ones follow, unless they are not wanted much.
    fn goes_on(&self) -> bool {
        !self.bad.is_empty() && self.inputs.settings.threat.share() > 0.0
    }

    /// Another one that was not there before; none after so many attempts.
    fn fresh(&mut self) -> Option<Input> {
        for _ in 0..MAX_REPEATS {
            let Some(input) = self.attempt() else { continue };
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

    fn next_way(&mut self) -> Way {
        let share = self.inputs.settings.threat.share();
        #[expect(clippy::cast_sign_loss, reason = "neither is negative")]
        let bad_before = |index: u64| (index as f64 * share).floor() as u64;
        let is_due = bad_before(self.index + 1) > bad_before(self.index)
            || (self.index + 1 == FIRST_BAD && bad_before(FIRST_BAD) == 0)
            || self.is_dry;
        let is_bad = !self.bad.is_empty() && is_due;
        self.index += 1;
        let ways = if is_bad { &self.bad } else { &self.good };
        let turn = &mut self.turns[usize::from(is_bad)];
        let way = ways[*turn % ways.len()];
        *turn += 1;
        way
    }

    fn attempt(&mut self) -> Option<Input> {
        if let Some(input) = self.plugged.pop_front() {
            return Some(input);
        }
        let way = self.next_way();
        let mut input = self.of(way);
        // A way that has nothing leaves its turn to the next.
        if input.is_none() && !way.strategy().is_bad() {
            input = self.of(Way::Signature);
        }
        input
    }

    fn is_dropped(&self, input: &Input) -> bool {
        !self.dropped.is_empty()
            && self.inputs.named(input).is_some_and(|named| self.dropped.contains(&named))
    }

    fn of(&mut self, way: Way) -> Option<Input> {
        let made = &mut self.made[way as usize];
        let turn = *made;
        *made += 1;
        let seed = self.seed.of(way.strategy().as_str()).nth(turn as u64);
        let seed = match way {
            Way::Boundary => seed.of("boundary"),
            Way::Related => seed.of("related"),
            _ => seed,
        };
        self.inputs.made(way, turn, seed, &self.templates)
    }
}

impl Iterator for Stream<'_> {
    type Item = Input;

    fn next(&mut self) -> Option<Input> {
        if !self.stubs.is_empty() || self.index == u64::MAX {
            self.index = u64::MAX;
            return if self.stubs.is_empty() { None } else { Some(self.stubs.remove(0)) };
        }
        let input = self.fresh();
        if input.is_some() || self.is_dry || !self.goes_on() {
            return input;
        }
        self.is_dry = true;
        self.fresh()
    }
}
