//! One call of one section: what is called, with what, under which limits.

mod python;
mod snippet;

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

pub use snippet::format_snippet;

use crate::{CallConditions, CallConfinement, CallFixtures, CallLimits, CallStep};

crate::named_enum! {
    /// How a section is called.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TargetKind {
        Function = "function",
        Method = "method",
        ClassMethod = "class_method",
        StaticMethod = "static_method",
        Property = "property",
        /// The top level of a module: importing the module is the call.
        Module = "module",
    }
}

/// A Python module and the file, relative to the repository, that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModuleRef {
    /// Dotted name.
    pub name: String,
    /// Path of the file; needed when Python would not find it under its name.
    pub path: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallTarget {
    pub module: ModuleRef,
    /// Empty for the top level of a module.
    pub qualname: String,
    #[serde(alias = "how")]
    pub kind: TargetKind,
}

/// Everything that determines what a call does.
///
/// Dereferences to its step, so that `call.args` are the arguments of the step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Flattened in JSON.
    #[serde(flatten)]
    pub step: CallStep,
    pub seed: u64,
    pub limits: CallLimits,
    pub conditions: CallConditions,
    pub fixtures: CallFixtures,
    /// Whether to record the lines and branches that are reached, which slows the call down.
    pub coverage: bool,
    /// Sections that are called one after the other in one process, each in the state that the
    /// earlier ones left. If there are any, [`Call::step`] is ignored.
    #[serde(alias = "together", default, skip_serializing_if = "Vec::is_empty")]
    pub shared_steps: Vec<CallStep>,
    /// How often the same call is repeated in the same process, to measure what each keeps. Ignored
    /// with [`Call::shared_steps`].
    #[serde(alias = "again", default, skip_serializing_if = "is_zero")]
    pub repeats: u32,
    /// The confinement, if it is not that of the module's sandbox spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<CallConfinement>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Call {
    /// A call without arguments, under the default limits, without faults.
    pub fn new(target: CallTarget) -> Self {
        Self::of_step(CallStep::new(target))
    }

    /// A call of this step under the default limits, without faults.
    pub fn of_step(step: CallStep) -> Self {
        Self {
            step,
            seed: 0,
            limits: CallLimits::default(),
            conditions: CallConditions::default(),
            fixtures: CallFixtures::default(),
            coverage: false,
            shared_steps: Vec::new(),
            repeats: 0,
            confinement: None,
        }
    }

    /// The steps of a shared-process run, or of repeated calls; empty for a single call.
    pub fn steps(&self) -> Cow<'_, [CallStep]> {
        if !self.shared_steps.is_empty() || self.repeats == 0 {
            return Cow::Borrowed(&self.shared_steps);
        }
        Cow::Owned(vec![self.step.clone(); self.repeats as usize + 1])
    }
}

impl Deref for Call {
    type Target = CallStep;

    fn deref(&self) -> &CallStep {
        &self.step
    }
}

impl DerefMut for Call {
    fn deref_mut(&mut self) -> &mut CallStep {
        &mut self.step
    }
}
