//! Outcomes for machines. The shape is a promise: a change of meaning raises `version`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use menace_model::{CallTarget, Outcome, TargetKind, Value, Verdict};
use menace_sandbox::Tier;
use menace_sandbox::interpreter::{InterpreterOrigin, PythonInterpreter};

use crate::repeat::RepeatSummary;

const OUTCOME_JSON_VERSION: u32 = 1;

/// The call, and where it was made.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct OutcomeHeader<'a> {
    version: u32,
    pub target: CallTargetJson<'a>,
    pub seed: u64,
    /// `None` when nothing could be called.
    pub tier: Option<Tier>,
    pub python: Option<InterpreterJson<'a>>,
    /// The drifted arguments, if they differ from the given ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drifted: Option<DriftedArgumentsJson>,
}

/// Arguments whose schema was changed.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DriftedArgumentsJson {
    pub args: Vec<Value>,
    pub kwargs: BTreeMap<String, Value>,
}

impl DriftedArgumentsJson {
    pub(crate) fn new(args: &[Value], kwargs: &[(String, Value)]) -> Self {
        Self { args: args.to_vec(), kwargs: kwargs.iter().cloned().collect() }
    }

    /// The arguments as Python source.
    pub(crate) fn to_python(&self) -> String {
        let args = self.args.iter().map(|value| value.to_python().expression);
        let kwargs = self.kwargs.iter();
        let kwargs = kwargs.map(|(name, value)| format!("{name}={}", value.to_python().expression));
        args.chain(kwargs).collect::<Vec<_>>().join(", ")
    }
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct CallTargetJson<'a> {
    /// The name in the form that `menace exec` accepts.
    pub name: String,
    module: &'a str,
    pub path: Option<&'a str>,
    qualname: &'a str,
    pub kind: TargetKind,
    pub line: Option<u32>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct InterpreterJson<'a> {
    pub executable: &'a Path,
    pub version: String,
    pub origin: InterpreterOrigin,
}

impl<'a> InterpreterJson<'a> {
    pub(crate) fn new(interpreter: &'a PythonInterpreter) -> Self {
        let (major, minor, micro) = interpreter.version;
        Self {
            executable: &interpreter.executable,
            version: format!("{major}.{minor}.{micro}"),
            origin: interpreter.origin,
        }
    }
}

impl<'a> OutcomeHeader<'a> {
    pub(crate) fn new(
        target: &'a CallTarget,
        line: Option<u32>,
        seed: u64,
        ran: Option<(Tier, &'a PythonInterpreter)>,
    ) -> Self {
        let CallTarget { module, qualname, kind } = target;
        let name = match qualname.as_str() {
            "" => module.name.clone(),
            qualname => format!("{}:{qualname}", module.name),
        };
        Self {
            version: OUTCOME_JSON_VERSION,
            target: CallTargetJson {
                name,
                module: &module.name,
                path: module.path.as_deref(),
                qualname,
                kind: *kind,
                line,
            },
            seed,
            tier: ran.map(|(tier, _)| tier),
            python: ran.map(|(_, interpreter)| InterpreterJson::new(interpreter)),
            drifted: None,
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct OutcomeJson<'a> {
    #[serde(flatten)]
    pub header: OutcomeHeader<'a>,
    #[serde(flatten)]
    pub outcome: &'a Outcome,
}

#[derive(Debug, Serialize)]
pub(crate) struct RepeatedCallsJson<'a> {
    #[serde(flatten)]
    pub header: OutcomeHeader<'a>,
    pub outcomes: &'a RepeatSummary,
    /// The first outcome of each verdict.
    pub samples: &'a BTreeMap<Verdict, Outcome>,
}
