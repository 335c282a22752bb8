//! Reads the harness's report about a call's conditions: coverage, upstream requests, fault stats
//! and concurrency bursts.
//!
//! The guest can write into the same memory: only what the call requested is read, and only if it
//! has the right form. Invariant: for each condition that the harness applies, the outcome says
//! whether it was applied.

use menace_model::{
    BurstReport, CallCoverage, FaultMode, FaultStats, FileCoverage, Limit, LimitMechanism, Outcome,
    StackFrame, UpstreamReport, UpstreamRequest,
};

use super::report::{ReportContext, display_path};
use crate::network;
use crate::wire::marshal::MarshalValue;

/// Faults that only the harness injects.
const HARNESS_FAULTS: [FaultMode; 2] = [FaultMode::FlakyUpstream, FaultMode::SchemaDrift];
/// Faults that the harness also injects into its own replies, where it answers in place of a
/// service.
const HARNESS_REPLY_FAULTS: [FaultMode; 2] = [FaultMode::Network, FaultMode::NetworkPartition];

/// Adds the conditions' reports to the outcome.
pub(super) fn add_conditions(
    outcome: &mut Outcome,
    report: &MarshalValue,
    context: &ReportContext<'_>,
) {
    let call = context.call;
    if call.coverage {
        outcome.coverage = report.get("coverage").map(read_coverage);
    }
    if call.conditions.burst.is_some() {
        outcome.burst = report.get("burst").map(|item| read_burst(item, context));
        record_enforcement(outcome, Limit::Burst, outcome.burst.is_some());
    }
    let faults = call.conditions.faults.iter().map(|fault| fault.mode);
    let answers = call.conditions.upstream.is_some();
    let is_ours = |mode: &FaultMode| {
        HARNESS_FAULTS.contains(mode) || answers && HARNESS_REPLY_FAULTS.contains(mode)
    };
    let harness: Vec<FaultMode> = faults.filter(is_ours).collect();
    if answers || harness.contains(&FaultMode::FlakyUpstream) {
        outcome.upstream = report.get("upstream").map(read_upstream);
    }
    if answers {
        // A call that died without a report had upstream replies nevertheless.
        let answered = outcome.upstream.is_some() || *report == MarshalValue::None;
        record_enforcement(outcome, Limit::Upstream, answered);
        if answered {
            let of_link = network::imperfect_limits(&call.conditions.network);
            let of_link = of_link.filter(|limit| *limit != Limit::PacketDuplication);
            let faults = harness.iter().filter(|mode| HARNESS_REPLY_FAULTS.contains(mode));
            for limit in of_link.chain(faults.map(|mode| Limit::from(*mode))) {
                record_enforcement(outcome, limit, true);
            }
        }
    }
    for item in report.get("fault_stats").map(MarshalValue::items).unwrap_or_default() {
        if let Some(more) = read_fault_stats(item).filter(|stats| harness.contains(&stats.mode)) {
            network::merge_fault_stats(&mut outcome.fault_stats, more);
        }
    }
}

/// Records whether the harness enforced the limit; other mechanisms may have enforced it as well.
fn record_enforcement(outcome: &mut Outcome, limit: Limit, is_enforced: bool) {
    if is_enforced {
        outcome.unenforced.retain(|other| *other != limit);
        outcome.enforced_by.entry(limit).or_default().push(LimitMechanism::Harness);
    } else {
        outcome.unenforced.push(limit);
    }
}

fn read_coverage(item: &MarshalValue) -> CallCoverage {
    let files = item.items().iter().filter_map(|file| match file.items() {
        [name, lines, branches] => Some(FileCoverage {
            file: name.as_text()?,
            lines: read_numbers(lines),
            branches: read_numbers(branches)
                .chunks_exact(2)
                .map(|step| (step[0], step[1]))
                .collect(),
        }),
        _ => None,
    });
    CallCoverage { files: files.collect() }
}

fn read_numbers(item: &MarshalValue) -> Vec<u32> {
    let whole = |item: &MarshalValue| item.as_int().and_then(|number| u32::try_from(number).ok());
    item.items().iter().filter_map(whole).collect()
}

