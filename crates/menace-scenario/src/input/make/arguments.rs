//! From inferred parameters to the arguments of a call.

use menace_model::{ParamKind, Value};

use super::{ValueMaker, ValueStyle};
use crate::input::infer::ParamGuess;
use crate::input::shape::ValueShape;

/// How arguments are chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArgumentPolicy {
    pub style: ValueStyle,
    /// Share of optional parameters that are passed.
    pub optional_share: f64,
    /// Whether shapes other than the likeliest are tried.
    pub tries_other_shapes: bool,
}

impl ArgumentPolicy {
    pub(crate) const TYPICAL: Self =
        Self { style: ValueStyle::Typical, optional_share: 0.0, tries_other_shapes: false };
    pub(crate) const COMPLETE: Self =
        Self { style: ValueStyle::Typical, optional_share: 1.0, tries_other_shapes: false };
}

/// One slot per parameter; empty for parameters that are left out.
pub(crate) type ArgumentSlots = Vec<Option<Value>>;

/// Positional and keyword arguments.
pub(crate) type CallArguments = (Vec<Value>, Vec<(String, Value)>);

impl ValueMaker<'_, '_> {
    pub(crate) fn make_slots(
        &mut self,
        guesses: &[ParamGuess],
        choice: ArgumentPolicy,
    ) -> ArgumentSlots {
        guesses.iter().map(|guess| self.make_slot(guess, choice)).collect()
    }

    fn make_slot(&mut self, guess: &ParamGuess, choice: ArgumentPolicy) -> Option<Value> {
        let is_left_out = !guess.is_needed && (guess.has_default || guess.is_variable());
        if is_left_out && !self.random.chance(choice.optional_share) {
            return None;
        }
        let shape = self.pick_shape(guess, choice.tries_other_shapes).clone();
        match guess.kind {
            ParamKind::VarPositional => {
                let item = match shape {
                    ValueShape::List(item) | ValueShape::TupleOf(item) if !guess.is_certain => {
                        *item
                    }
                    shape => shape,
                };
                let count = 1 + self.random.next_below(2) as usize;
                Some(Value::List(self.make_several(&item, &guess.name, choice.style, count)))
            }
            ParamKind::VarKeyword => match shape {
                ValueShape::Record(_) => Some(self.make_value(&shape, &guess.name, choice.style)),
                // Unknown keywords are no typical input.
                ValueShape::Dict(_, item) if choice.style != ValueStyle::Typical => {
                    let value = self.make_value(&item, INVENTED_KEYWORD, choice.style);
                    Some(wrap_variadic(guess.kind, value))
                }
                _ => None,
            },
            _ => Some(self.make_value(&shape, &guess.name, choice.style)),
        }
    }

    /// The likeliest shape or, with `spread`, a random one by weight.
    pub(crate) fn pick_shape<'g>(&mut self, guess: &'g ParamGuess, spread: bool) -> &'g ValueShape {
        if !spread || guess.shapes.len() == 1 {
            return guess.likeliest_shape();
        }
        // The square root makes unlikely shapes more frequent.
        let weight = |weight: f64| weight.max(0.05).sqrt();
        let total: f64 = guess.shapes.iter().map(|(_, own)| weight(*own)).sum();
        let mut at = self.random.next_unit() * total;
        for (shape, own) in &guess.shapes {
            at -= weight(*own);
            if at <= 0.0 {
                return shape;
            }
        }
        guess.likeliest_shape()
    }
}

/// The keyword for a function that takes any keywords, if no name is known.
pub(crate) const INVENTED_KEYWORD: &str = "extra";

/// The slot of a parameter with one value: variadic parameters have several.
pub(crate) fn wrap_variadic(kind: ParamKind, value: Value) -> Value {
    match (kind, value) {
        (ParamKind::VarPositional, value) => Value::List(vec![value]),
        (ParamKind::VarKeyword, value @ Value::Dict(_)) => value,
        (ParamKind::VarKeyword, value) => Value::Dict(vec![(Value::from(INVENTED_KEYWORD), value)]),
        (_, value) => value,
    }
}

/// The arguments in the order of a call.
pub(crate) fn assemble_call(guesses: &[ParamGuess], slots: ArgumentSlots) -> CallArguments {
    let mut args = Vec::new();
    let mut kwargs = Vec::new();
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
            // After a parameter that was left out it cannot be passed.
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

/// The slots of the arguments of a written call; none when they do not fit the parameters.
pub(crate) fn fit_to_params(
    guesses: &[ParamGuess],
    args: Vec<Value>,
    kwargs: Vec<(String, Value)>,
) -> Option<ArgumentSlots> {
    let mut slots: ArgumentSlots = vec![None; guesses.len()];
    let is_positional = |guess: &ParamGuess| {
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
