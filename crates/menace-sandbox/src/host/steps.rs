//! Reads the reports of a call's steps, each of which was written before the next step began.
//!
//! The guest can write into the same memory: entries are read in order until one is malformed.
//! Invariant: there are no more reports than steps, and none for steps after the one that ended the
//! process.

use std::collections::BTreeMap;

use menace_model::{CallResult, CallStage, CallStep, CallStepReport, Outcome, TargetKind, Verdict};

use super::report::{self, ReportContext};
use super::verdict::{self, GuestResult};
use crate::wire::marshal::MarshalValue;
use crate::wire::messages::{InitReport, ReportState, StepProgress};

/// Adds the steps' reports to the outcome.
pub(super) fn add_step_reports(
    outcome: &mut Outcome,
    report: &InitReport,
    context: &ReportContext<'_>,
) {
    let steps_requested = context.call.steps();
    let Some(steps) = report.steps.as_ref().filter(|_| !steps_requested.is_empty()) else { return };
    let begun = (steps.begun as usize).min(steps_requested.len());
    let mut entries = parse_entries(steps, begun);
    for (number, step) in steps_requested.iter().take(begun).enumerate() {
        let Some(item) = entries.remove(&number) else { break };
        outcome.steps.push(build_step_report(&item, step, report, context));
    }
    // When all steps have ended, the call as a whole has a report.
    if report.report_state >= ReportState::ShortReport && !report.ended_irregularly {
        return;
    }
    let (verdict, reason) = verdict::decide_verdict(report, GuestResult::NoReport, &[]);
    if begun > outcome.steps.len() {
        let mut last = CallStepReport::new(verdict, CallStage::Call);
        last.result.reason = reason;
        outcome.steps.push(last);
    } else if steps.releasing_result
        && let Some(last) = outcome.steps.last_mut()
    {
        (last.verdict, last.reason) = (verdict, reason);
    }
}

/// Parses the entries; the last entry of a step counts.
fn parse_entries(steps: &StepProgress, begun: usize) -> BTreeMap<usize, MarshalValue> {
    let mut found = BTreeMap::new();
    let mut rest = &steps.entries[..];
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some((entry, after)) = after.split_at_checked(length) else { break };
        let Ok(item) = MarshalValue::parse(entry) else { break };
        let number = item.get("step").and_then(MarshalValue::as_int);
        let Some(number) = number.and_then(|number| usize::try_from(number).ok()) else { break };
        if number >= begun {
            break;
        }
        found.insert(number, item);
        rest = after;
    }
    found
}

