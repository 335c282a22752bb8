//! From guesses about parameters to the arguments of a call.

use menace_model::{ParamKind, Value};

use super::{Maker, Style};
use crate::input::infer::Guess;
use crate::input::shape::Shape;

/// How freely arguments are chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice {
    pub style: Style,
    /// How likely it is that a parameter with a default is given.
    pub optional: f64,
    /// Whether shapes other than the likeliest are tried.
    pub spread: bool,
}

impl Choice {
    pub(crate) const TYPICAL: Self = Self { style: Style::Typical, optional: 0.0, spread: false };
    pub(crate) const COMPLETE: Self = Self { style: Style::Typical, optional: 1.0, spread: false };
}

/// One value per parameter, where it is given.
pub(crate) type Slots = Vec<Option<Value>>;

/// What goes before, and what goes behind the `*`.
pub(crate) type Given = (Vec<Value>, Vec<(String, Value)>);

impl Maker<'_, '_> {
    pub(crate) fn slots(&mut self, guesses: &[Guess], choice: Choice) -> Slots {
        guesses.iter().map(|guess| self.slot(guess, choice)).collect()
    }

    fn slot(&mut self, guess: &Guess, choice: Choice) -> Option<Value> {
        let is_left_out = !guess.is_needed && (guess.has_default || guess.is_variable());
        if is_left_out && !self.random.chance(choice.optional) {
            return None;
        }
        let shape = self.shape_of(guess, choice.spread).clone();
        match guess.kind {
            ParamKind::VarPositional => {
                let item = match shape {
                    Shape::List(item) | Shape::TupleOf(item) if !guess.is_certain => *item,
                    shape => shape,
                };
                let count = 1 + self.random.below(2) as usize;
                Some(Value::List(self.several(&item, &guess.name, choice.style, count)))
            }
            ParamKind::VarKeyword => match shape {
                Shape::Record(_) => Some(self.make(&shape, &guess.name, choice.style)),
                // Names that nobody asks for are no typical input.
                Shape::Dict(_, item) if choice.style != Style::Typical => {
                    let value = self.make(&item, INVENTED, choice.style);
                    Some(in_place(guess.kind, value))
                }
                _ => None,
            },
            _ => Some(self.make(&shape, &guess.name, choice.style)),
        }
    }

    /// The likeliest shape or, when others are tried too, one by its weight.
    pub(crate) fn shape_of<'g>(&mut self, guess: &'g Guess, spread: bool) -> &'g Shape {
        if !spread || guess.shapes.len() == 1 {
            return guess.best();
        }
        // Flattened, so that the unlikely have their turn as well.
        let weight = |weight: f64| weight.max(0.05).sqrt();
        let total: f64 = guess.shapes.iter().map(|(_, own)| weight(*own)).sum();
        let mut at = self.random.unit() * total;
        for (shape, own) in &guess.shapes {
            at -= weight(*own);
            if at <= 0.0 {
                return shape;
            }
        }
        guess.best()
    }
}

/// A keyword that a function which takes any is given, when nobody knows one.
pub(crate) const INVENTED: &str = "extra";

/// One value for a parameter, as its slot holds it: a variable one has several.
pub(crate) fn in_place(kind: ParamKind, value: Value) -> Value {
    match (kind, value) {
        (ParamKind::VarPositional, value) => Value::List(vec![value]),
        (ParamKind::VarKeyword, value @ Value::Dict(_)) => value,
        (ParamKind::VarKeyword, value) => Value::Dict(vec![(Value::from(INVENTED), value)]),
        (_, value) => value,
    }
}

/// Puts values into the order of a call.
pub(crate) fn assembled(guesses: &[Guess], slots: Slots) -> Given {
    let (mut args, mut kwargs) = (Vec::new(), Vec::new());
    let mut contiguous = true;
    for (guess, slot) in guesses.iter().zip(slots) {
        let Some(value) = slot else {
            if !guess.is_variable() && guess.kind != ParamKind::KeywordOnly {
                contiguous = false;
            }
            continue;
        };
        match guess.kind {
            ParamKind::PositionalOnly | ParamKind::PositionalOrKeyword if contiguous => {
                args.push(value);
            }
            // Behind a gap there is no way to give it.
            ParamKind::PositionalOnly => {}
            ParamKind::PositionalOrKeyword | ParamKind::KeywordOnly => {
                kwargs.push((guess.name.clone(), value));
            }
            ParamKind::VarPositional => {
                if let (true, Value::List(items)) = (contiguous, value) {
                    args.extend(items);
                }
            }
            ParamKind::VarKeyword => {
                if let Value::Dict(pairs) = value {
                    kwargs.extend(pairs.into_iter().filter_map(|(key, value)| match key {
                        Value::Str(key) => Some((key.as_str()?.to_owned(), value)),
                        _ => None,
                    }));
                }
            }
        }
    }
    (args, kwargs)
}

/// Where the arguments of a call that somebody wrote go; none when they do not fit.
pub(crate) fn fitted(
    guesses: &[Guess],
    args: Vec<Value>,
    kwargs: Vec<(String, Value)>,
) -> Option<Slots> {
    let mut slots: Slots = vec![None; guesses.len()];
    let is_positional = |guess: &Guess| {
        matches!(guess.kind, ParamKind::PositionalOnly | ParamKind::PositionalOrKeyword)
    };
    let mut places = guesses.iter().enumerate().filter(|(_, guess)| is_positional(guess));
    let variable = |kind: ParamKind| guesses.iter().position(|guess| guess.kind == kind);
    let mut more = Vec::new();
    for value in args {
        match places.next() {
            Some((index, _)) => slots[index] = Some(value),
            None => more.push(value),
        }
    }
    if !more.is_empty() {
        slots[variable(ParamKind::VarPositional)?] = Some(Value::List(more));
    }
    let mut named = Vec::new();
    for (name, value) in kwargs {
        let index = guesses.iter().position(|guess| {
            guess.name == name && !guess.is_variable() && guess.kind != ParamKind::PositionalOnly
        });
        match index {
            Some(index) if slots[index].is_none() => slots[index] = Some(value),
            Some(_) => return None,
            None => named.push((Value::from(name), value)),
        }
    }
    if !named.is_empty() {
        slots[variable(ParamKind::VarKeyword)?] = Some(Value::Dict(named));
    }
    let missing = guesses
        .iter()
        .zip(&slots)
        .any(|(guess, slot)| slot.is_none() && !guess.has_default && !guess.is_variable());
    (!missing).then_some(slots)
}
