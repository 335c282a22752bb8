//! Objects that carry what does harm.

use menace_model::{ClassKind, ParamKind, Value};

use super::{Threat, value};
use crate::input::make::arguments::{assembled, in_place};
use crate::input::make::{Choice, Maker};
use crate::input::shape::Shape;

/// An instance of a class of the repository, made as usual but for one argument of its constructor
/// that does harm; none when no argument can.
pub(super) fn instance(maker: &mut Maker<'_, '_>, dotted: &str, threat: Threat) -> Option<Value> {
    let class = maker.facts.class(dotted)?;
    match class.kind {
        ClassKind::Enum => return None,
        ClassKind::TypedDict => {
            let fields = maker.fields(dotted, class);
            let record = Shape::Record(fields);
            return maker.while_building(dotted, |maker| value(maker, &record, "", threat));
        }
        _ => {}
    }
    let (class, guesses) = maker.takes(class)?;
    maker.while_building(dotted, |maker| {
        let mut order: Vec<usize> = (0..guesses.len()).collect();
        maker.random.shuffle(&mut order);
        // Who cannot be harmed leaves the turn to the next.
        let (index, bad) = order.into_iter().find_map(|index| {
            let guess = &guesses[index];
            let shape = guess.best();
            let is_unnamed = guess.kind == ParamKind::VarKeyword
                && !matches!(shape, Shape::Record(_) | Shape::Dict(..));
            let bad = (!is_unnamed).then(|| value(maker, shape, &guess.name, threat)).flatten();
            Some((index, bad?))
        })?;
        // What comes before a positional argument has to be given too.
        let is_positional = guesses[index].kind == ParamKind::PositionalOnly;
        let choice = if is_positional { Choice::COMPLETE } else { Choice::TYPICAL };
        let mut slots = maker.slots(&guesses, choice);
        slots[index] = Some(in_place(guesses[index].kind, bad));
        let (args, kwargs) = assembled(&guesses, slots);
        Some(Value::New { class, args, kwargs })
    })
}
