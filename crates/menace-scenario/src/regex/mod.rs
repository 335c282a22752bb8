//! Regular expressions that search long for texts which nearly match.
//!
//! ```text
//! parser     pattern → tree           charset, alphabet  characters that a pattern tells apart
//!   ▼
//! automaton  one state for each place that reads a character
//!   ▼
//! ambiguity  words that can be read in ever more ways when they are repeated
//!   ▼
//! attack     texts: prefix, pump and suffix
//! ```
//!
//! The work is bounded by the length of the pattern, by numbers of states and by numbers of steps.
//! Lookarounds, backreferences and atomic groups are approximated, so an attack is a candidate:
//! only a measured call shows that it is slow. Invariant: no pattern makes this module panic.

mod alphabet;
mod ambiguity;
mod attack;
mod automaton;
mod charset;
mod parser;
#[cfg(test)]
mod tests;

use menace_model::{PatternMethod, PatternUse};

use parser::Node;

/// How the time of a search grows with the number of pumps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttackGrowth {
    Exponential,
    Polynomial { degree: u32 },
}

/// A family of texts: the prefix, any number of pumps, and the suffix.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AttackText {
    pub prefix: String,
    pub pump: String,
    /// Makes the match fail.
    pub suffix: String,
    pub growth: AttackGrowth,
}

/// The flags of `re` that change the syntax or the characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own in Python")]
struct RegexFlags {
    ignores_case: bool,
    is_multi_line: bool,
    dot_matches_all: bool,
    is_verbose: bool,
    is_ascii: bool,
}

impl RegexFlags {
    /// The flags of a number, as Python's `re` numbers them.
    fn from_bits(bits: u32) -> Self {
        Self {
            ignores_case: bits & 2 != 0,
            is_multi_line: bits & 8 != 0,
            dot_matches_all: bits & 16 != 0,
            is_verbose: bits & 64 != 0,
            is_ascii: bits & 256 != 0,
        }
    }

    /// Sets the flag of `(?x)`; none for an unknown letter.
    fn set_letter(&mut self, letter: char, is_set: bool) -> Option<()> {
        match letter {
            'i' => self.ignores_case = is_set,
            'm' => self.is_multi_line = is_set,
            's' => self.dot_matches_all = is_set,
            'x' => self.is_verbose = is_set,
            'a' => self.is_ascii = is_set,
            'u' | 'L' => {}
            _ => return None,
        }
        Some(())
    }

    fn with_added(self, other: Self) -> Self {
        Self {
            ignores_case: self.ignores_case || other.ignores_case,
            is_multi_line: self.is_multi_line || other.is_multi_line,
            dot_matches_all: self.dot_matches_all || other.dot_matches_all,
            is_verbose: self.is_verbose || other.is_verbose,
            is_ascii: self.is_ascii || other.is_ascii,
        }
    }
}

/// Texts that the pattern may search for long, the most promising first; none for a pattern that
/// Python refuses or that is too large.
pub fn find_attacks(used: &PatternUse) -> Vec<AttackText> {
    let flags = RegexFlags::from_bits(used.flags);
    let Some(mut tree) = parser::parse_pattern(&used.pattern, flags, used.is_bytes) else {
        return Vec::new();
    };
    if used.method == PatternMethod::Fullmatch {
        tree = match tree {
            Node::Choice(nodes) => Node::Choice(nodes.into_iter().map(with_text_end).collect()),
            node => with_text_end(node),
        };
    }
    attack::find_attacks(&tree, used.method.searches(), used.is_bytes)
}

fn with_text_end(node: Node) -> Node {
    Node::Sequence(vec![node, Node::TextEnd])
}
