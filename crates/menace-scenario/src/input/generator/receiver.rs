//! Receivers of methods, and arguments that agree with them.

use menace_model::{InputIntent, MethodCall, Value};

use super::{
    ArgumentPolicy, ArgumentSlots, CallInput, InputGenerator, InputStrategy, ValueMaker,
    ValueStyle, assemble_call,
};

/// Label of a receiver that arguments refer to; no other value has it.
const RECEIVER_LABEL: u32 = 9_000;
/// Method calls on the receiver before the tested call.
const MAX_PREPARATION_CALLS: usize = 8;

impl InputGenerator<'_> {
    /// The receiver of the `turn`th input: newly constructed at first, later after preparation
    /// calls, then with other constructor arguments.
    pub(super) fn make_receiver(
        &self,
        maker: &mut ValueMaker<'_, '_>,
        turn: usize,
    ) -> Option<Value> {
        let class = self.receiver.as_ref()?;
        if let Some(receiver) = self.make_proven_receiver(maker, class, turn) {
            return Some(receiver);
        }
        // An abstract base class is reached through its subclasses.
        let subclasses = self.facts.subclasses(class);
        if turn.is_multiple_of(2) && !subclasses.is_empty() {
            let subclass = subclasses[(turn / 2) % subclasses.len()];
            let made = self.make_proven_receiver(maker, subclass, turn / 2);
            if made.is_some() {
                return made;
            }
        }
        let choice = match turn {
            0 | 1 => ArgumentPolicy::TYPICAL,
            2 => ArgumentPolicy::COMPLETE,
            // Calls were made, and no instance worked.
            _ if !self.learned_hints.is_empty() => ArgumentPolicy {
                style: ValueStyle::Smart,
                optional_share: 0.3,
                tries_other_shapes: true,
            },
            _ => ArgumentPolicy {
                style: ValueStyle::Typical,
                optional_share: 0.3,
                tries_other_shapes: turn.is_multiple_of(2),
            },
        };
        let steps = self.section.construction.as_ref().and_then(|plan| plan.steps.last());
        let made = maker
            .make_instance(class, choice)
            .or_else(|| steps.and_then(|step| maker.call_constructor(step, choice)))
            .or_else(|| {
                let class = self.facts.reference(class)?;
                Some(Value::New { class, args: Vec::new(), kwargs: Vec::new() })
            })?;
        let preparation_count = match turn {
            0 | 2 => 0,
            1 => 2,
            turn if turn % 3 == 0 => 0,
            _ => 1 + maker.random.next_below(4) as usize,
        };
        Some(self.prepare_receiver(maker, class, made, preparation_count))
    }

    /// A receiver when working instances of the class are known: those and new ones in turns.
    fn make_proven_receiver(
        &self,
        maker: &mut ValueMaker<'_, '_>,
        class: &str,
        turn: usize,
    ) -> Option<Value> {
        let best = maker.make_proven_instance(class, Some(turn / 4))?;
        let some = 1 + maker.random.next_below(3) as usize;
        let (made, preparation_count) = match turn % 4 {
            0 => (best, 0),
            // All calls that ever returned, once.
            1 if turn % 8 == 5 => (best, MAX_PREPARATION_CALLS),
            2 => {
                let choice = ArgumentPolicy {
                    style: ValueStyle::Smart,
                    optional_share: 0.5,
                    tries_other_shapes: true,
                };
                let preparation_count = if maker.random.chance(0.5) { some } else { 0 };
                (maker.make_fresh_instance(class, choice)?, preparation_count)
            }
            3 if self.learned_hints.needs_other_instances(self.facts, class) => {
                let choice = ArgumentPolicy {
                    style: ValueStyle::Smart,
                    optional_share: 0.2,
                    tries_other_shapes: false,
                };
                (maker.make_fresh_instance(class, choice)?, if turn % 8 == 3 { 0 } else { some })
            }
            _ => (maker.make_proven_instance(class, None)?, some),
        };
        Some(self.prepare_receiver(maker, class, made, preparation_count))
    }

    fn prepare_receiver(
        &self,
        maker: &mut ValueMaker<'_, '_>,
        class: &str,
        made: Value,
        preparation_count: usize,
    ) -> Value {
        let name = self.section.id.qualname().rsplit('.').next().unwrap_or_default();
        let calls: Vec<MethodCall> = maker.preparation_calls(class, name, preparation_count);
        if calls.is_empty() {
            return made;
        }
        Value::After { value: Box::new(made), calls }
    }

    /// An input with an argument that comes from the receiver: the result of one of its methods, or
    /// the first item of it. Codes and names that only the instance knows are found in no other
    /// way.
    pub(super) fn receiver_related_input(
        &self,
        mut maker: ValueMaker<'_, '_>,
        turn: usize,
    ) -> Option<CallInput> {
        let class = self.receiver.as_ref()?;
        let wanted: Vec<usize> = (0..self.guesses.len())
            .filter(|at| !self.guesses[*at].has_default && !self.guesses[*at].is_variable())
            .collect();
        let param = *wanted.get(turn % wanted.len().max(1))?;
        let own = self.section.id.qualname().rsplit('.').next().unwrap_or_default();
        let guess = &self.guesses[param];
        let sources = self.learned_hints.result_sources(self.facts, class, own, &guess.name);
        let source = sources.get((turn / wanted.len()) % sources.len().max(1))?;
        let receiver = self.make_receiver(&mut maker, turn)?;
        let mut slots = maker.make_slots(&self.guesses, ArgumentPolicy::TYPICAL);
        slots[param] = Some(source.result_on(Value::SharedRef(RECEIVER_LABEL)));
        maker.add_files(source.files());
        let receiver = Value::Shared { label: RECEIVER_LABEL, value: Box::new(receiver) };
        let call_args = assemble_call(&self.guesses, slots);
        Some(Self::finish_input(
            maker,
            Some(receiver),
            call_args,
            InputIntent::Valid,
            InputStrategy::Signature,
        ))
    }

    /// Mostly gives a parameter the value that a preparation call had for a parameter of the same
    /// name.
    pub(super) fn align_with_receiver(
        &self,
        mut slots: ArgumentSlots,
        receiver: Option<&Value>,
        maker: &mut ValueMaker<'_, '_>,
    ) -> ArgumentSlots {
        let (Some(class), Some(Value::After { calls, .. })) = (&self.receiver, receiver) else {
            return slots;
        };
        for call in calls {
            let Some(context) = self.facts.method(class, &call.name) else { continue };
            for (param, value) in context.section.params.iter().zip(&call.args) {
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
