//! How far exploring goes: counted in calls, never in seconds.

/// How many calls a section gets at most, by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Inputs of all intents.
    pub inputs: usize,
    /// Parameters at the edges of their types, one at a time.
    pub edges: usize,
    /// Inputs of words that the source spells out.
    pub words: usize,
    /// Inputs whose data has another schema.
    pub drifted: u64,
    /// Mutations in each generation.
    pub mutations: usize,
    /// Generations of mutations at most; the first that reaches nothing new is the last.
    pub generations: usize,
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
            mutations: 12,
            generations: 8,
            weaknesses: 4,
        }
    }
}
