//! Input after input: which ways there are, in which order, with which shares.
//!
//! Invariant: the same seed gives the same ones, and no two are alike.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use menace_model::Seed;

use super::{Guess, Input, Inputs, Named, Strategy};

/// So many inputs in a row that were there before: there are no others.
const MAX_REPEATS: usize = 40;

/// What an input is made by; the edges of types are a part of [`Strategy::Signature`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Way {
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
    pub(super) fn strategy(self) -> Strategy {
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

/// One of each to begin with, in the documented order: [`Strategy::ORDER`].
const OPENING: [Way; 9] = [
    Way::History,
    Way::Templates,
    Way::Signature,
    Way::Boundary,
    Way::Smart,
    Way::Synthetic,
    Way::Hostile,
    Way::Misuse,
    Way::Random,
];

/// What well-meaning callers pass from then on, over and over.
const CYCLE: [Way; 15] = [
    Way::History,
    Way::Templates,
    Way::Signature,
    Way::Related,
    Way::Smart,
    Way::Synthetic,
    Way::Signature,
    Way::Boundary,
    Way::Related,
    Way::Smart,
    Way::Synthetic,
    Way::Boundary,
    Way::Signature,
    Way::Related,
    Way::Random,
];

impl Inputs<'_> {
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
            Way::Synthetic => !self.examples.is_empty() || !self.written().is_empty(),
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
        let bad: Vec<Way> =
            bad.filter(|way| wanted(way) && (is_hostile || *way == Way::Misuse)).collect();
        let is_all_bad = self.settings.threat.share() >= 1.0 && !bad.is_empty();
        let is_there = |way: &Way| bad.contains(way) || !is_all_bad && good.contains(way);
        let opening = OPENING.into_iter().filter(is_there).collect();
        let plugged = self.settings.plugged.get(&self.section.id);
        let added = plugged.map_or(&[][..], |plugged| plugged.added.as_slice()).iter();
        Stream {
            inputs: self,
            seed,
            stubs,
            plugged: added.filter_map(|record| self.of_record(record, Strategy::Plugins)).collect(),
            dropped: plugged.map_or(&[], |plugged| plugged.dropped.as_slice()),
            templates,
            opening,
            good,
            bad,
            index: 0,
            bad_ones: 0,
            made: [0; 10],
            turns: [0; 2],
            is_dry: false,
            seen: HashSet::new(),
        }
    }
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
    /// One of each, before they come over and over.
    opening: VecDeque<Way>,
    good: Vec<Way>,
    bad: Vec<Way>,
    index: u64,
    /// How many of them were bad.
    bad_ones: u64,
    /// How many each way has made.
    made: [usize; 10],
    /// How many good and bad ones came after the opening.
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
        self.index += 1;
        if let Some(way) = self.opening.pop_front() {
            self.bad_ones += u64::from(way.strategy().is_bad());
            return way;
        }
        #[expect(clippy::cast_sign_loss, reason = "neither is negative")]
        let bad_by_now = (self.index as f64 * self.inputs.settings.threat.share()).floor() as u64;
        let is_bad = !self.bad.is_empty() && (bad_by_now > self.bad_ones || self.is_dry);
        self.bad_ones += u64::from(is_bad);
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
