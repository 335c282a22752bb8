//! How far exploring goes: counted in calls, never in seconds.

/// How many calls a section gets at most, by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Inputs of all intents.
    pub inputs: usize,
    /// Parameters at the edges of their types, one at a time: for one parameter; up to twice as many for
    /// several.
    pub edges: usize,
    /// Inputs of words that the source spells out.
    pub words: usize,
    /// Inputs whose data has another schema.
    pub drifted: u64,
    /// Mutations in a generation; twice as many after one that reached something new.
    pub mutations: usize,
    /// Mutations at most; who still yields then gets what others left of theirs.
    pub most_mutations: usize,
    /// Generations in a row that may reach nothing new before mutating ends.
    pub barren: usize,
    /// Weaknesses after which a section is known well enough.
    pub weaknesses: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            inputs: 60,
            edges: 40,
            words: 12,
            drifted: 4,
            mutations: 7,
            most_mutations: 96,
            barren: 2,
            weaknesses: 4,
        }
    }
}
