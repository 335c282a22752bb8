//! Inputs for sections: receivers, arguments and the files that they name.
//!
//! ```text
//! infer      annotation, default, name, docstring, uses, callers → shapes of parameters
//!   ▼
//! make       shape → value: typical, realistic, random
//! boundary   shape → boundary values    hostile   role → hostile values
//! misuse     valid call → misuse         drift     data → data of another schema
//! records, history, synthetic           inputs from files, earlier runs and documentation
//! learn      outcomes → learned hints: needed types, working instances and calls
//!   ▼
//! generator  inputs of one section: which sources, in which order, with which shares
//! ```
//!
//! Pure: values are descriptions that the guest builds. Invariant: the same section, settings and
//! seed give the same inputs.

mod boundary;
pub mod drift;
pub mod fixtures;
mod generator;
pub mod history;
mod hostile;
mod infer;
mod learn;
mod make;
mod misuse;
pub mod mutate;
mod name_topics;
mod network;
mod python;
pub mod records;
mod repository_facts;
mod shape;
pub mod synthetic;
#[cfg(test)]
mod tests;
mod transplant;

use menace_model::{Call, CallFixtures, InputIntent, Value};

pub(crate) use generator::MAX_PLAUSIBLE_COUNT;
pub use generator::{GrowingInput, InputGenerator, InputSettings, InputStream};
pub use hostile::{INJECTION_MARKER, ThreatIntensity};
pub(crate) use infer::annotation::annotation_shape;
pub(crate) use infer::docstring_types::docstring_shape;
pub(crate) use infer::literal::literal_shape;
pub use learn::LearnedHints;
pub use menace_model::InputStrategy;
pub use name_topics::TextRole;
pub use network::section_uses_network;
pub(crate) use python::parse_value;
pub use records::{InputTemplates, NamedArguments, PluginInputs};
pub use repository_facts::RepositoryFacts;
pub(crate) use repository_facts::SectionContext;
pub(crate) use shape::{ValueBounds, ValueShape};
pub use transplant::{transplant_values, transplantable_values};

/// The input of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallInput {
    /// The instance that a method or property is called on.
    pub receiver: Option<Value>,
    pub args: Vec<Value>,
    pub kwargs: Vec<(String, Value)>,
    pub fixtures: CallFixtures,
    pub intent: InputIntent,
    pub strategy: InputStrategy,
}

impl CallInput {
    /// All values, in the order in which the guest builds them.
    pub fn all_values(&self) -> impl Iterator<Item = &Value> {
        let kwargs = self.kwargs.iter().map(|(_, value)| value);
        self.receiver.iter().chain(&self.args).chain(kwargs)
    }

    pub fn fill_call(self, call: &mut Call) {
        call.receiver = self.receiver;
        call.args = self.args;
        call.kwargs = self.kwargs;
        call.fixtures = self.fixtures;
        call.intent = self.intent;
    }
}
