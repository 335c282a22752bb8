//! Makes one input at a time from each source.

use menace_model::{FixtureFile, InputIntent, ParamKind, Seed, Value};

use super::stream::InputSource;
use super::{
    ArgumentPolicy, ArgumentSlots, CallInput, InputGenerator, InputRecord, InputStrategy,
    MisuseBuilder, ParamGuess, ValueMaker, ValueStyle, assemble_call, boundary, fit_to_params,
    wrap_variadic,
};

impl InputGenerator<'_> {
    pub(super) fn make_from_source(
        &self,
        way: InputSource,
        turn: usize,
        seed: Seed,
        templates: &[CallInput],
    ) -> Option<CallInput> {
        let mut maker = self.new_maker(seed);
        let strategy = way.strategy();
        match way {
            InputSource::History => {
                let kept = self.settings.history.inputs_of(&self.section.id).get(turn)?;
                return Some(CallInput {
                    receiver: kept.receiver.clone(),
                    args: kept.args.clone(),
                    kwargs: kept.kwargs.clone(),
                    fixtures: kept.fixtures(),
                    intent: kept.intent,
                    strategy,
                });
            }
            InputSource::Templates => {
                if let Some(input) = templates.get(turn) {
                    return Some(input.clone());
                }
                return self.template_values_input(maker, turn - templates.len());
            }
            InputSource::Synthetic => return self.documented_input(maker, turn),
            InputSource::Boundary => {
                return self.boundary_input(maker, turn, ArgumentPolicy::TYPICAL);
            }
            InputSource::Hostile => return self.hostile_input(maker, turn),
            InputSource::Misuse => return self.misuse_input(maker),
            InputSource::Related => return self.receiver_related_input(maker, turn),
            InputSource::Signature | InputSource::Smart | InputSource::Random => {}
        }
        let receiver = self.make_receiver(&mut maker, turn);
        let slots = match way {
            InputSource::Signature => self.signature_slots(&mut maker, turn),
            InputSource::Smart => {
                let choice = ArgumentPolicy {
                    style: ValueStyle::Smart,
                    optional_share: 0.4,
                    tries_other_shapes: true,
                };
                maker.make_slots(&self.guesses, choice)
            }
            _ => {
                let choice = ArgumentPolicy {
                    style: ValueStyle::Random,
                    optional_share: 0.5,
                    tries_other_shapes: true,
                };
                maker.make_slots(&self.guesses, choice)
            }
        };
        let slots = self.align_with_receiver(slots, receiver.as_ref(), &mut maker);
        let call_args = assemble_call(&self.guesses, slots);
        Some(Self::finish_input(maker, receiver, call_args, InputIntent::Valid, strategy))
    }

    /// The likeliest shapes first, then one other shape at a time, then other combinations.
    fn signature_slots(&self, maker: &mut ValueMaker<'_, '_>, turn: usize) -> ArgumentSlots {
        match turn {
            0 => return maker.make_slots(&self.guesses, ArgumentPolicy::TYPICAL),
            1 => return maker.make_slots(&self.guesses, ArgumentPolicy::COMPLETE),
            _ => {}
        }
        let turn = turn - 2;
        if turn % 3 == 2
            && let Some((param, value)) = self.optional_values.get(turn / 3)
        {
            let mut slots = maker.make_slots(&self.guesses, ArgumentPolicy::TYPICAL);
            slots[*param] = Some(value.clone());
            return slots;
        }
        if turn % 3 != 2
            && let Some((param, rank)) = self.alternative_shapes.get(turn - turn / 3)
        {
            let mut slots = maker.make_slots(&self.guesses, ArgumentPolicy::TYPICAL);
            let guess = &self.guesses[*param];
            slots[*param] =
                Some(maker.make_value(&guess.shapes[*rank].0, &guess.name, ValueStyle::Typical));
            return slots;
        }
        let choice = ArgumentPolicy {
            style: ValueStyle::Typical,
            optional_share: 0.3,
            tries_other_shapes: true,
        };
        maker.make_slots(&self.guesses, choice)
    }

    /// Inputs that a language model wrote.
    pub(super) fn model_records(&self) -> &[InputRecord] {
        self.settings.synthetic.get(&self.section.id).map_or(&[][..], Vec::as_slice)
    }

    fn documented_input(&self, mut maker: ValueMaker<'_, '_>, turn: usize) -> Option<CallInput> {
        let written = self.model_records();
        if let Some(record) = written.get(turn) {
            return self.input_from_record(record, InputStrategy::Synthetic);
        }
        let example = self.examples.get(turn - written.len())?;
        let receiver = match &example.receiver {
            Some(receiver) if self.receiver.is_some() => Some(receiver.clone()),
            _ => self.make_receiver(&mut maker, turn),
        };
        let slots = fit_to_params(&self.guesses, example.args.clone(), example.kwargs.clone())?;
        let call_args = assemble_call(&self.guesses, slots);
        Some(Self::finish_input(
            maker,
            receiver,
            call_args,
            InputIntent::Valid,
            InputStrategy::Synthetic,
        ))
    }

    fn template_values_input(
        &self,
        mut maker: ValueMaker<'_, '_>,
        turn: usize,
    ) -> Option<CallInput> {
        let values = |guess: &ParamGuess| self.settings.templates.parameter_values(&guess.name);
        let most = self.guesses.iter().map(|guess| values(guess).len()).max()?;
        if turn >= most {
            return None;
        }
        let receiver = self.make_receiver(&mut maker, 0);
        let mut slots = maker.make_slots(&self.guesses, ArgumentPolicy::TYPICAL);
        for (guess, slot) in self.guesses.iter().zip(&mut slots) {
            let values = values(guess);
            if !values.is_empty() && !guess.is_variable() {
                *slot = values.get(turn % values.len()).cloned();
            }
        }
        let call_args = assemble_call(&self.guesses, slots);
        Some(Self::finish_input(
            maker,
            receiver,
            call_args,
            InputIntent::Valid,
            InputStrategy::Templates,
        ))
    }

    fn misuse_input(&self, mut maker: ValueMaker<'_, '_>) -> Option<CallInput> {
        let receiver = self.make_receiver(&mut maker, 0);
        let choice = if maker.random.chance(0.5) {
            ArgumentPolicy::TYPICAL
        } else {
            ArgumentPolicy::COMPLETE
        };
        let slots = maker.make_slots(&self.guesses, choice);
        let class = self.receiver.as_ref().and_then(|class| self.facts.class(class));
        let methods = class
            .map_or(Vec::new(), |class| class.methods.iter().map(|it| it.name.as_str()).collect());
        let misuse = MisuseBuilder { guesses: &self.guesses, slots, receiver, methods };
        let (receiver, given) =
            misuse.build(self.settings.threat.mistake_count(), &mut maker.random)?;
        Some(Self::finish_input(maker, receiver, given, InputIntent::Misuse, InputStrategy::Misuse))
    }

    pub(super) fn input_from_record(
        &self,
        record: &InputRecord,
        strategy: InputStrategy,
    ) -> Option<CallInput> {
        let slots = match record.to_slots(&self.guesses) {
            Ok(slots) => slots,
            Err(why) => {
                tracing::debug!(section = %self.section.id, "an input does not fit: {why}");
                return None;
            }
        };
        let mut maker = self.new_maker(Seed(0));
        let receiver = match &record.receiver {
            Some(receiver) => Some(receiver.clone()),
            None => self.make_receiver(&mut maker, 0),
        };
        let call_args = assemble_call(&self.guesses, slots);
        let mut input =
            Self::finish_input(maker, receiver, call_args, InputIntent::Valid, strategy);
        input.fixtures.environment.clone_from(&record.environment);
        Some(input)
    }
}

