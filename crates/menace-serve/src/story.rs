//! One failure, told: the input, the trouble around it, the traceback with the source.

use std::path::Path;

use menace_loop::failure::python;
use menace_model::{Conditions, Failure, Network, Raised};
use menace_store::KnownFailure;
use serde::Serialize;

use crate::clock::moment;
use crate::source::{SourceLine, around};
use crate::text::cut;

/// Lines of source before and after the one in question.
const AROUND: usize = 3;
/// Frames of a deep traceback that are shown, the innermost ones.
const FRAMES: usize = 12;
/// Exceptions that led to each other.
const CAUSES: usize = 5;
const MESSAGE: usize = 2_000;
const INPUT: usize = 2_000;
const OUTPUT: usize = 2_000;

#[derive(Debug, Serialize)]
pub(crate) struct Story {
    pub id: String,
    pub section: String,
    pub module: String,
    pub name: String,
    pub kind: String,
    pub message: String,
    pub location: String,
    pub scenario: String,
    pub verdict: String,
    pub input: String,
    pub shrunk: Option<String>,
    /// What that one still needs, where it is less than what the call had.
    pub shrunk_trouble: Option<Vec<String>>,
    pub trouble: Vec<String>,
    pub seed: String,
    pub count: u64,
    pub first_run: String,
    pub first: String,
    pub last_run: String,
    pub last: String,
    pub gone: Option<String>,
    pub is_new: bool,
    pub tracebacks: Vec<Traceback>,
    pub stdout: String,
    pub stderr: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Traceback {
    pub kind: String,
    pub message: String,
    pub skipped: usize,
    pub frames: Vec<ShownFrame>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ShownFrame {
    pub file: String,
    pub line: u32,
    pub function: String,
    pub own: bool,
    pub source: Vec<SourceLine>,
}

/// Source comes from the repository as it is now.
pub(crate) fn tell(known: &KnownFailure, repository: &Path) -> Story {
    let Failure { id, section, kind, scenario, verdict, message, location, call, outcome, .. } =
        &known.failure;
    let mut tracebacks = Vec::new();
    let mut raised = outcome.exception.as_ref();
    while let Some(one) = raised.filter(|_| tracebacks.len() < CAUSES) {
        tracebacks.push(traceback(one, repository));
        raised = one.cause.as_deref();
    }
    Story {
        id: id.0.clone(),
        section: section.as_str().to_owned(),
        module: section.path().to_owned(),
        name: named(section.qualname()),
        kind: kind.as_str().to_owned(),
        message: cut(message, MESSAGE),
        location: location.to_string(),
        scenario: scenario.clone(),
        verdict: verdict.as_str().to_owned(),
        input: cut(&python(call), INPUT),
        shrunk: known.shrunk.as_ref().map(|call| cut(&python(call), INPUT)),
        shrunk_trouble: known
            .shrunk
            .as_ref()
            .filter(|small| small.conditions != call.conditions)
            .map(|small| trouble(&small.conditions)),
        trouble: trouble(&call.conditions),
        seed: call.seed.to_string(),
        count: known.count_in_run.unwrap_or(known.count),
        first_run: known.first.run.0.clone(),
        first: moment(known.first.at_ms),
        last_run: known.last.run.0.clone(),
        last: moment(known.last.at_ms),
        gone: known.gone_ms.map(moment),
        is_new: known.first.run == known.last.run,
        tracebacks,
        stdout: cut(&outcome.stdout.text, OUTPUT),
        stderr: cut(&outcome.stderr.text, OUTPUT),
    }
}

/// A section's name within its module.
pub(crate) fn named(qualname: &str) -> String {
    if qualname.is_empty() { "(top level)".to_owned() } else { qualname.to_owned() }
}

fn traceback(raised: &Raised, repository: &Path) -> Traceback {
    let skipped = raised.frames.len().saturating_sub(FRAMES);
    let last_own = raised.frames.iter().rposition(|frame| frame.own);
    let frames = raised.frames.iter().enumerate().skip(skipped);
    Traceback {
        kind: raised.kind.strip_prefix("builtins.").unwrap_or(&raised.kind).to_owned(),
        message: cut(&raised.message, MESSAGE),
        skipped,
        frames: frames
            .map(|(index, frame)| {
                let lines = if Some(index) == last_own { AROUND } else { 0 };
                ShownFrame {
                    file: frame.file.clone(),
                    line: frame.line,
                    function: frame.function.clone(),
                    own: frame.own,
                    source: if frame.own {
                        around(repository, &frame.file, frame.line, lines)
                    } else {
                        Vec::new()
                    },
                }
            })
            .collect(),
    }
}

/// What was arranged around the call.
fn trouble(conditions: &Conditions) -> Vec<String> {
    let Conditions { network, faults, burst, upstream } = conditions;
    let mut told = Vec::new();
    if let Some(burst) = burst {
        told.push(format!("{} threads and {} tasks at once", burst.threads, burst.tasks));
    }
    for fault in faults {
        told.push(format!("{} is injected", fault.mode.as_str().replace('_', " ")));
    }
    if *network != Network::default() {
        let (latency, loss) = (network.latency_ms, 100.0 * network.loss);
        told.push(format!("a network with {latency:.0} ms latency and {loss:.1} % loss"));
    }
    if upstream.as_ref().is_some_and(|upstream| upstream.failure.is_some()) {
        told.push("services that it calls fail".to_owned());
    }
    told
}
