//! Data has another shape than before: in files and in answers, by the seed, and for one call
//! alone.

use std::fs;

use menace_model::{
    FaultMode, FaultSpec, FaultTrigger, FileChangeKind, FixtureFile, Limit, LimitMechanism,
    MockResponse, Outcome, UpstreamConfig, Value, Verdict,
};
use menace_sandbox::Tier;

use crate::bench::{CallBuilder, ContractBench, ContractSession, build_call, guest, items, text};
use crate::reading::{
    assert_fault_free, fault_stats, is_enforced_by, opportunities_and_injections, returned,
};

crate::on_every_tier![
    keys_of_data_files_are_renamed_dropped_or_retyped,
    every_kind_of_data_drifts_as_the_seed_says,
    every_way_to_read_a_file_sees_the_same,
    code_that_takes_the_shape_for_granted_feels_it,
    a_file_drifts_when_it_was_asked_to,
    answers_drift,
    fixtures_drift,
    what_is_no_data_stays_as_it_is,
    a_drifted_file_is_not_the_call_s_doing,
];

const GUEST: &str = guest!("drift.py");
const DRIFT_MODE: FaultMode = FaultMode::SchemaDrift;
const JSON_TEXT: &str =
    r#"{"items": [{"price": 1, "name": "a"}, {"price": 2, "name": "b"}], "ok": true}"#;
const DATA_FILES: [(&str, &str); 4] = [
    ("data.json", JSON_TEXT),
    ("rows.csv", "name,price\na,1\nb,2\n"),
    ("rows.tsv", "x\ty\n1\t2\n"),
    ("lines.jsonl", "{\"a\": 1, \"b\": [1.5]}\n{\"a\": 2}\n"),
];
const OTHER_FILES: [(&str, &str); 3] =
    [("broken.json", "{"), ("empty.json", "[]"), ("data.text", JSON_TEXT)];

fn bench(tier: Tier) -> ContractBench {
    ContractBench::with_options(tier, GUEST, |options| {
        for (name, text) in DATA_FILES.iter().chain(&OTHER_FILES) {
            fs::write(options.repo.join(name), text).expect("ours");
        }
    })
}

impl CallBuilder {
    fn drifting(mut self, when: FaultTrigger) -> Self {
        self.0.conditions.faults.push(FaultSpec { mode: DRIFT_MODE, trigger: when });
        self
    }
}

fn read(name: &str) -> CallBuilder {
    build_call("read").with([Value::from(name)])
}

/// The next call reads what is there.
fn assert_over(session: &mut ContractSession<'_>) {
    for (name, content) in DATA_FILES {
        let calm = session.run(read(name));
        assert_eq!(text(returned(&calm)), content);
        assert_fault_free(&calm);
    }
    session.assert_still_works();
}

fn keys_of_data_files_are_renamed_dropped_or_retyped(tier: Tier) {
    let bench = bench(tier);
    let mut session = bench.session();
    let mut changes: Vec<String> = Vec::new();
    for seed in 0..16 {
        let outcome = session.run(read("data.json").seed(seed).drifting(FaultTrigger::Rate(1.0)));
        assert_ne!(text(returned(&outcome)), JSON_TEXT);
        assert_eq!(opportunities_and_injections(&outcome, DRIFT_MODE), (1, 1));
        assert!(is_enforced_by(&outcome, Limit::FaultSchemaDrift, LimitMechanism::Harness));
        let first = fault_stats(&outcome, DRIFT_MODE).first_injected.clone().unwrap_or_default();
        assert!(first.starts_with("data.json: `"), "{first}");
        changes.extend(first.rsplit(' ').next().map(str::to_owned));
    }
    changes.sort();
    changes.dedup();
    assert_eq!(changes, ["dropped", "renamed", "retyped"]);
    assert_over(&mut session);
}

fn every_kind_of_data_drifts_as_the_seed_says(tier: Tier) {
    let bench = bench(tier);
    let mut session = bench.session();
    for (name, content) in DATA_FILES {
        let mut drifted = |seed| {
            let outcome = session.run(read(name).seed(seed).drifting(FaultTrigger::Rate(1.0)));
            text(returned(&outcome)).to_owned()
        };
        let first: Vec<String> = (0..6).map(&mut drifted).collect();
        assert_eq!((0..6).map(&mut drifted).collect::<Vec<_>>(), first, "{name}");
        assert!(first.iter().all(|one| one != content), "{first:?}");
        assert!(first.iter().any(|one| *one != first[0]), "{first:?}");
    }
    assert_over(&mut session);
}

fn every_way_to_read_a_file_sees_the_same(tier: Tier) {
    let bench = bench(tier);
    let mut session = bench.session();
    let mut way = |name: &str| {
        let ask =
            build_call(name).with([Value::from("data.json")]).drifting(FaultTrigger::Rate(1.0));
        text(returned(&session.run(ask))).to_owned()
    };
    assert_eq!(way("read"), way("read_low"));
}