/// With so many further parameters there are twice as many boundary inputs, and never more.
const EXTRA_PARAMS_FOR_DOUBLE_EDGES: usize = 5;
const MAX_DECLARED_SHAPES: usize = 4;

/// A boundary value of one parameter, and the files that it names.
#[derive(Debug, Clone)]
pub(super) struct BoundaryValue {
    param: usize,
    value: Value,
    files: Vec<FixtureFile>,
}

impl InputGenerator<'_> {
    /// Boundary inputs of all parameters in turns: `count` for one parameter, more for several. If
    /// there are more boundary values, the most effective are always used, and the seed chooses
    /// among the others.
    pub fn boundary_inputs(&self, count: usize, seed: Seed) -> Vec<CallInput> {
        let more = self.guesses.len().saturating_sub(1).min(EXTRA_PARAMS_FOR_DOUBLE_EDGES);
        let count = count + count * more / EXTRA_PARAMS_FOR_DOUBLE_EDGES;
        let input_for = |turn: usize, choice| {
            self.boundary_input(self.new_maker(seed.derive_nth(turn as u64)), turn, choice)
        };
        let chosen = |count: usize| {
            let mut turns: Vec<usize> = (0..self.boundary_values().len()).collect();
            if turns.len() > count {
                let mut others = turns.split_off(count / 2);
                seed.derive("which").rng().shuffle(&mut others);
                others.truncate(count - count / 2);
                others.sort_unstable();
                turns.extend(others);
            }
            turns
        };
        let made = |count: usize, choice| -> Vec<CallInput> {
            chosen(count).into_iter().filter_map(|turn| input_for(turn, choice)).collect()
        };
        if !self.guesses.iter().any(|guess| guess.has_default) {
            return made(count, ArgumentPolicy::TYPICAL);
        }
        // Also with all optional arguments.
        let mut inputs = made(count * 2 / 3, ArgumentPolicy::TYPICAL);
        inputs.extend(made(count / 3, ArgumentPolicy::COMPLETE));
        inputs
    }

    fn boundary_values(&self) -> &[BoundaryValue] {
        self.boundary_values.get_or_init(|| {
            let mut lists = Vec::new();
            for (param, guess) in self.guesses.iter().enumerate() {
                let mut maker = self.new_maker(Seed(0));
                // All declared shapes are used; of guessed ones, only the likeliest.
                let shapes = if guess.is_certain { MAX_DECLARED_SHAPES } else { 1 };
                let shapes = guess.shapes.iter().take(shapes);
                let values = shapes
                    .map(|(shape, _)| boundary::boundary_values(&mut maker, shape, &guess.name))
                    .collect();
                let values = boundary::interleave(values);
                let values = values.into_iter().map(|value| wrap_variadic(guess.kind, value));
                let edge = |value| BoundaryValue { param, value, files: maker.files.clone() };
                lists.push(values.map(edge).collect::<Vec<_>>());
            }
            boundary::interleave(lists)
        })
    }

    /// One parameter has a boundary value, the others are made by `others`.
    pub(super) fn boundary_input(
        &self,
        mut maker: ValueMaker<'_, '_>,
        turn: usize,
        others: ArgumentPolicy,
    ) -> Option<CallInput> {
        let edge = self.boundary_values().get(turn)?;
        let receiver = self.make_receiver(&mut maker, turn);
        let mut slots = maker.make_slots(&self.guesses, others);
        // A positional argument needs all arguments before it.
        let complete = maker.make_slots(&self.guesses, ArgumentPolicy::COMPLETE);
        for (slot, full) in slots.iter_mut().zip(complete).take(edge.param) {
            if slot.is_none() && self.guesses[edge.param].kind == ParamKind::PositionalOnly {
                *slot = full;
            }
        }
        slots[edge.param] = Some(edge.value.clone());
        for file in &edge.files {
            if maker.files.iter().all(|known| known.path != file.path) {
                maker.files.push(file.clone());
            }
        }
        let call_args = assemble_call(&self.guesses, slots);
        Some(Self::finish_input(
            maker,
            receiver,
            call_args,
            InputIntent::Boundary,
            InputStrategy::Signature,
        ))
    }
}
