//! Inputs that reached something that none before had.

use std::collections::HashSet;

use menace_model::{Intent, Outcome, Random, Verdict};

use crate::input::Input;

/// The most inputs that are kept.
const KEPT: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Corpus {
    reached: HashSet<(String, u32, u32)>,
    kept: Vec<Kept>,
    /// How many were kept when somebody last asked for news.
    seen: usize,
}

#[derive(Debug)]
struct Kept {
    input: Input,
    returned: bool,
    /// How much of the code it reached.
    reach: usize,
    /// How many lines before all others.
    new_lines: u64,
}

impl Corpus {
    /// Whether it reached something new.
    pub(super) fn note(&mut self, input: Input, outcome: &Outcome) -> bool {
        let mut reach = 0;
        let mut new_lines = 0;
        let mut news = false;
        for file in outcome.coverage.iter().flat_map(|coverage| &coverage.files) {
            let lines = file.lines.iter().map(|&line| (0, line));
            for (from, to) in lines.chain(file.branches.iter().copied()) {
                reach += 1;
                let is_new = self.reached.insert((file.file.clone(), from, to));
                news |= is_new;
                new_lines += u64::from(is_new && from == 0);
            }
        }
        let returned = outcome.verdict == Verdict::Returned;
        let first = returned && !self.kept.iter().any(|kept| kept.returned);
        if (news || first) && self.kept.len() < KEPT && input.intent != Intent::Misuse {
            self.kept.push(Kept { input, returned, reach, new_lines });
        }
        news
    }

    /// Inputs that well-meaning callers may pass and that returned, with the lines that each reached
    /// before all others; what reached most comes last.
    pub(super) fn worth_keeping(&self) -> Vec<(&Input, u64)> {
        let is_good = |kept: &&Kept| {
            kept.returned && matches!(kept.input.intent, Intent::Valid | Intent::Boundary)
        };
        let mut good: Vec<&Kept> = self.kept.iter().filter(is_good).collect();
        good.sort_by_key(|kept| kept.reach);
        good.into_iter().map(|kept| (&kept.input, kept.new_lines)).collect()
    }

    /// Was anything kept since the last question?
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::replace(&mut self.seen, self.kept.len()) < self.kept.len()
    }

    /// One of them: the youngest every second time, and the younger ones more often.
    pub(super) fn pick(&self, random: &mut Random) -> Option<&Input> {
        if random.chance(0.5) {
            return self.kept.last().map(|kept| &kept.input);
        }
        let one = random.below(self.kept.len() as u64);
        let other = random.below(self.kept.len() as u64);
        self.kept.get(one.max(other) as usize).map(|kept| &kept.input)
    }

    /// A returned input that reached most: what trouble is made of.
    pub(super) fn best(&self) -> Option<&Input> {
        self.best_for(|_| true)
    }

    /// The best of those that are fit for something, else of all.
    pub(super) fn best_for(&self, is_fit: impl Fn(&Input) -> bool) -> Option<&Input> {
        let returned = self.kept.iter().filter(|kept| kept.returned);
        let valid = |kept: &Kept| kept.input.intent == Intent::Valid;
        let rank = |kept: &&Kept| (is_fit(&kept.input), valid(kept), kept.reach);
        returned.max_by_key(rank).map(|kept| &kept.input)
    }
}
