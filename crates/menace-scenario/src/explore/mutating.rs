//! How long the inputs of a section are mutated: while that yields, with its own share of calls and
//! what others leave of theirs.

use super::{Budget, Explorer};

#[derive(Debug, Default)]
pub(super) struct Mutating {
    /// Mutations so far.
    made: usize,
    /// What others left, on top of the own share.
    given: usize,
    /// What was left to others of the own share.
    left: usize,
    /// Generations in a row that reached nothing new.
    barren: usize,
    /// The last one reached something new.
    had_news: bool,
    is_over: bool,
}

impl Mutating {
    pub(super) fn note(&mut self, made: usize, has_news: bool) {
        self.made += made;
        self.had_news = has_news;
        self.barren = if has_news { 0 } else { self.barren + 1 };
    }

    /// Mutations of the next generation: twice as many where the last reached something new.
    pub(super) fn size(&self, budget: &Budget) -> usize {
        let wanted = if self.had_news { 2 * budget.mutations } else { budget.mutations };
        wanted.min(self.spare(budget))
    }

    pub(super) fn goes_on(&self, budget: &Budget) -> bool {
        self.barren < budget.barren && self.spare(budget) > 0
    }

    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    /// Calls that are not made yet.
    fn spare(&self, budget: &Budget) -> usize {
        (budget.most_mutations + self.given).saturating_sub(self.made + self.left)
    }
}

impl Explorer<'_> {
    /// It still reaches something new and may make no more calls. Nobody gets more than twice a share.
    pub fn wants_more(&self) -> bool {
        let Mutating { had_news, is_over, given, .. } = self.mutating;
        let has_none = self.mutating.spare(&self.budget) == 0;
        let is_open = !is_over && !self.is_known_well();
        is_open && had_news && has_none && given < self.budget.most_mutations
    }
}

/// Hands mutations that some leave to those that still yield: a generation at a time, in their order.
pub fn hand_on<'e, 'a: 'e>(explorers: impl IntoIterator<Item = &'e mut Explorer<'a>>) {
    let mut left = 0;
    let mut wanting = Vec::new();
    let mut leaving = Vec::new();
    for explorer in explorers {
        if explorer.mutating.is_over {
            left += explorer.mutating.spare(&explorer.budget);
            leaving.push(explorer);
        } else if explorer.wants_more() {
            wanting.push(explorer);
        }
    }
    let mut taken = 0;
    for explorer in wanting {
        let given = explorer.budget.most_mutations - explorer.mutating.given;
        let given = given.min(2 * explorer.budget.mutations).min(left - taken);
        explorer.mutating.given += given;
        taken += given;
    }
    for explorer in leaving {
        let own = explorer.mutating.spare(&explorer.budget).min(taken);
        explorer.mutating.left += own;
        taken -= own;
    }
}
