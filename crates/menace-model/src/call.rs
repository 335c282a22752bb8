//! One call of one section: what is called, with what, under which limits.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Conditions, Fixtures, Intent, Limits, Step, Value};

/// How the harness gets at the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    Function,
    Method,
    ClassMethod,
    StaticMethod,
    Property,
    /// The top level of the module: importing it is the call.
    Module,
}

impl How {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::ClassMethod => "class_method",
            Self::StaticMethod => "static_method",
            Self::Property => "property",
            Self::Module => "module",
        }
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
pub struct Target {
    pub module: ModuleRef,
    /// Empty for the top level of a module.
    pub qualname: String,
    pub how: How,
}

/// Everything that decides what a call does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub target: Target,
    /// How to get the instance that a method or property needs.
    pub receiver: Option<Value>,
    pub args: Vec<Value>,
    pub kwargs: Vec<(String, Value)>,
    pub seed: u64,
    pub limits: Limits,
    pub conditions: Conditions,
    pub fixtures: Fixtures,
    pub intent: Intent,
    /// Lines and branches that were reached are wanted, at the price of a slower call.
    pub coverage: bool,
    /// Several sections in one process, one after the other, each with what the ones before it left
    /// behind. If there are any, they are all that is called: the target, receiver and arguments of
    /// the call itself count for nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<Step>,
    /// How often the same call is made again in the same process, to see what each of them keeps.
    /// Nothing together with [`Call::together`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub again: u32,
    /// How the interpreter is confined, where that is not the usual way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<Confinement>,
}

/// What decides on system calls that are forbidden: whoever makes the call again wants the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// 1 to 5.
    pub security_level: u8,
    /// No network at all.
    pub safe_mode: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Call {
    /// Without arguments, under the usual limits, in peace.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            receiver: None,
            args: Vec::new(),
            kwargs: Vec::new(),
            seed: 0,
            limits: Limits::default(),
            conditions: Conditions::default(),
            fixtures: Fixtures::default(),
            intent: Intent::default(),
            coverage: false,
            together: Vec::new(),
            again: 0,
            confinement: None,
        }
    }

    /// What is called one after the other in one process; nothing for a call that stands alone.
    pub fn steps(&self) -> Cow<'_, [Step]> {
        if !self.together.is_empty() || self.again == 0 {
            return Cow::Borrowed(&self.together);
        }
        let Self { target, receiver, args, kwargs, intent, .. } = self.clone();
        let step = Step { target, receiver, args, kwargs, intent };
        Cow::Owned(vec![step; self.again as usize + 1])
    }
}
