//! Makes the same call many times, and sums up the outcomes.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use menace_model::{Call, Outcome, Verdict};
use menace_sandbox::{
    CallJob, CallScheduler, CancelToken, SandboxBackend, SandboxError, SandboxSpec,
};

use crate::render::outcome_json::{OutcomeHeader, RepeatedCallsJson};
use crate::render::progress::DelayedProgressBar;

/// Outcomes in numbers.
#[derive(Debug, Serialize)]
pub(crate) struct RepeatSummary {
    pub calls: u32,
    pub jobs: usize,
    /// How often each verdict was reached.
    pub verdicts: BTreeMap<Verdict, u32>,
    /// How often each result came, by its hash.
    pub results: BTreeMap<String, u32>,
    /// The calls were equal and their outcomes are not.
    pub differ: bool,
    pub total_ms: TimeSpread,
    /// The first outcome of each verdict.
    #[serde(skip)]
    pub samples: BTreeMap<Verdict, Outcome>,
    #[serde(skip)]
    endings: BTreeSet<CallEnding>,
}

/// How a call ended, as far as equal calls must agree on it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CallEnding {
    verdict: Verdict,
    /// The hash of the result.
    result: Option<String>,
    /// Type and message.
    exception: Option<(String, String)>,
    /// Code and signal.
    exit: (Option<i32>, Option<i32>),
}

impl CallEnding {
    fn from_outcome(outcome: &Outcome) -> Self {
        let exception = outcome.exception.as_ref();
        Self {
            verdict: outcome.verdict,
            result: outcome.value.as_ref().and_then(|value| value.hash.clone()),
            exception: exception.map(|it| (it.kind.clone(), without_addresses(&it.message))),
            exit: (outcome.exit.code, outcome.exit.signal),
        }
    }
}

/// The text without ` at 0x…`, in which equal objects differ.
fn without_addresses(text: &str) -> String {
    let mut pieces = text.split(" at 0x");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| {
        text + " at 0x" + piece.trim_start_matches(|digit: char| digit.is_ascii_hexdigit())
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct TimeSpread {
    pub median: f64,
    pub p90: f64,
}

impl TimeSpread {
    /// Quantiles by nearest rank: each is the time of one of the calls.
    fn from_times(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let rank = |share: usize| {
            let at = (times.len() * share).div_ceil(100).max(1) - 1;
            times.get(at).copied().unwrap_or(0.0)
        };
        Self { median: rank(50), p90: rank(90) }
    }
}

impl RepeatSummary {
    fn add(&mut self, outcome: Outcome) {
        *self.verdicts.entry(outcome.verdict).or_default() += 1;
        if let Some(hash) = outcome.value.as_ref().and_then(|value| value.hash.clone()) {
            *self.results.entry(hash).or_default() += 1;
        }
        self.endings.insert(CallEnding::from_outcome(&outcome));
        self.samples.entry(outcome.verdict).or_insert(outcome);
    }

    pub(crate) fn to_json<'a>(&'a self, header: OutcomeHeader<'a>) -> RepeatedCallsJson<'a> {
        RepeatedCallsJson { header, outcomes: self, samples: &self.samples }
    }
}

/// Makes the calls. The first failure of Menace itself ends the others.
pub(super) fn run_repeated_calls(
    backend: &dyn SandboxBackend,
    spec: &SandboxSpec,
    call: &Call,
    calls: u32,
    jobs: usize,
) -> Result<RepeatSummary, SandboxError> {
    let mut summary = RepeatSummary {
        calls,
        jobs,
        verdicts: BTreeMap::new(),
        results: BTreeMap::new(),
        differ: false,
        total_ms: TimeSpread { median: 0.0, p90: 0.0 },
        samples: BTreeMap::new(),
        endings: BTreeSet::new(),
    };
    let (mut times, mut failed, mut done) = (Vec::new(), None, 0);
    let progress = DelayedProgressBar::new("calling");
    let work = (0..calls).map(|_| CallJob { spec: spec.clone(), call: call.clone() });
    // A token of its own, not that of Ctrl-C: a failure is no cancellation by the user.
    let rest = CancelToken::default();
    let scheduler = CallScheduler::new(backend, jobs);
    scheduler.run(&rest, work, |_, result| match result.or_else(SandboxError::lost_to_crash) {
        Ok(outcome) => {
            done += 1;
            progress.report(done, calls as usize);
            times.push(outcome.runtime_metrics.total_ms);
            summary.add(outcome);
        }
        Err(error) if failed.is_none() => {
            failed = Some(error);
            rest.cancel();
        }
        Err(_) => {}
    });
    if let Some(error) = failed {
        return Err(error);
    }
    summary.differ = summary.endings.len() > 1;
    summary.total_ms = TimeSpread::from_times(times);
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use menace_model::{CallResult, CallStage, ProcessExit, RaisedException};

    use super::*;

    fn raised(kind: &str, message: &str) -> Outcome {
        let exception = RaisedException {
            kind: kind.to_owned(),
            message: message.to_owned(),
            bases: Vec::new(),
            explicit: false,
            frames: Vec::new(),
            errno: None,
            cause: None,
            group: Vec::new(),
            notes: Vec::new(),
        };
        Outcome::of_result(CallResult {
            exception: Some(exception),
            ..CallResult::new(Verdict::Raised, CallStage::Call)
        })
    }

    #[test]
    fn ends_differ_by_exception_message_and_exit_but_not_by_address() {
        let exited = |code| Outcome {
            exit: ProcessExit { code: Some(code), signal: None },
            ..Outcome::new(Verdict::Crashed, CallStage::Call)
        };
        let differ = |one: &Outcome, other: &Outcome| {
            CallEnding::from_outcome(one) != CallEnding::from_outcome(other)
        };
        assert!(differ(&raised("ValueError", "a"), &raised("ValueError", "b")));
        assert!(differ(&raised("ValueError", "a"), &raised("KeyError", "a")));
        assert!(differ(&exited(1), &exited(2)));
        assert!(!differ(&exited(1), &exited(1)));
        let (one, other) = ("<A object at 0x7f01>, 1", "<A object at 0x55Fe2>, 1");
        assert!(!differ(&raised("ValueError", one), &raised("ValueError", other)));
        let other = "<A object at 0x7f01>, 2";
        assert!(differ(&raised("ValueError", one), &raised("ValueError", other)));
    }

    #[test]
    fn ranks_are_times_that_happened() {
        let times = (1..=10).rev().map(f64::from).collect();
        assert_eq!(TimeSpread::from_times(times), TimeSpread { median: 5.0, p90: 9.0 });
        assert_eq!(TimeSpread::from_times(vec![7.0]), TimeSpread { median: 7.0, p90: 7.0 });
    }
}
