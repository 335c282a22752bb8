//! A run of 20,000 calls with all that a report can show: source, output, a graph, histories.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use menace_model::{
    Call, CallStage, CallStep, CallTarget, Failure, FailureId, InputIntent, ModuleRef, Outcome,
    RaisedException, SectionId, SourceLocation, StackFrame, TargetKind, Value, Verdict,
    WeaknessKind,
};
use menace_serve::{ImportGraph, ImportGraphNode};
use menace_store::{
    CallRecord, CellKey, CellRecord, CoverageReport, FailureReport, MetricMeasurement,
    MetricsDatabase, ModuleRecord, ModuleScoreReport, REPORT_VERSION, RunEndRecord, RunId,
    RunReport, RunStartRecord, RunStatus, ScenarioReport, SectionRecord, Store,
};

pub(crate) const DATABASE_URL: &str = "sqlite:///menace.db";
const MODULE_COUNT: u32 = 120;
const SECTION_COUNT: u32 = 500;
const FAILURE_COUNT: u32 = 400;
const FRAMES_PER_TRACEBACK: u32 = 12;
/// Lines of each module.
const LINES_PER_MODULE: u32 = 60;
const CYCLE_COUNT: u32 = 50;
const STARTED_MS: i64 = 1_700_000_000_000;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Makes `data` and `repository` below a directory; returns the import graph.
pub(crate) fn make_large_run(home: &Path) -> Result<ImportGraph> {
    let (data, repository) = (home.join("data"), home.join("repository"));
    fs::create_dir_all(repository.join("shop"))?;
    for number in 0..MODULE_COUNT {
        let mut source = String::new();
        for line in 1..=LINES_PER_MODULE {
            writeln!(source, "    value = compute(value, {line})  # of module {number}")?;
        }
        fs::write(repository.join(module_path(number)), source)?;
    }
    let (store, _) = Store::open(&data, DATABASE_URL)?;
    let id = RunId("r-large".into());
    let writer = store.start_run(&RunStartRecord {
        id: id.clone(),
        seed: 1,
        repository: repository.display().to_string(),
        started_ms: STARTED_MS,
        settings: serde_json::json!({"profile": "balanced", "selection": "everything"}),
    })?;
    for number in 0..SECTION_COUNT {
        let section = SectionId::new(&module_path(number % MODULE_COUNT), &format!("f{number}"));
        for scenario in ["normal", "hostile_input", "flaky_network", "slow_disk"] {
            let key = CellKey { cycle: 0, section: section.clone(), scenario: scenario.into() };
            for call in 0..10 {
                let outcome = Outcome::new(Verdict::Returned, CallStage::Call);
                writer.record_call(CallRecord::from_outcome(
                    key.clone(),
                    call,
                    InputIntent::Valid,
                    &outcome,
                ))?;
            }
            writer.record_cell(CellRecord {
                key,
                severity: None,
                calls: Some(10),
                verdicts: BTreeMap::from([(Verdict::Returned, 10)]),
                roi: Some(f64::from(number % 100) / 100.0),
                metrics: BTreeMap::new(),
            })?;
        }
        writer.record_section(SectionRecord {
            cycle: 0,
            section,
            signature: None,
            roi: Some(0.5),
            raroi: Some(0.5),
            metrics: BTreeMap::new(),
            uncallable_reason: None,
        })?;
    }
    for number in 0..MODULE_COUNT {
        writer.record_module(ModuleRecord {
            cycle: 0,
            path: module_path(number),
            roi: Some(0.5),
            raroi: Some(0.4),
            metrics: BTreeMap::new(),
            flagged: false,
            risk_flags: serde_json::json!([]),
        })?;
    }
    let failures: Vec<Failure> =
        (0..FAILURE_COUNT).map(|number| large_failure(&format!("f{number:010}"), number)).collect();
    for failure in &failures {
        writer.record_failure(failure, STARTED_MS + 2, 1)?;
    }
    let mut report = large_report("r-large", MODULE_COUNT, &failures);
    report.sections = SECTION_COUNT as usize;
    report.calls = 20_000;
    writer.finish(RunEndRecord {
        status: RunStatus::Finished,
        finished_ms: STARTED_MS + 50_000,
        cycles: 1,
        report: serde_json::to_value(report)?,
    })?;
    write_histories(&data, &id)?;
    let nodes = (0..MODULE_COUNT)
        .map(|number| ImportGraphNode { path: module_path(number), orphan: number % 10 == 9 });
    let edges =
        (1..MODULE_COUNT as usize).flat_map(|number| [(number, number / 2), (number, number / 3)]);
    Ok(ImportGraph { nodes: nodes.collect(), edges: edges.collect() })
}

fn module_path(number: u32) -> String {
    format!("shop/module_{number}.py")
}

