//! How many calls a section gets: counted in calls, never in seconds.
//!
//! Mutating ends when it reaches nothing new. A section that still reaches new lines receives
//! mutations that other sections did not use.

use super::Explorer;

/// Maximum number of calls of a section, by their purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExploreBudget {
    /// Generated inputs of all intents.
    pub inputs: usize,
    /// Boundary inputs for one parameter; up to twice as many for several parameters.
    pub boundary_inputs: usize,
    /// Inputs made of words in the source.
    pub word_inputs: usize,
    /// Inputs whose data has a drifted schema.
    pub drifted_inputs: u64,
    /// Mutations per generation; twice as many after a generation that reached new lines.
    pub mutations_per_generation: usize,
    /// Mutations at most. A section that still reaches new lines then receives unused ones of
    /// others.
    pub max_mutations: usize,
    /// Generations in a row without new lines after which mutating ends.
    pub max_barren_generations: usize,
    /// Number of weaknesses after which mutating ends.
    pub enough_weaknesses: usize,
}

impl Default for ExploreBudget {
    fn default() -> Self {
        Self {
            inputs: 60,
            boundary_inputs: 40,
            word_inputs: 12,
            drifted_inputs: 4,
            mutations_per_generation: 7,
            max_mutations: 96,
            max_barren_generations: 2,
            enough_weaknesses: 4,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct MutationBudget {
    mutations_made: usize,
    /// Mutations received from other sections, on top of the own share.
    received: usize,
    /// Mutations of the own share that were given to other sections.
    handed_over: usize,
    /// Generations in a row that reached no new lines.
    barren_generations: usize,
    /// The last generation reached new lines.
    had_new_lines: bool,
    is_over: bool,
}

impl MutationBudget {
    pub(super) fn record_generation(&mut self, made: usize, has_new_lines: bool) {
        self.mutations_made += made;
        self.had_new_lines = has_new_lines;
        self.barren_generations = if has_new_lines { 0 } else { self.barren_generations + 1 };
    }

    /// Size of the next generation: twice as many mutations if the last one reached new lines.
    pub(super) fn generation_size(&self, budget: &ExploreBudget) -> usize {
        let wanted = if self.had_new_lines {
            2 * budget.mutations_per_generation
        } else {
            budget.mutations_per_generation
        };
        wanted.min(self.remaining(budget))
    }

    pub(super) fn may_continue(&self, budget: &ExploreBudget) -> bool {
        self.barren_generations < budget.max_barren_generations && self.remaining(budget) > 0
    }

    pub(super) fn finish(&mut self) {
        self.is_over = true;
    }

    /// Mutations that are left.
    fn remaining(&self, budget: &ExploreBudget) -> usize {
        (budget.max_mutations + self.received)
            .saturating_sub(self.mutations_made + self.handed_over)
    }
}

impl Explorer<'_> {
    /// The section still reaches new lines and has no mutations left. A section gets at most twice
    /// its share.
    pub fn needs_more_mutations(&self) -> bool {
        let MutationBudget { had_new_lines: had_news, is_over, received: given, .. } =
            self.mutation_budget;
        let has_none = self.mutation_budget.remaining(&self.budget) == 0;
        let is_open = !is_over && !self.has_enough_weaknesses();
        is_open && had_news && has_none && given < self.budget.max_mutations
    }
}

/// Gives unused mutations of finished sections to sections that still reach new lines: one
/// generation at a time, in their order.
pub fn redistribute_mutations<'e, 'a: 'e>(
    explorers: impl IntoIterator<Item = &'e mut Explorer<'a>>,
) {
    let mut left = 0;
    let mut wanting = Vec::new();
    let mut leaving = Vec::new();
    for explorer in explorers {
        if explorer.mutation_budget.is_over {
            left += explorer.mutation_budget.remaining(&explorer.budget);
            leaving.push(explorer);
        } else if explorer.needs_more_mutations() {
            wanting.push(explorer);
        }
    }
    let mut taken = 0;
    for explorer in wanting {
        let share = explorer.budget.max_mutations - explorer.mutation_budget.received;
        let share = share.min(2 * explorer.budget.mutations_per_generation).min(left - taken);
        explorer.mutation_budget.received += share;
        taken += share;
    }
    for explorer in leaving {
        let own = explorer.mutation_budget.remaining(&explorer.budget).min(taken);
        explorer.mutation_budget.handed_over += own;
        taken -= own;
    }
}
