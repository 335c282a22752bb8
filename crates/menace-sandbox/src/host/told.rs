//! What the harness tells of a call's conditions: what was reached, asked, felt, and done in company.
//!
//! The guest can write into the same memory: only what was asked for is taken, and only what fits.
//! Invariant: of each of the harness's conditions the outcome says whether it came about.

use menace_model::{
    Asked, BurstReport, Coverage, FaultMode, Felt, FileCoverage, Frame, Limit, Mechanism, Outcome,
    UpstreamReport,
};

use super::report::{Context, shown};
use crate::network;
use crate::wire::marshal::Item;

/// The faults that are the harness's to make.
const IN_THE_HARNESS: [FaultMode; 2] = [FaultMode::FlakyUpstream, FaultMode::SchemaDrift];
/// Those that the harness makes as well, where it answers in place of others.
const ON_ITS_ANSWERS: [FaultMode; 2] = [FaultMode::Network, FaultMode::NetworkPartition];

/// Adds it to the outcome.
pub(super) fn add(outcome: &mut Outcome, said: &Item, context: &Context<'_>) {
    let call = context.call;
    if call.coverage {
        outcome.coverage = said.get("coverage").map(coverage);
    }
    if call.conditions.burst.is_some() {
        outcome.burst = said.get("burst").map(|item| burst(item, context));
        hold(outcome, Limit::Burst, outcome.burst.is_some());
    }
    let faults = call.conditions.faults.iter().map(|fault| fault.mode);
    let answers = call.conditions.upstream.is_some();
    let is_ours = |mode: &FaultMode| {
        IN_THE_HARNESS.contains(mode) || answers && ON_ITS_ANSWERS.contains(mode)
    };
    let harness: Vec<FaultMode> = faults.filter(is_ours).collect();
    if answers || harness.contains(&FaultMode::FlakyUpstream) {
        outcome.upstream = said.get("upstream").map(upstream);
    }
    if answers {
        // Who did not live to tell was answered all the same.
        let answered = outcome.upstream.is_some() || *said == Item::None;
        hold(outcome, Limit::Upstream, answered);
        if answered {
            let of_link = network::asked_for(&call.conditions.network);
            let of_link = of_link.filter(|limit| *limit != Limit::PacketDuplication);
            let faults = harness.iter().filter(|mode| ON_ITS_ANSWERS.contains(mode));
            for limit in of_link.chain(faults.map(|mode| Limit::from(*mode))) {
                hold(outcome, limit, true);
            }
        }
    }
    for item in said.get("felt").map(Item::items).unwrap_or_default() {
        if let Some(more) = felt(item).filter(|felt| harness.contains(&felt.mode)) {
            network::add(&mut outcome.felt, more);
        }
    }
}

/// The harness makes it happen, perhaps beside others; or nobody does.
fn hold(outcome: &mut Outcome, limit: Limit, is_held: bool) {
    if is_held {
        outcome.unenforced.retain(|other| *other != limit);
        outcome.enforced_by.entry(limit).or_default().push(Mechanism::Harness);
    } else {
        outcome.unenforced.push(limit);
    }
}

fn coverage(item: &Item) -> Coverage {
    let files = item.items().iter().filter_map(|file| match file.items() {
        [name, lines, branches] => Some(FileCoverage {
            file: name.as_text()?,
            lines: numbers(lines),
            branches: numbers(branches).chunks_exact(2).map(|step| (step[0], step[1])).collect(),
        }),
        _ => None,
    });
    Coverage { files: files.collect() }
}

fn numbers(item: &Item) -> Vec<u32> {
    let whole = |item: &Item| item.as_int().and_then(|number| u32::try_from(number).ok());
    item.items().iter().filter_map(whole).collect()
}

fn burst(item: &Item, context: &Context<'_>) -> BurstReport {
    let count = |key| item.get(key).and_then(count).unwrap_or(0);
    let yes = |key| item.get(key).and_then(Item::as_bool).unwrap_or(false);
    BurstReport {
        threads_spawned: count("threads_spawned"),
        tasks_spawned: count("tasks_spawned"),
        finished: count("finished"),
        deadlocked: yes("deadlocked"),
        waits_at: item.get("waits_at").and_then(|item| place(item, context)),
        raised: item.get("raised").map(Item::texts).unwrap_or_default(),
        distinct_results: count("distinct_results"),
        differs: yes("differs"),
    }
}

/// A place in the repository: file, line, function.
pub(super) fn place(item: &Item, context: &Context<'_>) -> Option<Frame> {
    let [file, line, function] = item.items() else { return None };
    let (file, own) = shown(&file.as_text()?, context);
    let line = u32::try_from(line.as_int()?).ok()?;
    Some(Frame { file, line, function: function.as_text()?, own }).filter(|frame| frame.own)
}

fn upstream(item: &Item) -> UpstreamReport {
    let requests = item.get("requests").map(Item::items).unwrap_or_default();
    let asked = |request: &Item| match request.items() {
        [what, answer] => Some(Asked { what: what.as_text()?, answer: answer.as_text()? }),
        _ => None,
    };
    UpstreamReport {
        requests: requests.iter().filter_map(asked).collect(),
        without_timeout: item.get("without_timeout").and_then(count).unwrap_or(0),
    }
}