fn cycle_value(cycle: u32) -> f64 {
    0.6 + 0.1 * (f64::from(cycle) / 5.0).sin() + 0.01 * f64::from(cycle * cycle % 7)
}

/// ROI over cycles, and every metric on its way to the run.
fn write_histories(data: &Path, run: &RunId) -> Result<()> {
    let roi: Vec<f64> = (0..CYCLE_COUNT).map(cycle_value).collect();
    let history = serde_json::json!({"cycles": CYCLE_COUNT, "roi_history": roi});
    fs::write(data.join("roi_history.json"), history.to_string())?;
    let (mut metrics, _) = MetricsDatabase::open(&data.join("metrics.db"))?;
    let mut values = Vec::new();
    for cycle in 0..CYCLE_COUNT {
        let is_last = cycle + 1 == CYCLE_COUNT;
        let before = i64::from(CYCLE_COUNT - 1 - cycle) * 60_000;
        values.extend(menace_track::METRICS.iter().map(|metric| MetricMeasurement {
            at_ms: STARTED_MS + 1 - before,
            run: if is_last { run.clone() } else { RunId(format!("r-{cycle}")) },
            cycle: 0,
            scenario: String::new(),
            module: String::new(),
            name: metric.name.into(),
            value: Some(cycle_value(cycle)),
        }));
    }
    Ok(metrics.record(&values)?)
}

/// Of a run over so many modules.
pub(crate) fn large_report(id: &str, modules: u32, failures: &[Failure]) -> RunReport {
    let metrics =
        BTreeMap::from([("reliability".to_owned(), 0.75), ("risk_index".to_owned(), 0.2)]);
    RunReport {
        version: REPORT_VERSION,
        run_id: id.into(),
        status: RunStatus::Finished,
        seed: 7,
        elapsed_s: 50.0,
        cycles: 1,
        decisions: None,
        sections: 10,
        calls: 100,
        timing_calls: 0,
        coverage: CoverageReport { called: 10, uncallable: 0, lines: 0.9 },
        verdicts: BTreeMap::from([(Verdict::Returned, 80), (Verdict::Raised, 20)]),
        roi: Some(0.5),
        roi_delta: Some(0.01),
        scenarios: ["normal", "hostile_input"]
            .map(|name| ScenarioReport {
                name: name.into(),
                roi: 0.5,
                roi_delta: None,
                calls: 50,
                metrics: metrics.clone(),
            })
            .into(),
        modules: (0..modules)
            .map(|number| ModuleScoreReport {
                path: module_path(number),
                roi: 0.5,
                roi_delta: Some(0.0),
                raroi: 0.4,
                metrics: metrics.clone(),
                risk_flags: Vec::new(),
                flagged: false,
            })
            .collect(),
        failures: failures.iter().map(|failure| FailureReport::new(failure, 2, true)).collect(),
        worst_scenario: Some("hostile_input".into()),
        synergy: BTreeMap::from([("synergy_roi".to_owned(), 0.1)]),
        discrepancies: Vec::new(),
        not_importable: Vec::new(),
        uncallable_sections: Vec::new(),
        skipped_stages: Vec::new(),
        warnings: Vec::new(),
    }
}

pub(crate) fn large_failure(id: &str, number: u32) -> Failure {
    let path = module_path(number % MODULE_COUNT);
    let reference = ModuleRef { name: "shop.module".into(), path: Some(path.clone()) };
    let target = CallTarget { module: reference, qualname: "f".into(), kind: TargetKind::Function };
    let mut outcome = Outcome::new(Verdict::Raised, CallStage::Call);
    outcome.stdout.text = "adding up\n".repeat(100);
    outcome.stderr.text = "warning: this is deprecated\n".repeat(50);
    let frame = |line| StackFrame {
        file: path.clone(),
        line: 4 * line,
        function: "f".into(),
        in_repository: true,
    };
    outcome.exception = Some(RaisedException {
        kind: "builtins.ValueError".into(),
        message: "it is no number".into(),
        bases: vec!["builtins.Exception".into()],
        explicit: false,
        frames: (1..=FRAMES_PER_TRACEBACK).map(frame).collect(),
        errno: None,
        cause: None,
        group: Vec::new(),
        notes: Vec::new(),
    });
    Failure {
        id: FailureId(id.into()),
        section: SectionId::new(&path, &format!("f{number}")),
        kind: WeaknessKind::Unhandled,
        scenario: "normal".into(),
        verdict: Verdict::Raised,
        exception: Some("builtins.ValueError".into()),
        message: "ValueError: it is no number".into(),
        location: SourceLocation { file: path.clone(), line: 8 },
        call: Call::of_step(CallStep {
            args: vec![Value::from("x".repeat(500).as_str())],
            ..CallStep::new(target)
        }),
        outcome,
    }
}
