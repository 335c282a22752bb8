//! An error in a description, and its position.

use std::fmt;

/// Shown as `args[1].$tuple[0]: expected …, found …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError {
    /// Position in the notation for users; empty for the whole value.
    pub place: String,
    /// What was expected at that position, and what was found.
    pub reason: String,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for ValueError {}