fn code_that_takes_the_shape_for_granted_feels_it(tier: Tier) {
    let bench = bench(tier);
    let mut session = bench.session();
    for (name, file) in [("total", "data.json"), ("column", "rows.csv")] {
        let call = || build_call(name).with([Value::from(file)]);
        let mut raised = Vec::new();
        for seed in 0..12 {
            let outcome = session.run(call().seed(seed).drifting(FaultTrigger::Rate(1.0)));
            if outcome.verdict == Verdict::Raised {
                raised.extend(outcome.result.exception.map(|exception| exception.kind));
            }
        }
        assert!(raised.iter().any(|kind| kind == "KeyError"), "{name}: {raised:?}");
        assert_eq!(session.run(call()).verdict, Verdict::Returned);
    }
}

fn a_file_drifts_when_it_was_asked_to(tier: Tier) {
    let bench = bench(tier);
    let mut session = bench.session();
    let names = Value::List(DATA_FILES.map(|(name, _)| Value::from(name)).to_vec());
    let mut changed = |when| {
        let outcome = session.run(build_call("read_all").with([names.clone()]).drifting(when));
        let texts = items(returned(&outcome)).iter().map(text);
        let changed: Vec<bool> =
            texts.zip(DATA_FILES).map(|(found, (_, content))| found != content).collect();
        let injected = changed.iter().filter(|changed| **changed).count() as u64;
        assert_eq!(opportunities_and_injections(&outcome, DRIFT_MODE), (4, injected));
        changed
    };
    assert_eq!(changed(FaultTrigger::Nth(2)), [false, true, false, false]);
    assert_eq!(changed(FaultTrigger::Nth(5)), [false; 4]);
    assert_eq!(changed(FaultTrigger::Rate(1.0)), [true; 4]);
}

fn answers_drift(tier: Tier) {
    let bench = bench(tier);
    let mut session = bench.session();
    let mock = MockResponse {
        method: None,
        url: "*".to_owned(),
        status: 200,
        headers: Vec::new(),
        body: JSON_TEXT.as_bytes().to_vec(),
        delay_ms: 0,
        times: None,
    };
    let mut fetch = |when: Option<FaultTrigger>| {
        let mut ask = build_call("fetch").with([Value::from("http://api.example/")]);
        ask.0.conditions.upstream =
            Some(UpstreamConfig { mocks: vec![mock.clone()], answer_all: false, failure: None });
        session.run(match when {
            Some(when) => ask.drifting(when),
            None => ask,
        })
    };
    let (first, again) =
        (fetch(Some(FaultTrigger::Rate(1.0))), fetch(Some(FaultTrigger::Rate(1.0))));
    assert_ne!(text(returned(&first)), JSON_TEXT);
    assert_eq!(opportunities_and_injections(&first, DRIFT_MODE), (1, 1));
    assert_eq!(returned(&again), returned(&first));
    assert_eq!(text(returned(&fetch(None))), JSON_TEXT);
}

fn fixtures_drift(tier: Tier) {
    let bench = bench(tier);
    let mut session = bench.session();
    let mut ask = read("given/in.json");
    let content = JSON_TEXT.as_bytes().to_vec();
    ask.0.fixtures.files = vec![FixtureFile { path: "given/in.json".to_owned(), content }];
    assert_eq!(text(&session.value(ask.clone())), JSON_TEXT);
    let outcome = session.run(ask.drifting(FaultTrigger::Rate(1.0)));
    assert_ne!(text(returned(&outcome)), JSON_TEXT);
    assert_eq!(outcome.files.total, 0, "{:?}", outcome.files);
}

fn what_is_no_data_stays_as_it_is(tier: Tier) {
    let bench = bench(tier);
    let mut session = bench.session();
    for (name, content) in OTHER_FILES {
        let outcome = session.run(read(name).drifting(FaultTrigger::Rate(1.0)));
        assert_eq!(text(returned(&outcome)), content);
        assert_eq!(opportunities_and_injections(&outcome, DRIFT_MODE), (0, 0), "{name}");
    }
}

fn a_drifted_file_is_not_the_call_s_doing(tier: Tier) {
    let bench = bench(tier);
    let mut session = bench.session();
    let touched = |outcome: &Outcome| {
        let files = outcome.files.touched.iter();
        files.map(|file| (file.path.clone(), file.change)).collect::<Vec<_>>()
    };
    let outcome = session.run(read("data.json").drifting(FaultTrigger::Rate(1.0)));
    assert_eq!(touched(&outcome), []);
    let ask = build_call("save").with([Value::from("data.json")]).drifting(FaultTrigger::Rate(1.0));
    let outcome = session.run(ask);
    assert_eq!(touched(&outcome), [("data.json".to_owned(), FileChangeKind::Changed)]);
    assert_over(&mut session);
}
