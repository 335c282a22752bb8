//! A data directory with runs in it.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use menace_loop::decided::Decided;
use menace_loop::report::{
    CoverageReport, FailureReport, ModuleRow, RunReport, ScenarioReport, VERSION,
};
use menace_model::{
    Call, Failure, FailureId, Frame, How, Intent, ModuleRef, Outcome, Place, Raised, SectionId,
    Stage, Target, Value, Verdict, WeaknessKind,
};
use menace_serve::{Access, Dashboard, Library, Token};
use menace_settings::{Settings, Sources};
use menace_store::{
    CallRecord, Candidate, CandidateStatus, Cell, CellKey, Measurement, Metrics, ModuleRecord,
    NewRun, RunEnd, RunId, RunStatus, RunWriter, ScenarioRecord, SectionRecord, Store,
    SynergyHistory,
};
use menace_track::stats::evidence::{Check, Decision, Evidence};
use menace_track::stats::foresight::{Collapse, Outline, Risk};
use menace_track::stats::truth::{Against, Calibrated, FeatureDrift, Limits};
use menace_track::{Border, Bottleneck, Rules, Tracker};
use serde_json::json;

#[path = "asking.rs"]
mod asking;

pub(crate) use asking::{Answer, ask, browse, fetch, get};

pub(crate) const URL: &str = "sqlite:///menace.db";
pub(crate) const TOKEN: &str = "a token of some length";

/// The words of one world: friendly, or hostile in every place where a guest has a say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    pub module: &'static str,
    pub function: &'static str,
    pub message: &'static str,
    pub input: &'static str,
    pub scenario: &'static str,
    pub output: &'static str,
    /// Unless it is empty: what is printed as an error, and the name of a metric, of synergy, of a weight and
    /// of the repository.
    pub extra: &'static str,
}

impl Words {
    /// Of the module, and of its section.
    pub(crate) fn addresses(self) -> [String; 2] {
        let percent = |text: &str| {
            let bytes: Vec<String> = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
            bytes.concat()
        };
        let section = format!("{}::{}", self.module, self.function);
        [
            format!("module?path={}", percent(self.module)),
            format!("section?id={}", percent(&section)),
        ]
    }
}

pub(crate) const PLAIN: Words = Words {
    module: "shop/cart.py",
    function: "total",
    message: "division by zero",
    input: "none",
    scenario: "hostile_input",
    output: "adding up",
    extra: "",
};

/// Markup wherever somebody else has a say.
pub(crate) const EVIL: Words = Words {
    module: "shop/<script>alert(1)</script>\"'.py",
    function: "<script>alert(2)</script>\"",
    message: "<script>alert(3)</script><img src=x onerror=alert(4)>\"' onmouseover='x' \u{1b}[31m\u{202e}",
    input: "</code><script>alert(5)</script>",
    scenario: "<script>alert(6)</script>",
    output: "</pre><script>alert(7)</script>\0",
    extra: "<img src=x onerror=alert(9)>\"'",
};

pub(crate) fn section(words: Words) -> SectionId {
    SectionId::new(words.module, words.function)
}

/// As cells and failures name a scenario that has a severity.
fn label(words: Words) -> String {
    format!("{}:high", words.scenario)
}

fn call(words: Words) -> Call {
    let module = ModuleRef { name: "shop.cart".into(), path: Some(words.module.into()) };
    let target = Target { module, qualname: words.function.into(), how: How::Function };
    Call { args: vec![Value::from(words.input)], seed: 7, ..Call::new(target) }
}

pub(crate) fn failure(id: &str, words: Words) -> Failure {
    let mut outcome = Outcome::of(Verdict::Raised, Stage::Call);
    outcome.stdout.text = words.output.into();
    outcome.stderr.text = words.extra.into();
    outcome.exception = Some(Raised {
        kind: "builtins.ZeroDivisionError".into(),
        message: words.message.into(),
        bases: Vec::new(),
        explicit: false,
        frames: vec![Frame {
            file: words.module.into(),
            line: 2,
            function: words.function.into(),
            own: true,
        }],
        errno: None,
        cause: None,
        group: Vec::new(),
        notes: Vec::new(),
    });
    Failure {
        id: FailureId(id.into()),
        section: section(words),
        kind: WeaknessKind::Unhandled,
        scenario: label(words),
        verdict: Verdict::Raised,
        exception: Some("builtins.ZeroDivisionError".into()),
        message: words.message.into(),
        location: Place { file: words.module.into(), line: 2 },
        call: call(words),
        outcome,
    }
}