fn build_step_report(
    item: &MarshalValue,
    step: &CallStep,
    report: &InitReport,
    context: &ReportContext<'_>,
) -> CallStepReport {
    let stage = report::read_stage(item, context);
    let exception = item.get("exception").and_then(|item| report::read_exception(item, context, 0));
    let what =
        report::read_guest_result(item, exception.as_ref(), stage, step.intent, report, context);
    let (mut verdict, mut reason) = verdict::verdict_of_result(what)
        .unwrap_or_else(|| (Verdict::Crashed, Some("its report was corrupted".to_owned())));
    let failed = !matches!(what, GuestResult::Returned | GuestResult::NoReport);
    if failed && stage == CallStage::Import && step.target.kind != TargetKind::Module {
        verdict = Verdict::Unreachable;
        reason = Some(format!("its module `{}` cannot be imported", step.target.module.name));
    } else if let (GuestResult::Unreachable, Some(exception)) = (what, &exception) {
        reason = Some(exception.message.clone());
    }
    let most = report.total_ns;
    let millis = |key: &str, most: u64| {
        let nanos = item
            .get(key)
            .and_then(MarshalValue::as_int)
            .and_then(|nanos| u64::try_from(nanos).ok());
        nanos.unwrap_or(0).min(most) as f64 / 1e6
    };
    let of_processors = most.saturating_mul(report::count_processors());
    CallStepReport {
        result: CallResult {
            verdict,
            reason,
            stage,
            value: item.get("value").and_then(|value| report::read_returned(value, item)),
            exception,
        },
        wall_ms: millis("wall_ns", most),
        user_cpu_ms: millis("user_ns", of_processors),
        system_cpu_ms: millis("system_ns", of_processors),
        held_bytes: item
            .get("held_bytes")
            .and_then(MarshalValue::as_int)
            .and_then(|bytes| u64::try_from(bytes).ok()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use menace_model::{Call, CallTarget, ModuleRef};

    use super::*;
    use crate::wire::marshal::MarshalWriter;
    use crate::wire::messages::KillReason;
    use crate::wire::messages::ReportState::{FullReport, Running};

    fn call(steps: usize) -> Call {
        let module = ModuleRef { name: "m".to_owned(), path: None };
        let target = CallTarget { module, qualname: "f".to_owned(), kind: TargetKind::Function };
        Call { shared_steps: vec![CallStep::new(target.clone()); steps], ..Call::new(target) }
    }

    fn entry(number: i64, kind: &str, stage: &str) -> Vec<u8> {
        let mut out = MarshalWriter::default();
        out.open_dict();
        out.write_str("step");
        out.write_int(number);
        for (key, word) in [("kind", kind), ("stage", stage)] {
            out.write_str(key);
            out.write_str(word);
        }
        out.write_str("wall_ns");
        out.write_int(i64::MAX);
        out.close_dict();
        let length = u32::try_from(out.0.len()).unwrap();
        [&length.to_le_bytes()[..], &out.0].concat()
    }

    fn verdicts(steps: usize, report: &InitReport) -> Vec<Verdict> {
        let call = call(steps);
        let context = ReportContext::new("/repo", Path::new("/repo"), &call);
        let mut outcome = Outcome::new(Verdict::Returned, CallStage::Call);
        add_step_reports(&mut outcome, report, &context);
        assert!(outcome.steps.iter().all(|step| step.wall_ms <= 1.0));
        outcome.steps.iter().map(|step| step.verdict).collect()
    }

    fn report(begun: u32, report_state: ReportState, entries: &[Vec<u8>]) -> InitReport {
        let steps = StepProgress { begun, releasing_result: false, entries: entries.concat() };
        InitReport {
            report_state,
            total_ns: 1_000_000,
            steps: Some(steps),
            ..InitReport::default()
        }
    }

    #[test]
    fn the_last_word_on_a_step_counts() {
        let entries = [entry(0, "raised", "call"), entry(0, "returned", "call")];
        assert_eq!(verdicts(1, &report(1, FullReport, &entries)), [Verdict::Returned]);
    }

    #[test]
    fn a_failed_import_makes_a_step_unreachable() {
        let entries = ["raised", "exited"].map(|kind| entry(0, kind, "import"));
        for one in entries {
            assert_eq!(verdicts(1, &report(1, FullReport, &[one])), [Verdict::Unreachable]);
        }
    }

    #[test]
    fn the_step_under_way_has_the_verdict_of_the_end() {
        let entries = [entry(0, "returned", "call")];
        let mut report = report(2, Running, &entries);
        assert_eq!(verdicts(3, &report), [Verdict::Returned, Verdict::Crashed]);
        report.killed = Some(KillReason::Deadline);
        assert_eq!(verdicts(3, &report), [Verdict::Returned, Verdict::TimedOut]);
    }

    #[test]
    fn what_ends_the_process_while_a_result_is_let_go_of_is_that_step() {
        let entries = [entry(0, "returned", "call"), entry(1, "returned", "call")];
        let mut report = report(2, Running, &entries);
        assert_eq!(verdicts(3, &report), [Verdict::Returned, Verdict::Returned]);
        report.steps.as_mut().unwrap().releasing_result = true;
        assert_eq!(verdicts(3, &report), [Verdict::Returned, Verdict::Crashed]);
    }

    #[test]
    fn steps_that_the_call_does_not_have_are_dropped() {
        let entries = [entry(0, "returned", "call"), entry(9, "returned", "call")];
        assert_eq!(verdicts(2, &report(u32::MAX, FullReport, &entries)), [Verdict::Returned]);
        assert_eq!(verdicts(0, &report(2, FullReport, &entries)), []);
        let cut = report(2, FullReport, &[entry(0, "returned", "call")[..9].to_vec()]);
        assert_eq!(verdicts(2, &cut), []);
        let odd = report(1, FullReport, &[entry(0, "won", "call")]);
        assert_eq!(verdicts(1, &odd), [Verdict::Crashed]);
    }
}
