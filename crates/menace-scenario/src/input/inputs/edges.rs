//! Each parameter at the edges of its type, the others as usual.

use menace_model::{FixtureFile, Intent, ParamKind, Seed, Value};

use super::{Choice, Input, Inputs, Maker, Strategy, assembled, boundary, in_place};

/// With so many parameters more there are twice as many edges, and never more.
const MORE_EDGES: usize = 5;
/// So many declared shapes of a parameter have their edges tried.
const DECLARED: usize = 4;

/// A parameter at the edge of its type.
#[derive(Debug, Clone)]
pub(super) struct Edge {
    param: usize,
    value: Value,
    files: Vec<FixtureFile>,
}

impl Inputs<'_> {
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
    pub(super) fn edge(
        &self,
        mut maker: Maker<'_, '_>,
        turn: usize,
        others: Choice,
    ) -> Option<Input> {
        let edge = self.edges().get(turn)?;
        let receiver = self.on(&mut maker, turn);
        let mut slots = maker.slots(&self.guesses, others);
        // What comes before a positional argument has to be given too.
        let complete = maker.slots(&self.guesses, Choice::COMPLETE);
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
        let given = assembled(&self.guesses, slots);
        Some(Self::finished(maker, receiver, given, Intent::Boundary, Strategy::Signature))
    }
}