/// A feature that is further away than it may be; whether that is chance is for the p-value to say.
fn drift(feature: &str, ks_p_value: f64) -> FeatureDrift {
    let limits = Limits { psi: 0.25, ks: 0.2 };
    FeatureDrift {
        feature: feature.into(),
        psi: 0.1875,
        psi_p_value: 0.5,
        ks: 0.4375,
        ks_p_value,
        against: Some(Against { limits, psi_chance: 0.0125, ks_chance: 0.025 }),
        drifted: ks_p_value <= 0.025,
        samples: 13,
    }
}

fn decided(words: Words) -> Decided {
    let mut judgement = Tracker::default().judge(&Rules::default(), []);
    let evidence = Evidence {
        check: Check::Equivalence,
        statistic: 0.375,
        threshold: 0.0625,
        p_value: Some(0.875),
        samples: 17,
        holds: false,
    };
    let verdict = menace_track::stats::evidence::Verdict::No;
    judgement.roi =
        Decision { verdict, confidence: 0.5, needed: 3, samples: 17, evidence: vec![evidence] };
    judgement.modules.insert(words.module.into(), Decision::too_few(3, 1));
    Decided {
        judgement,
        forecast: None,
        calibrated: Some(Calibrated { value: 0.3125, low_confidence: true }),
        drifts: vec![drift("predicted_roi", 0.125), drift("resilience", 0.001)],
        predictions: BTreeMap::from([("pred_resilience".into(), 0.6875)]),
        confidence: BTreeMap::from([("shop".into(), 0.125)]),
        bottlenecks: BTreeMap::from([(
            "shop".into(),
            vec![Bottleneck { what: "veto".into(), gain: 0.5, hint: "be safe".into() }],
        )]),
        collapse: BTreeMap::from([(
            "till".into(),
            Collapse {
                risk: Risk::ImmediateCollapse,
                collapse_in: Some(2),
                brittle: true,
                trajectory: Vec::new(),
                samples: 5,
                outline: Outline::default(),
                limits: None,
            },
        )]),
        borderline: vec![Candidate {
            workflow_id: "cart".into(),
            raroi: vec![0.1, 0.0625],
            confidence: 0.5,
            status: CandidateStatus::Promoted,
            source: None,
        }],
        borderline_evidence: BTreeMap::from([(
            "cart".into(),
            Border { raroi: 0.1, confidence: 0.25 }.judge(0.0625, Some(0.5)),
        )]),
    }
}

fn summary(id: &str, roi: f64, words: Words, failures: &[Failure]) -> RunReport {
    let metrics =
        BTreeMap::from([("reliability".to_owned(), 0.75), ("risk_index".to_owned(), 0.2)]);
    let module = |path: &str, roi: f64| ModuleRow {
        path: path.into(),
        roi,
        roi_delta: Some(-0.125),
        raroi: roi - 0.1,
        metrics: metrics.clone(),
        risk_flags: vec![words.message.into()],
        flagged: false,
    };
    RunReport {
        version: VERSION,
        run_id: id.into(),
        status: "finished".into(),
        seed: 7,
        elapsed_s: 12.5,
        cycles: 1,
        decided: Some(decided(words)),
        sections: 2,
        calls: 9,
        timing_calls: 1,
        coverage: CoverageReport { called: 2, unreachable: 0, lines: 0.9 },
        verdicts: BTreeMap::from([(Verdict::Returned, 7), (Verdict::Raised, 2)]),
        roi,
        roi_delta: Some(0.0625),
        scenarios: vec![ScenarioReport {
            name: words.scenario.into(),
            roi,
            roi_delta: None,
            calls: 4,
            metrics: metrics.clone(),
        }],
        modules: vec![module(words.module, roi), module("shop/till.py", roi + 0.2)],
        failures: failures.iter().map(|failure| FailureReport::new(failure, 2, true)).collect(),
        worst_scenario: Some(words.scenario.into()),
        synergy: BTreeMap::from([("synergy_roi".to_owned(), -0.5)]),
        discrepancies: vec![words.message.into()],
        not_importable: Vec::new(),
        unreachable: Vec::new(),
        not_covered: Vec::new(),
        warnings: vec![words.message.into()],
    }
}

fn numbers() -> BTreeMap<String, f64> {
    BTreeMap::from([("reliability".to_owned(), 0.75), ("resilience".to_owned(), 0.5)])
}

