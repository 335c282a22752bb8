//! What each way makes of a section: one input at a time.

use menace_model::{Intent, Seed};

use super::stream::Way;
use super::{Choice, Guess, Input, Inputs, Maker, Misuse, Record, Slots, Strategy, Style};
use super::{assembled, fitted};

impl Inputs<'_> {
    pub(super) fn made(
        &self,
        way: Way,
        turn: usize,
        seed: Seed,
        templates: &[Input],
    ) -> Option<Input> {
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

    /// What a language model wrote.
    pub(super) fn written(&self) -> &[Record] {
        self.settings.synthetic.get(&self.section.id).map_or(&[][..], Vec::as_slice)
    }

    fn example(&self, mut maker: Maker<'_, '_>, turn: usize) -> Option<Input> {
        let written = self.written();
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

    pub(super) fn of_record(&self, record: &Record, strategy: Strategy) -> Option<Input> {
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
