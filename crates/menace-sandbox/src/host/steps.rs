//! What came of the steps of a call, each told by itself before the next one began.
//!
//! The guest can write into the same memory: entries are read in order until one does not fit.
//! Invariant: there are no more reports than steps, and none of a step after the one that ended the
//! process.

use std::collections::BTreeMap;

use menace_model::{How, Outcome, Stage, Step, StepReport, Verdict};

use super::report::{self, Context};
use super::verdict::{self, Said};
use crate::wire::marshal::Item;
use crate::wire::messages::{Report, Steps};

/// Adds them to the outcome.
pub(super) fn add(outcome: &mut Outcome, report: &Report, context: &Context<'_>) {
    let asked = context.call.steps();
    let Some(steps) = report.steps.as_ref().filter(|_| !asked.is_empty()) else { return };
    let begun = (steps.begun as usize).min(asked.len());
    let mut told = told(steps, begun);
    for (number, step) in asked.iter().take(begun).enumerate() {
        let Some(item) = told.remove(&number) else { break };
        outcome.steps.push(reported(&item, step, report, context));
    }
    // The whole has a report of its own once all steps have ended.
    if report.phase >= 2 {
        return;
    }
    let (verdict, reason) = verdict::judge(report, Said::Nothing, 0);
    if begun > outcome.steps.len() {
        outcome.steps.push(StepReport { reason, ..StepReport::of(verdict, Stage::Call) });
    } else if steps.leaving
        && let Some(last) = outcome.steps.last_mut()
    {
        (last.verdict, last.reason) = (verdict, reason);
    }
}

/// The last entry of each step.
fn told(steps: &Steps, begun: usize) -> BTreeMap<usize, Item> {
    let mut found = BTreeMap::new();
    let mut rest = &steps.told[..];
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some((entry, after)) = after.split_at_checked(length) else { break };
        let Ok(item) = Item::read(entry) else { break };
        let number = item.get("step").and_then(Item::as_int);
        let Some(number) = number.and_then(|number| usize::try_from(number).ok()) else { break };
        if number >= begun {
            break;
        }
        found.insert(number, item);
        rest = after;
    }
    found
}

fn reported(item: &Item, step: &Step, report: &Report, context: &Context<'_>) -> StepReport {
    let stage = report::stage(item, context);
    let exception = item.get("exception").and_then(|item| report::raised(item, context, 0));
    let what = report::what(item, exception.as_ref(), stage, step.intent, report, context);
    let (mut verdict, mut reason) = verdict::by_itself(what)
        .unwrap_or_else(|| (Verdict::Crashed, Some("its report was spoilt".to_owned())));
    let failed = !matches!(what, Said::Returned | Said::Nothing);
    if failed && stage == Stage::Import && step.target.how != How::Module {
        verdict = Verdict::Unreachable;
        reason = Some(format!("its module `{}` cannot be imported", step.target.module.name));
    } else if let (Said::Unreachable, Some(exception)) = (what, &exception) {
        reason = Some(exception.message.clone());
    }
    let most = report.total_ns;
    let millis = |key: &str, most: u64| {
        let nanos =
            item.get(key).and_then(Item::as_int).and_then(|nanos| u64::try_from(nanos).ok());
        nanos.unwrap_or(0).min(most) as f64 / 1e6
    };
    let of_processors = most.saturating_mul(report::processors());
    StepReport {
        verdict,
        reason,
        stage,
        value: item.get("value").and_then(|value| report::returned(value, item)),
        exception,
        wall_ms: millis("wall_ns", most),
        user_cpu_ms: millis("user_ns", of_processors),
        system_cpu_ms: millis("system_ns", of_processors),
        held_bytes: item
            .get("held")
            .and_then(Item::as_int)
            .and_then(|bytes| u64::try_from(bytes).ok()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use menace_model::{Call, ModuleRef, Target};

    use super::*;
    use crate::wire::marshal::Writer;
    use crate::wire::messages::Killed;

    fn call(steps: usize) -> Call {
        let module = ModuleRef { name: "m".to_owned(), path: None };
        let target = Target { module, qualname: "f".to_owned(), how: How::Function };
        Call { together: vec![Step::new(target.clone()); steps], ..Call::new(target) }
    }

    fn entry(number: i64, kind: &str, stage: &str) -> Vec<u8> {
        let mut out = Writer::default();
        out.open_dict();
        out.str("step");
        out.int(number);
        for (key, word) in [("kind", kind), ("stage", stage)] {
            out.str(key);
            out.str(word);
        }
        out.str("wall_ns");
        out.int(i64::MAX);
        out.close_dict();
        let length = u32::try_from(out.0.len()).unwrap();
        [&length.to_le_bytes()[..], &out.0].concat()
    }

    fn verdicts(steps: usize, report: &Report) -> Vec<Verdict> {
        let call = call(steps);
        let context = Context::new("/repo", Path::new("/repo"), &call);
        let mut outcome = Outcome::of(Verdict::Returned, Stage::Call);
        add(&mut outcome, report, &context);
        assert!(outcome.steps.iter().all(|step| step.wall_ms <= 1.0));
        outcome.steps.iter().map(|step| step.verdict).collect()
    }

    fn report(begun: u32, phase: u8, told: &[Vec<u8>]) -> Report {
        let steps = Steps { begun, leaving: false, told: told.concat() };
        Report { phase, total_ns: 1_000_000, steps: Some(steps), ..Report::default() }
    }

    #[test]
    fn the_last_word_on_a_step_counts() {
        let told = [entry(0, "raised", "call"), entry(0, "returned", "call")];
        assert_eq!(verdicts(1, &report(1, 3, &told)), [Verdict::Returned]);
    }

    #[test]
    fn a_failed_import_makes_a_step_unreachable() {
        let told = ["raised", "exited"].map(|kind| entry(0, kind, "import"));
        for one in told {
            assert_eq!(verdicts(1, &report(1, 3, &[one])), [Verdict::Unreachable]);
        }
    }

    #[test]
    fn the_step_under_way_has_the_verdict_of_the_end() {
        let told = [entry(0, "returned", "call")];
        let mut report = report(2, 1, &told);
        assert_eq!(verdicts(3, &report), [Verdict::Returned, Verdict::Crashed]);
        report.killed = Some(Killed::Deadline);
        assert_eq!(verdicts(3, &report), [Verdict::Returned, Verdict::TimedOut]);
    }

    #[test]
    fn what_ends_the_process_while_a_result_is_let_go_of_is_that_step() {
        let told = [entry(0, "returned", "call"), entry(1, "returned", "call")];
        let mut report = report(2, 1, &told);
        assert_eq!(verdicts(3, &report), [Verdict::Returned, Verdict::Returned]);
        report.steps.as_mut().unwrap().leaving = true;
        assert_eq!(verdicts(3, &report), [Verdict::Returned, Verdict::Crashed]);
    }

    #[test]
    fn lies_are_left_out() {
        let told = [entry(0, "returned", "call"), entry(9, "returned", "call")];
        assert_eq!(verdicts(2, &report(u32::MAX, 3, &told)), [Verdict::Returned]);
        assert_eq!(verdicts(0, &report(2, 3, &told)), []);
        let cut = report(2, 3, &[entry(0, "returned", "call")[..9].to_vec()]);
        assert_eq!(verdicts(2, &cut), []);
        let odd = report(1, 3, &[entry(0, "won", "call")]);
        assert_eq!(verdicts(1, &odd), [Verdict::Crashed]);
    }
}