/// What a section was worth in a cycle, and its module.
pub(crate) fn add_worth(
    writer: &RunWriter,
    cycle: u32,
    section: &SectionId,
    roi: f64,
    unreachable: Option<String>,
) {
    let module = ModuleRecord {
        cycle,
        path: section.path().into(),
        roi: Some(roi),
        raroi: Some(roi),
        metrics: numbers(),
        flagged: false,
        risk_flags: json!([]),
    };
    let section = SectionRecord {
        cycle,
        section: section.clone(),
        signature: None,
        roi: Some(roi),
        raroi: Some(roi),
        metrics: numbers(),
        unreachable,
    };
    writer.section(section).unwrap();
    writer.module(module).unwrap();
}

/// Stores a run that came to its end.
pub(crate) fn add_run(
    data: &Path,
    repository: &Path,
    id: &str,
    started_ms: i64,
    roi: f64,
    words: Words,
    failures: &[Failure],
) {
    let (store, _) = Store::open(data, URL).unwrap();
    let writer = store
        .start_run(&NewRun {
            id: RunId(id.into()),
            seed: 7,
            repository: repository.display().to_string(),
            started_ms,
            settings: json!({"profile": words.message}),
        })
        .unwrap();
    writer.cycles(1).unwrap();
    for (path, name, offset) in [(words.module, words.function, 0.0), ("shop/till.py", "open", 0.2)]
    {
        let section = SectionId::new(path, name);
        for (scenario, severity) in [("normal".to_owned(), None), (label(words), Some("high"))] {
            let key = CellKey { cycle: 0, section: section.clone(), scenario };
            for number in 0..2 {
                let mut record = CallRecord::of(
                    key.clone(),
                    number,
                    Intent::Valid,
                    &Outcome::of(Verdict::Returned, Stage::Call),
                );
                if number == 1 && offset == 0.0 {
                    record.verdict = Verdict::Raised;
                    record.exception = Some(words.message.into());
                    record.message = Some(words.message.into());
                    record = record.in_full(&call(words));
                    record.failure = failures.first().map(|failure| failure.id.clone());
                }
                writer.call(record).unwrap();
            }
            writer
                .cell(Cell {
                    key,
                    severity: severity.map(str::to_owned),
                    calls: Some(2),
                    verdicts: BTreeMap::from([(Verdict::Returned, 1), (Verdict::Raised, 1)]),
                    roi: Some(roi + offset),
                    metrics: numbers(),
                })
                .unwrap();
        }
        // Beyond scenarios: one in depth, which counts, and one beside, which does not.
        for (scenario, number) in [("depth", 1), ("beside", 2)] {
            let key = CellKey { cycle: 0, section: section.clone(), scenario: scenario.into() };
            let outcome = Outcome::of(Verdict::Returned, Stage::Call);
            if offset == 0.0 {
                writer.call(CallRecord::of(key, number, Intent::Valid, &outcome)).unwrap();
            }
        }
        let unreachable = (offset > 0.0).then(|| words.message.to_owned());
        add_worth(&writer, 0, &section, roi + offset, unreachable);
    }
    for scenario in ["normal", words.scenario] {
        writer
            .scenario(ScenarioRecord {
                cycle: 0,
                scenario: scenario.into(),
                severity: None,
                roi: Some(if scenario == "normal" { roi + 0.1 } else { roi }),
                roi_delta: None,
                metrics: numbers(),
            })
            .unwrap();
    }
    measure(data, id, started_ms, &[("reliability", roi + 0.25), ("security_score", roi)]);
    for failure in failures {
        writer.failure(failure, started_ms + 1, 2).unwrap();
    }
    let summary = summary(id, roi, words, failures);
    writer
        .finish(RunEnd {
            status: RunStatus::Finished,
            finished_ms: started_ms + 12_500,
            cycles: 1,
            summary: serde_json::to_value(summary).unwrap(),
        })
        .unwrap();
}

/// Keeps metrics of a whole run.
fn measure(data: &Path, run: &str, at_ms: i64, values: &[(&str, f64)]) {
    record(data, run, at_ms, "", values);
}

/// Keeps what sections were worth together under a scenario.
pub(crate) fn measure_under(data: &Path, run: &str, at_ms: i64, scenario: &str, roi: f64) {
    record(data, run, at_ms, scenario, &[("synergy_roi", roi)]);
}

