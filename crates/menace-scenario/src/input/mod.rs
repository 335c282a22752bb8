//! Inputs for sections: receivers, arguments and the files that they name.
//!
//! ```text
//! infer      annotation, default, name, docstring, uses, callers → shapes of parameters
//!   ▼
//! make       shape → value: typical, realistic, random
//! boundary   shape → its edges          hostile   role → what does harm
//! misuse     a good call → a bad one    drift     data → data of another schema
//! records, history, templates, synthetic, plugged inputs that somebody wrote down
//! learn      outcomes → what was missing, instances and calls that worked
//!   ▼
//! Inputs     which of them, in which order, with which shares
//! ```
//!
//! Pure: values are descriptions that the guest builds. Invariant: the same section, settings and
//! seed give the same inputs.

mod boundary;
mod dangers;
pub mod drift;
mod facts;
pub mod history;
mod hostile;
mod infer;
mod inputs;
mod learn;
mod make;
mod misuse;
pub mod mutate;
mod plugged;
mod python;
pub mod records;
mod shape;
mod strategy;
pub mod synthetic;
pub mod templates;
#[cfg(test)]
mod tests;
mod topic;

use menace_model::{Call, Fixtures, Intent, Value};

pub use facts::Facts;
pub(crate) use facts::Told;
pub use hostile::Threat;
pub(crate) use inputs::LARGEST_COUNT;
pub use inputs::{InputSettings, Inputs, Stream};
pub use learn::Lessons;
pub use plugged::{Named, Plugged};
pub use strategy::Strategy;
pub use topic::Role;

/// What a section is called with.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The instance that a method or property is called on.
    pub receiver: Option<Value>,
    pub args: Vec<Value>,
    pub kwargs: Vec<(String, Value)>,
    pub fixtures: Fixtures,
    pub intent: Intent,
    pub strategy: Strategy,
}

impl Input {
    /// All values, in the order in which the guest builds them.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        let kwargs = self.kwargs.iter().map(|(_, value)| value);
        self.receiver.iter().chain(&self.args).chain(kwargs)
    }

    /// Puts the input into a call.
    pub fn fill(self, call: &mut Call) {
        call.receiver = self.receiver;
        call.args = self.args;
        call.kwargs = self.kwargs;
        call.fixtures = self.fixtures;
        call.intent = self.intent;
    }
}