fn read_burst(item: &MarshalValue, context: &ReportContext<'_>) -> BurstReport {
    let count = |key| item.get(key).and_then(read_count).unwrap_or(0);
    let yes = |key| item.get(key).and_then(MarshalValue::as_bool).unwrap_or(false);
    BurstReport {
        threads_spawned: count("threads_spawned"),
        tasks_spawned: count("tasks_spawned"),
        finished: count("finished"),
        deadlocked: yes("deadlocked"),
        waits_at: item.get("waits_at").and_then(|item| read_frame(item, context)),
        raised: item.get("raised").map(MarshalValue::texts).unwrap_or_default(),
        distinct_results: count("distinct_results"),
        differs: yes("differs"),
    }
}

/// A frame in the repository: file, line, function.
pub(super) fn read_frame(item: &MarshalValue, context: &ReportContext<'_>) -> Option<StackFrame> {
    let [file, line, function] = item.items() else { return None };
    let (file, own) = display_path(&file.as_text()?, context);
    let line = u32::try_from(line.as_int()?).ok()?;
    Some(StackFrame { file, line, function: function.as_text()?, in_repository: own })
        .filter(|frame| frame.in_repository)
}

fn read_upstream(item: &MarshalValue) -> UpstreamReport {
    let requests = item.get("requests").map(MarshalValue::items).unwrap_or_default();
    let asked = |request: &MarshalValue| match request.items() {
        [what, answer] => {
            Some(UpstreamRequest { request: what.as_text()?, answer: answer.as_text()? })
        }
        _ => None,
    };
    UpstreamReport {
        requests: requests.iter().filter_map(asked).collect(),
        without_timeout: item.get("without_timeout").and_then(read_count).unwrap_or(0),
    }
}

fn read_fault_stats(item: &MarshalValue) -> Option<FaultStats> {
    let [mode, offered, injected, first, last_ns] = item.items() else { return None };
    let word = mode.as_text()?;
    Some(FaultStats {
        mode: FaultMode::ALL.into_iter().find(|mode| mode.as_str() == word)?,
        opportunities: read_count(offered)?,
        injected: read_count(injected)?,
        first_injected: first.as_text(),
        last_injected_ms: last_ns.as_float().map(|nanos| nanos / 1e6),
    })
}