fn record(data: &Path, run: &str, at_ms: i64, scenario: &str, values: &[(&str, f64)]) {
    let (mut metrics, _) = Metrics::open(&data.join("metrics.db")).unwrap();
    let values = values.iter().map(|(name, value)| Measurement {
        at_ms,
        run: RunId(run.into()),
        cycle: 0,
        scenario: scenario.into(),
        module: String::new(),
        name: (*name).into(),
        value: *value,
    });
    metrics.record(&values.collect::<Vec<_>>()).unwrap();
}

/// A data directory with two runs, and the repository that they ran on.
pub(crate) struct World {
    directory: tempfile::TempDir,
}

impl World {
    pub(crate) fn empty() -> Self {
        let world = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(world.data()).unwrap();
        world
    }

    pub(crate) fn new(words: Words) -> Self {
        let world = Self::empty();
        let repository = world.directory.path().join(format!("repository{}", words.extra));
        fs::create_dir_all(repository.join("shop")).unwrap();
        fs::write(repository.join("shop/cart.py"), "def total(n):\n    return 1 / n  # here\n")
            .unwrap();
        let data = world.data();
        let (first, second) = (failure("fa11111111", words), failure("fb22222222", words));
        add_run(&data, &repository, "r-1", 1_000_000, 0.5, words, &[first]);
        add_run(&data, &repository, "r-2", 2_000_000, 0.25, words, &[second]);
        let mut history = json!({
            "cycles": 2,
            "roi_history": [0.5, 0.25], "roi_deltas": [-0.25], "raroi_history": [0.4, 0.2],
            "scenario_roi": {words.scenario: [0.5, 0.25]},
            "module_deltas": {words.module: [-0.25]},
            "metrics_history": {
                "reliability": [0.75, 0.5], "security_score": [0.5, 0.75],
                format!("{}:resilience", words.scenario): [0.5, 0.375],
            },
            "scenario_synergy": {words.scenario: [
                {"synergy_resilience": 0.5},
                {"synergy_roi": 0.125, "synergy_resilience": -0.375},
            ]},
            "predicted_roi": [0.4], "actual_roi": [0.25],
            "predicted_metrics": {"security_score": [0.5, 0.625]},
            "actual_metrics": {"security_score": [0.5, 0.75]},
        });
        let mut together = "synergy_roi".to_owned();
        if !words.extra.is_empty() {
            for lists in ["metrics_history", "predicted_metrics", "actual_metrics"] {
                history[lists][words.extra] = json!([0.5, 0.25]);
            }
            let weights = json!({words.extra: words.extra, "roi": 1.5});
            fs::write(data.join("synergy_weights.json"), weights.to_string()).unwrap();
            together = format!("synergy_{}", words.extra);
        }
        fs::write(data.join("roi_history.json"), history.to_string()).unwrap();
        let (mut synergy, _) = SynergyHistory::open(&data.join("synergy_history.db")).unwrap();
        let entry = |value: f64| BTreeMap::from([(together.clone(), value)]);
        synergy.append(&[entry(0.5), entry(-0.25)]).unwrap();
        world
    }

    pub(crate) fn data(&self) -> std::path::PathBuf {
        self.directory.path().join("data")
    }

    pub(crate) fn library(&self) -> Arc<Library> {
        Arc::new(Library::new(menace_serve::Place::below(&self.data(), URL)))
    }

    pub(crate) fn routes(&self) -> Router {
        self.dashboard(Access::new(IpAddr::V4(Ipv4Addr::LOCALHOST), None, false).unwrap())
    }

    pub(crate) fn guarded(&self) -> Router {
        self.dashboard(guarding(false).pausing(Duration::from_millis(1)))
    }

    pub(crate) fn dashboard(&self, access: Access) -> Router {
        let environment = [
            ("OPENAI_API_KEY".to_owned(), "sk-very-secret".to_owned()),
            ("ROI_CYCLES".to_owned(), "11".to_owned()),
        ];
        let sources = Sources { environment: environment.into(), ..Sources::default() };
        let settings = Settings::resolve(&sources).unwrap();
        let settings = settings.entries().collect();
        Dashboard { library: self.library(), settings, access }.routes()
    }
}

/// Whoever has the token, from anywhere.
pub(crate) fn guarding(is_secure: bool) -> Access {
    let token = Some(Token::new(TOKEN).unwrap());
    Access::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), token, is_secure).unwrap()
}
