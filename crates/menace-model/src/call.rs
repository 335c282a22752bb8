//! One call of one section: what is called, with what, under which limits.

mod python;

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use crate::{CallConditions, CallConfinement, CallFixtures, CallLimits, CallStep};

crate::named_enum! {
    /// How the harness reaches the section.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TargetKind {
        Function = "function",
        Method = "method",
        ClassMethod = "class_method",
        StaticMethod = "static_method",
        Property = "property",
        /// The top level of the module: importing it is the call.
        Module = "module",
    }
}

/// A Python module and the file, relative to the repository, that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModuleRef {
    /// Dotted name.
    pub name: String,
    /// Where the file is; needed when Python could not find it under its name.
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

/// Everything that decides what a call does.
///
/// Dereferences to its step, so that `call.args` are the arguments of the step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Its fields stand beside the others in JSON.
    #[serde(flatten)]
    pub step: CallStep,
    pub seed: u64,
    pub limits: CallLimits,
    pub conditions: CallConditions,
    pub fixtures: CallFixtures,
    /// Record the lines and branches that are reached, which makes the call slower.
    pub coverage: bool,
    /// Several sections in one process, one after the other, each with what the ones before it left
    /// behind. If there are any, they are all that is called: [`Call::step`] counts for nothing.
    #[serde(alias = "together", default, skip_serializing_if = "Vec::is_empty")]
    pub shared_steps: Vec<CallStep>,
    /// How often the same call is made again in the same process, to see what each of them keeps.
    /// Without effect beside [`Call::shared_steps`].
    #[serde(alias = "again", default, skip_serializing_if = "is_zero")]
    pub repeats: u32,
    /// How the interpreter is confined, where that is not the usual way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<CallConfinement>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Call {
    /// Without arguments, under the default limits, without faults.
    pub fn new(target: CallTarget) -> Self {
        Self::of_step(CallStep::new(target))
    }

    /// Under the default limits, without faults.
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

    /// What is called one after the other in one process; nothing for a call that stands alone.
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