fn read_count(item: &MarshalValue) -> Option<u64> {
    item.as_int().and_then(|count| u64::try_from(count).ok())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use menace_model::{
        Call, CallStage, CallTarget, ConcurrencyBurst, FaultSpec, FaultTrigger, ModuleRef,
        TargetKind, UpstreamConfig, Verdict,
    };

    use super::*;
    use crate::wire::marshal::MarshalWriter;

    fn call() -> Call {
        let module = ModuleRef { name: "m".to_owned(), path: None };
        Call::new(CallTarget { module, qualname: "f".to_owned(), kind: TargetKind::Function })
    }

    fn context(call: &Call) -> ReportContext<'_> {
        ReportContext::new("/repo", Path::new("/home/me/shop"), call)
    }

    fn sample_report() -> MarshalValue {
        let mut out = MarshalWriter::default();
        out.open_dict();
        out.write_str("coverage");
        out.open_list(2);
        out.open_list(3);
        out.write_str("a.py");
        for numbers in [&[3, 4, -1][..], &[3, 4, 4, 3, 9][..]] {
            out.open_list(numbers.len());
            for number in numbers {
                out.write_int(*number);
            }
        }
        out.write_none();
        out.write_str("burst");
        out.open_dict();
        out.write_str("finished");
        out.write_int(7);
        out.write_str("differs");
        out.write_bool(true);
        out.write_str("waits_at");
        out.open_list(3);
        out.write_str("/repo/a.py");
        out.write_int(8);
        out.write_str("f");
        out.close_dict();
        out.write_str("upstream");
        out.open_dict();
        out.write_str("without_timeout");
        out.write_int(-3);
        out.close_dict();
        out.write_str("fault_stats");
        out.open_list(2);
        for mode in ["schema_drift", "disk"] {
            out.open_list(5);
            out.write_str(mode);
            out.write_int(4);
            out.write_int(2);
            out.write_str("x.json");
            out.write_int(5_000_000);
        }
        out.close_dict();
        MarshalValue::parse(&out.0).unwrap()
    }

    fn outcome_with_report(call: &Call) -> Outcome {
        let mut outcome = Outcome::new(Verdict::Returned, CallStage::Call);
        add_conditions(&mut outcome, &sample_report(), &context(call));
        outcome
    }

    #[test]
    fn what_was_not_asked_for_is_not_taken() {
        assert_eq!(outcome_with_report(&call()), Outcome::new(Verdict::Returned, CallStage::Call));
    }

    #[test]
    fn what_was_asked_for_is_taken_as_far_as_it_fits() {
        let mut call = call();
        call.coverage = true;
        call.conditions.burst = Some(ConcurrencyBurst { threads: 8, tasks: 8 });
        call.conditions.upstream = Some(UpstreamConfig::default());
        let always_fault = |mode| FaultSpec { mode, trigger: FaultTrigger::Rate(1.0) };
        call.conditions.faults =
            vec![always_fault(FaultMode::SchemaDrift), always_fault(FaultMode::Disk)];
        let outcome = outcome_with_report(&call);
        let file = FileCoverage {
            file: "a.py".to_owned(),
            lines: vec![3, 4],
            branches: vec![(3, 4), (4, 3)],
        };
        assert_eq!(outcome.coverage, Some(CallCoverage { files: vec![file] }));
        let (file, function) = ("a.py".to_owned(), "f".to_owned());
        let waits_at = Some(StackFrame { file, line: 8, function, in_repository: true });
        let burst = BurstReport { finished: 7, differs: true, waits_at, ..BurstReport::default() };
        assert_eq!(outcome.burst, Some(burst));
        assert_eq!(outcome.upstream, Some(UpstreamReport::default()));
        // Init injects disk faults.
        let [stats] = &outcome.fault_stats[..] else { panic!("{:?}", outcome.fault_stats) };
        assert_eq!((stats.mode, stats.injected), (FaultMode::SchemaDrift, 2));
        assert_eq!(stats.last_injected_ms, Some(5.0));
    }

    #[test]
    fn the_outcome_says_whether_a_condition_came_about() {
        let mut call = call();
        call.conditions.burst = Some(ConcurrencyBurst { threads: 8, tasks: 8 });
        call.conditions.upstream = Some(UpstreamConfig::default());
        call.conditions.network.latency_ms = 5.0;
        call.conditions.network.duplication = 0.5;
        let when = FaultTrigger::Rate(1.0);
        call.conditions.faults = vec![FaultSpec { mode: FaultMode::Network, trigger: when }];
        let mut outcome = Outcome::new(Verdict::Returned, CallStage::Call);
        // Without a network the replies are the only traffic, and each arrives once.
        outcome.unenforced =
            vec![Limit::NetworkLatency, Limit::PacketDuplication, Limit::FaultNetwork];
        let mut silent = outcome.clone();
        add_conditions(&mut outcome, &sample_report(), &context(&call));
        assert_eq!(outcome.unenforced, [Limit::PacketDuplication]);
        let held = [Limit::NetworkLatency, Limit::Burst, Limit::Upstream, Limit::FaultNetwork];
        for limit in held {
            assert_eq!(outcome.enforced_by[&limit], [LimitMechanism::Harness], "{limit}");
        }
        let mut nothing = MarshalWriter::default();
        nothing.open_dict();
        nothing.close_dict();
        add_conditions(&mut silent, &MarshalValue::parse(&nothing.0).unwrap(), &context(&call));
        let unheld = [
            Limit::NetworkLatency,
            Limit::PacketDuplication,
            Limit::FaultNetwork,
            Limit::Burst,
            Limit::Upstream,
        ];
        assert_eq!(silent.unenforced, unheld);
    }
}
