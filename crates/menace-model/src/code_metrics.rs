//! Metrics that follow from a module's text alone.

use serde::{Deserialize, Serialize};

/// Line counts as radon defines them: `loc = sloc + blank + multi + single_comments`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCounts {
    pub loc: u32,
    /// Logical lines: statements, where `if a: b` counts two.
    pub lloc: u32,
    pub sloc: u32,
    /// Comments, including those after code.
    pub comments: u32,
    /// Lines of multi-line strings that stand alone (docstrings, mostly).
    pub multi: u32,
    pub blank: u32,
    pub single_comments: u32,
}

/// Halstead's counts; derived values are computed from them by methods.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HalsteadCounts {
    pub distinct_operators: u32,
    pub distinct_operands: u32,
    pub operators: u32,
    pub operands: u32,
}

impl HalsteadCounts {
    pub fn vocabulary(self) -> u32 {
        self.distinct_operators + self.distinct_operands
    }

    pub fn length(self) -> u32 {
        self.operators + self.operands
    }

    /// Bits needed to encode the program: length × log₂ vocabulary.
    pub fn volume(self) -> f64 {
        match self.vocabulary() {
            0 => 0.0,
            vocabulary => f64::from(self.length()) * f64::from(vocabulary).log2(),
        }
    }

    pub fn difficulty(self) -> f64 {
        match self.distinct_operands {
            0 => 0.0,
            distinct => {
                f64::from(self.distinct_operators) * f64::from(self.operands)
                    / (2.0 * f64::from(distinct))
            }
        }
    }

    pub fn effort(self) -> f64 {
        self.difficulty() * self.volume()
    }
}

/// All metrics of one module's text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CodeMetrics {
    pub lines: LineCounts,
    pub halstead: HalsteadCounts,
    /// Cyclomatic complexity of the whole module, as radon sums it.
    pub complexity: u32,
    /// Maintainability index, 0 to 100, equal to radon's.
    pub maintainability: f64,
    /// Shannon entropy of the token distribution, in bits.
    pub entropy: f64,
    /// Number of statements at all levels; the divisor of `code_quality`.
    pub statements: u32,
}
