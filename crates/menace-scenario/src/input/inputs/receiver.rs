//! The instances that methods are called on, and arguments that agree with them.

use menace_model::{Intent, MethodCall, Value};

use super::{Choice, Input, Inputs, Maker, Slots, Strategy, Style, assembled};

/// The label of an instance that arguments are taken from; no other value has it.
const ITSELF: u32 = 9_000;
/// Calls before the one that counts.
const MAX_PAST: usize = 8;

impl Inputs<'_> {
    /// The instance to call it on: plainly made at first, then with a past, then otherwise.
    pub(super) fn on(&self, maker: &mut Maker<'_, '_>, turn: usize) -> Option<Value> {
        let class = self.receiver.as_ref()?;
        if let Some(receiver) = self.on_proven(maker, class, turn) {
            return Some(receiver);
        }
        // A base that nobody can make is reached through what is derived from it.
        let heirs = self.facts.heirs(class);
        if turn.is_multiple_of(2) && !heirs.is_empty() {
            let heir = heirs[(turn / 2) % heirs.len()];
            let made = self.on_proven(maker, heir, turn / 2);
            if made.is_some() {
                return made;
            }
        }
        let choice = match turn {
            0 | 1 => Choice::TYPICAL,
            2 => Choice::COMPLETE,
            // There were outcomes, and still no instance.
            _ if !self.lessons.is_empty() => {
                Choice { style: Style::Smart, optional: 0.3, spread: true }
            }
            _ => Choice { style: Style::Typical, optional: 0.3, spread: turn.is_multiple_of(2) },
        };
        let steps = self.section.construction.as_ref().and_then(|plan| plan.steps.last());
        let made = maker
            .instance(class, choice)
            .or_else(|| steps.and_then(|step| maker.constructed(step, choice)))
            .or_else(|| {
                let class = self.facts.reference(class)?;
                Some(Value::New { class, args: Vec::new(), kwargs: Vec::new() })
            })?;
        let past = match turn {
            0 | 2 => 0,
            1 => 2,
            turn if turn % 3 == 0 => 0,
            _ => 1 + maker.random.below(4) as usize,
        };
        Some(self.prepared(maker, class, made, past))
    }

    /// The same once instances of the class are known: those in turns with new ones.
    fn on_proven(&self, maker: &mut Maker<'_, '_>, class: &str, turn: usize) -> Option<Value> {
        let best = maker.proven(class, Some(turn / 4))?;
        let some = 1 + maker.random.below(3) as usize;
        let (made, past) = match turn % 4 {
            0 => (best, 0),
            // All that ever returned, once.
            1 if turn % 8 == 5 => (best, MAX_PAST),
            2 => {
                let choice = Choice { style: Style::Smart, optional: 0.5, spread: true };
                let past = if maker.random.chance(0.5) { some } else { 0 };
                (maker.fresh(class, choice)?, past)
            }
            3 if self.lessons.wants_others(self.facts, class) => {
                let choice = Choice { style: Style::Smart, optional: 0.2, spread: false };
                (maker.fresh(class, choice)?, if turn % 8 == 3 { 0 } else { some })
            }
            _ => (maker.proven(class, None)?, some),
        };
        Some(self.prepared(maker, class, made, past))
    }

    fn prepared(&self, maker: &mut Maker<'_, '_>, class: &str, made: Value, past: usize) -> Value {
        let name = self.section.id.qualname().rsplit('.').next().unwrap_or_default();
        let calls: Vec<MethodCall> = maker.preparations(class, name, past);
        if calls.is_empty() {
            return made;
        }
        Value::After { value: Box::new(made), calls }
    }

    /// An argument that comes from the instance itself: what one of its methods returned, or the
    /// first item of that. Codes and names that only the instance knows are found in no other way.
    pub(super) fn related(&self, mut maker: Maker<'_, '_>, turn: usize) -> Option<Input> {
        let class = self.receiver.as_ref()?;
        let wanted: Vec<usize> = (0..self.guesses.len())
            .filter(|at| !self.guesses[*at].has_default && !self.guesses[*at].is_variable())
            .collect();
        let param = *wanted.get(turn % wanted.len().max(1))?;
        let own = self.section.id.qualname().rsplit('.').next().unwrap_or_default();
        let guess = &self.guesses[param];
        let sources = self.lessons.sources(self.facts, class, own, &guess.name);
        let source = sources.get((turn / wanted.len()) % sources.len().max(1))?;
        let receiver = self.on(&mut maker, turn)?;
        let mut slots = maker.slots(&self.guesses, Choice::TYPICAL);
        slots[param] = Some(source.value(Value::Again(ITSELF)));
        maker.add_files(source.files());
        let receiver = Value::Shared { label: ITSELF, value: Box::new(receiver) };
        let given = assembled(&self.guesses, slots);
        Some(Self::finished(maker, Some(receiver), given, Intent::Valid, Strategy::Signature))
    }

    /// What was put into an instance under a name is asked of it under the same name, mostly.
    pub(super) fn agreeing(
        &self,
        mut slots: Slots,
        receiver: Option<&Value>,
        maker: &mut Maker<'_, '_>,
    ) -> Slots {
        let (Some(class), Some(Value::After { calls, .. })) = (&self.receiver, receiver) else {
            return slots;
        };
        for call in calls {
            let Some(told) = self.facts.method(class, &call.name) else { continue };
            for (param, value) in told.section.params.iter().zip(&call.args) {
                let at = self.guesses.iter().position(|guess| guess.name == param.name);
                if let Some(at) = at
                    && !self.guesses[at].is_variable()
                    && slots[at].is_some()
                    && maker.random.chance(0.7)
                {
                    slots[at] = Some(value.clone());
                }
            }
        }
        slots
    }
}
