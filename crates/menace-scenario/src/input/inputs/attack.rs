//! Inputs that are made to do harm, to the parameters of one section.

use menace_model::{Intent, ParamKind, Seed, Value};

use super::{Choice, Guess, Input, Inputs, Maker, Role, Shape, Strategy, assembled, in_place};
use super::{boundary, dangers, hostile, role_of};

/// So many attacks of one role on one parameter.
const TELLING: usize = 6;
/// And so many on each of so many texts inside of an object.
const TELLING_INSIDE: usize = 2;
const MAX_INSIDE: usize = 6;
/// So many patterns of the source are searched.
const MAX_PATTERNS: usize = 6;
/// How often a text that a pattern is searched in is made for that pattern.
const SEARCHED_SHARE: f64 = 0.3;

impl Inputs<'_> {
    /// Every text in turn, with what does harm to what the section does with texts and can be told
    /// from what comes of it; nothing where no threat is wanted.
    pub fn attacks(&self, seed: Seed) -> Vec<Input> {
        if self.settings.threat.share() <= 0.0 {
            return Vec::new();
        }
        let dangers = dangers::of(self.told.hints);
        let mut inputs = Vec::new();
        for (index, guess) in self.guesses.iter().enumerate() {
            if guess.is_variable() {
                continue;
            }
            if !takes_text(guess) {
                let bad = self.planted(guess.best(), &dangers, seed).into_iter();
                inputs.extend(bad.map(|value| self.attack(index, value, seed)));
                continue;
            }
            let named = role_of(&guess.name);
            let others = dangers.iter().copied().filter(|role| *role != named);
            for role in std::iter::once(named).chain(others) {
                for text in hostile::telling(role).take(TELLING) {
                    inputs.push(self.attack(index, Value::from(text), seed));
                    let is_read = matches!(role, Role::Code | Role::Command);
                    for prefix in dangers::prefixes(self.told.hints).filter(|_| is_read) {
                        let text = Value::from(format!("{prefix}{text}"));
                        inputs.push(self.attack(index, text, seed));
                    }
                }
            }
            let searched = self.searched(guess, 0).into_iter().take(TELLING);
            inputs.extend(searched.map(|text| self.attack(index, text, seed)));
        }
        if let Some(class) = &self.receiver {
            let instances = self.planted(&Shape::Instance(class.clone()), &dangers, seed);
            inputs.extend(instances.into_iter().map(|receiver| self.attack_on(receiver, seed)));
        }
        inputs
    }

    /// Objects of the shape, each with a text in it that does harm to what its field is for, or to what
    /// the section does with texts.
    fn planted(&self, shape: &Shape, dangers: &[Role], seed: Seed) -> Vec<Value> {
        let plant =
            |at, text: &str| hostile::planted(&mut self.maker(seed), shape, at, Value::from(text));
        let mut values = Vec::new();
        for at in 0..MAX_INSIDE {
            let Some((_, named)) = plant(at, "") else { break };
            let others = dangers.iter().copied().filter(|role| *role != named);
            for role in std::iter::once(named).chain(others) {
                let texts = hostile::telling(role).take(TELLING_INSIDE);
                values.extend(texts.filter_map(|text| Some(plant(at, text)?.0)));
            }
        }
        values
    }

    /// An instance that carries what does harm, and ordinary arguments.
    fn attack_on(&self, receiver: Value, seed: Seed) -> Input {
        let mut maker = self.maker(seed);
        let slots = maker.slots(&self.guesses, Choice::TYPICAL);
        let given = assembled(&self.guesses, slots);
        Self::finished(maker, Some(receiver), given, Intent::Hostile, Strategy::Hostile)
    }

    /// Texts that the patterns of the source search long in, those of the parameter first; of
    /// patterns that need a long text for it, when there is a size for one.
    fn searched(&self, guess: &Guess, size: u64) -> Vec<Value> {
        let own = guess.shapes.iter().filter_map(|(shape, _)| match shape {
            Shape::Bounded(_, bounds) => bounds.pattern.as_ref(),
            _ => None,
        });
        let mut patterns: Vec<&String> = Vec::new();
        for pattern in own.chain(&self.told.hints.literals.patterns) {
            if !patterns.contains(&pattern) {
                patterns.push(pattern);
            }
        }
        let texts = patterns.into_iter().take(MAX_PATTERNS);
        boundary::interleaved(texts.map(|pattern| hostile::searched(pattern, size)).collect())
    }

    fn attack(&self, param: usize, text: Value, seed: Seed) -> Input {
        let mut maker = self.maker(seed);
        let receiver = self.on(&mut maker, 0);
        let mut slots = maker.slots(&self.guesses, Choice::TYPICAL);
        slots[param] = Some(text);
        let given = assembled(&self.guesses, slots);
        Self::finished(maker, receiver, given, Intent::Hostile, Strategy::Hostile)
    }

    pub(super) fn hostile(&self, mut maker: Maker<'_, '_>, turn: usize) -> Option<Input> {
        let threat = self.settings.threat;
        let mut receiver = self.on(&mut maker, turn.min(1));
        let mut slots = maker.slots(&self.guesses, Choice::TYPICAL);
        // Each parameter has its turn, and so has the instance.
        let places = self.guesses.len() + usize::from(receiver.is_some());
        let mut order: Vec<usize> = (0..places).collect();
        order.rotate_left(turn % places.max(1));
        let most = if threat.severity() >= 3 && maker.random.chance(0.4) { 2 } else { 1 };
        let mut done = 0;
        for index in order {
            let Some(guess) = self.guesses.get(index) else {
                let bad = self.hostile_receiver(&mut maker);
                done += usize::from(bad.is_some());
                receiver = bad.or(receiver);
                if done == most {
                    break;
                }
                continue;
            };
            let shape = maker.shape_of(guess, maker_spreads(turn)).clone();
            // Of names that are passed on nobody knows a good one.
            let is_named = guess.kind == ParamKind::VarKeyword;
            if is_named && !matches!(shape, Shape::Record(_) | Shape::Dict(..)) {
                continue;
            }
            let mut bad = hostile::value(&mut maker, &shape, &guess.name, threat);
            if threat.severity() == 4 && !guess.is_variable() && takes_text(guess) {
                let searched = self.searched(guess, threat.size());
                if !searched.is_empty() && maker.random.chance(SEARCHED_SHARE) {
                    bad = maker.random.pick(&searched).cloned();
                }
            }
            let Some(bad) = bad else { continue };
            slots[index] = Some(in_place(guess.kind, bad));
            done += 1;
            if done == most {
                break;
            }
        }
        if done == 0 {
            return None;
        }
        let given = assembled(&self.guesses, slots);
        Some(Self::finished(maker, receiver, given, Intent::Hostile, Strategy::Hostile))
    }

    /// An instance that carries what does harm.
    fn hostile_receiver(&self, maker: &mut Maker<'_, '_>) -> Option<Value> {
        let class = Shape::Instance(self.receiver.clone()?);
        hostile::value(maker, &class, "", self.settings.threat)
    }
}

/// May it be a text?
fn takes_text(guess: &Guess) -> bool {
    let is_text = |(shape, _): &(Shape, f64)| {
        matches!(shape.bare(), Shape::Str(_) | Shape::OneOf(_) | Shape::Path { .. })
    };
    guess.shapes.iter().any(is_text)
}

/// The likeliest shape first, the others now and then.
fn maker_spreads(turn: usize) -> bool {
    turn % 3 == 2
}