fn felt(item: &Item) -> Option<Felt> {
    let [mode, offered, struck, first, last_ns] = item.items() else { return None };
    let word = mode.as_text()?;
    Some(Felt {
        mode: FaultMode::ALL.into_iter().find(|mode| mode.as_str() == word)?,
        offered: count(offered)?,
        struck: count(struck)?,
        first: first.as_text(),
        last_ms: last_ns.as_float().map(|nanos| nanos / 1e6),
    })
}

fn count(item: &Item) -> Option<u64> {
    item.as_int().and_then(|count| u64::try_from(count).ok())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use menace_model::{
        Burst, Call, Fault, How, ModuleRef, Stage, Target, Upstream, Verdict, When,
    };

    use super::*;
    use crate::wire::marshal::Writer;

    fn call() -> Call {
        let module = ModuleRef { name: "m".to_owned(), path: None };
        Call::new(Target { module, qualname: "f".to_owned(), how: How::Function })
    }

    fn context(call: &Call) -> Context<'_> {
        Context::new("/repo", Path::new("/home/me/shop"), call)
    }

    fn said() -> Item {
        let mut out = Writer::default();
        out.open_dict();
        out.str("coverage");
        out.list(2);
        out.list(3);
        out.str("a.py");
        for numbers in [&[3, 4, -1][..], &[3, 4, 4, 3, 9][..]] {
            out.list(numbers.len());
            for number in numbers {
                out.int(*number);
            }
        }
        out.none();
        out.str("burst");
        out.open_dict();
        out.str("finished");
        out.int(7);
        out.str("differs");
        out.bool(true);
        out.str("waits_at");
        out.list(3);
        out.str("/repo/a.py");
        out.int(8);
        out.str("f");
        out.close_dict();
        out.str("upstream");
        out.open_dict();
        out.str("without_timeout");
        out.int(-3);
        out.close_dict();
        out.str("felt");
        out.list(2);
        for mode in ["schema_drift", "disk"] {
            out.list(5);
            out.str(mode);
            out.int(4);
            out.int(2);
            out.str("x.json");
            out.int(5_000_000);
        }
        out.close_dict();
        Item::read(&out.0).unwrap()
    }

    fn added(call: &Call) -> Outcome {
        let mut outcome = Outcome::of(Verdict::Returned, Stage::Call);
        add(&mut outcome, &said(), &context(call));
        outcome
    }

    #[test]
    fn what_was_not_asked_for_is_not_taken() {
        assert_eq!(added(&call()), Outcome::of(Verdict::Returned, Stage::Call));
    }

    #[test]
    fn what_was_asked_for_is_taken_as_far_as_it_fits() {
        let mut call = call();
        call.coverage = true;
        call.conditions.burst = Some(Burst { threads: 8, tasks: 8 });
        call.conditions.upstream = Some(Upstream::default());
        let strikes = |mode| Fault { mode, when: When::Rate(1.0) };
        call.conditions.faults = vec![strikes(FaultMode::SchemaDrift), strikes(FaultMode::Disk)];
        let outcome = added(&call);
        let file = FileCoverage {
            file: "a.py".to_owned(),
            lines: vec![3, 4],
            branches: vec![(3, 4), (4, 3)],
        };
        assert_eq!(outcome.coverage, Some(Coverage { files: vec![file] }));
        let (file, function) = ("a.py".to_owned(), "f".to_owned());
        let waits_at = Some(Frame { file, line: 8, function, own: true });
        let burst = BurstReport { finished: 7, differs: true, waits_at, ..BurstReport::default() };
        assert_eq!(outcome.burst, Some(burst));
        assert_eq!(outcome.upstream, Some(UpstreamReport::default()));
        // The disk is the init's.
        let [felt] = &outcome.felt[..] else { panic!("{:?}", outcome.felt) };
        assert_eq!((felt.mode, felt.struck), (FaultMode::SchemaDrift, 2));
        assert_eq!(felt.last_ms, Some(5.0));
    }

    #[test]
    fn whether_a_condition_came_about_is_told() {
        let mut call = call();
        call.conditions.burst = Some(Burst { threads: 8, tasks: 8 });
        call.conditions.upstream = Some(Upstream::default());
        call.conditions.network.latency_ms = 5.0;
        call.conditions.network.duplication = 0.5;
        let when = When::Rate(1.0);
        call.conditions.faults = vec![Fault { mode: FaultMode::Network, when }];
        let mut outcome = Outcome::of(Verdict::Returned, Stage::Call);
        // There is no network but that of the answers, which arrive once.
        outcome.unenforced =
            vec![Limit::NetworkLatency, Limit::PacketDuplication, Limit::FaultNetwork];
        let mut silent = outcome.clone();
        add(&mut outcome, &said(), &context(&call));
        assert_eq!(outcome.unenforced, [Limit::PacketDuplication]);
        let held = [Limit::NetworkLatency, Limit::Burst, Limit::Upstream, Limit::FaultNetwork];
        for limit in held {
            assert_eq!(outcome.enforced_by[&limit], [Mechanism::Harness], "{limit}");
        }
        let mut nothing = Writer::default();
        nothing.open_dict();
        nothing.close_dict();
        add(&mut silent, &Item::read(&nothing.0).unwrap(), &context(&call));
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
