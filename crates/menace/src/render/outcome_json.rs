//! Outcomes for machines. The shape is a promise: a change of meaning raises `version`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use menace_model::{How, Outcome, Target, Value, Verdict};
use menace_sandbox::Tier;
use menace_sandbox::interpreter::{Interpreter, Origin};

use crate::commands::exec::repeat::Summary;

const VERSION: u32 = 1;

/// What was called, and where.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Header<'a> {
    version: u32,
    pub target: TargetJson<'a>,
    pub seed: u64,
    /// None when there was nothing to call.
    pub tier: Option<Tier>,
    pub python: Option<PythonJson<'a>>,
    /// What the section was called with, where that is not what was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drifted: Option<DriftedJson>,
}

/// Arguments whose schema was changed.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DriftedJson {
    pub args: Vec<Value>,
    pub kwargs: BTreeMap<String, Value>,
}

impl DriftedJson {
    pub(crate) fn new(args: &[Value], kwargs: &[(String, Value)]) -> Self {
        Self { args: args.to_vec(), kwargs: kwargs.iter().cloned().collect() }
    }

    /// As they would be written in a call.
    pub(crate) fn to_python(&self) -> String {
        let args = self.args.iter().map(|value| value.to_python().expression);
        let kwargs = self.kwargs.iter();
        let kwargs = kwargs.map(|(name, value)| format!("{name}={}", value.to_python().expression));
        args.chain(kwargs).collect::<Vec<_>>().join(", ")
    }
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct TargetJson<'a> {
    /// As it can be typed.
    pub name: String,
    module: &'a str,
    pub path: Option<&'a str>,
    qualname: &'a str,
    pub how: How,
    pub line: Option<u32>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct PythonJson<'a> {
    pub executable: &'a Path,
    pub version: String,
    pub origin: Origin,
}

impl<'a> PythonJson<'a> {
    pub(crate) fn new(interpreter: &'a Interpreter) -> Self {
        let (major, minor, micro) = interpreter.version;
        Self {
            executable: &interpreter.executable,
            version: format!("{major}.{minor}.{micro}"),
            origin: interpreter.origin,
        }
    }
}

impl<'a> Header<'a> {
    pub(crate) fn new(
        target: &'a Target,
        line: Option<u32>,
        seed: u64,
        ran: Option<(Tier, &'a Interpreter)>,
    ) -> Self {
        let Target { module, qualname, how } = target;
        let name = match qualname.as_str() {
            "" => module.name.clone(),
            qualname => format!("{}:{qualname}", module.name),
        };
        Self {
            version: VERSION,
            target: TargetJson {
                name,
                module: &module.name,
                path: module.path.as_deref(),
                qualname,
                how: *how,
                line,
            },
            seed,
            tier: ran.map(|(tier, _)| tier),
            python: ran.map(|(_, interpreter)| PythonJson::new(interpreter)),
            drifted: None,
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct OutcomeJson<'a> {
    #[serde(flatten)]
    pub header: Header<'a>,
    #[serde(flatten)]
    pub outcome: &'a Outcome,
}

#[derive(Debug, Serialize)]
pub(crate) struct RepeatJson<'a> {
    #[serde(flatten)]
    pub header: Header<'a>,
    pub outcomes: &'a Summary,
    /// One whole outcome per verdict: the first.
    pub samples: &'a BTreeMap<Verdict, Outcome>,
}
