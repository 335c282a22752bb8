//! A data directory with runs in it.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use menace_model::{
    Call, CallStage, CallStep, CallTarget, Failure, FailureId, InputIntent, ModuleRef, Outcome,
    RaisedException, ScenarioSeverity, SectionId, SourceLocation, StackFrame, TargetKind, Value,
    Verdict, WeaknessKind,
};
use menace_serve::{AccessPolicy, AccessToken, DashboardServer, DataSource};
use menace_settings::{Settings, SettingsSources};
use menace_store::{
    BorderlineModule, BorderlineStatus, CallRecord, CellKey, CellRecord, CoverageReport,
    DecisionReport, FailureReport, MetricMeasurement, MetricsDatabase, ModuleRecord,
    ModuleScoreReport, REPORT_VERSION, RunEndRecord, RunId, RunReport, RunStartRecord, RunStatus,
    RunWriter, ScenarioRecord, ScenarioReport, SectionRecord, Store, StoredMetricMap,
    SynergyHistory,
};
use menace_track::stats::evidence::{DecisionCheck, DecisionEvidence, StatisticalDecision};
use menace_track::stats::forecast_calibrator::{
    CalibratedPrediction, DriftCriteria, DriftLimits, FeatureDrift,
};
use menace_track::stats::foresight::{CollapsePrediction, CollapseRisk, StabilityTrend};
use menace_track::{BorderlineThresholds, ConvergenceRules, RoiBottleneck, Tracker};
use serde_json::json;

#[path = "asking.rs"]
mod asking;

pub(crate) use asking::{
    TestResponse, fetch_as_browser, fetch_as_program, get_request, send_request,
};

pub(crate) const DATABASE_URL: &str = "sqlite:///menace.db";
pub(crate) const TEST_TOKEN: &str = "a token of some length";

/// The words of one world: friendly, or hostile in every place where a guest has a say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SampleText {
    pub module: &'static str,
    pub function: &'static str,
    pub message: &'static str,
    pub input: &'static str,
    pub scenario: &'static str,
    pub output: &'static str,
    /// Unless it is empty: what is printed as an error, and the name of a metric, of synergy, of a
    /// weight and of the repository.
    pub extra: &'static str,
}

impl SampleText {
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

pub(crate) const PLAIN_TEXT: SampleText = SampleText {
    module: "shop/cart.py",
    function: "total",
    message: "division by zero",
    input: "none",
    scenario: "hostile_input",
    output: "adding up",
    extra: "",
};

/// Markup in every text that comes from the tested repository.
pub(crate) const HOSTILE_TEXT: SampleText = SampleText {
    module: "shop/<script>alert(1)</script>\"'.py",
    function: "<script>alert(2)</script>\"",
    message: "<script>alert(3)</script><img src=x onerror=alert(4)>\"' onmouseover='x' \
              \u{1b}[31m\u{202e}",
    input: "</code><script>alert(5)</script>",
    scenario: "<script>alert(6)</script>",
    output: "</pre><script>alert(7)</script>\0",
    extra: "<img src=x onerror=alert(9)>\"'",
};

pub(crate) fn section_id(words: SampleText) -> SectionId {
    SectionId::new(words.module, words.function)
}

/// As cells and failures name a scenario that has a severity.
fn scenario_label(words: SampleText) -> String {
    format!("{}:high", words.scenario)
}

fn sample_call(words: SampleText) -> Call {
    let module = ModuleRef { name: "shop.cart".into(), path: Some(words.module.into()) };
    let target = CallTarget { module, qualname: words.function.into(), kind: TargetKind::Function };
    Call {
        seed: 7,
        ..Call::of_step(CallStep { args: vec![Value::from(words.input)], ..CallStep::new(target) })
    }
}

pub(crate) fn sample_failure(id: &str, words: SampleText) -> Failure {
    let mut outcome = Outcome::new(Verdict::Raised, CallStage::Call);
    outcome.stdout.text = words.output.into();
    outcome.stderr.text = words.extra.into();
    outcome.exception = Some(RaisedException {
        kind: "builtins.ZeroDivisionError".into(),
        message: words.message.into(),
        bases: Vec::new(),
        explicit: false,
        frames: vec![StackFrame {
            file: words.module.into(),
            line: 2,
            function: words.function.into(),
            in_repository: true,
        }],
        errno: None,
        cause: None,
        group: Vec::new(),
        notes: Vec::new(),
    });
    Failure {
        id: FailureId(id.into()),
        section: section_id(words),
        kind: WeaknessKind::Unhandled,
        scenario: scenario_label(words),
        verdict: Verdict::Raised,
        exception: Some("builtins.ZeroDivisionError".into()),
        message: words.message.into(),
        location: SourceLocation { file: words.module.into(), line: 2 },
        call: sample_call(words),
        outcome,
    }
}

/// A feature that is further away than it may be; whether that is chance is for the p-value to say.
fn feature_drift(feature: &str, ks_p_value: f64) -> FeatureDrift {
    let limits = DriftLimits { psi: 0.25, ks: 0.2 };
    FeatureDrift {
        feature: feature.into(),
        psi: 0.1875,
        psi_p_value: 0.5,
        ks: 0.4375,
        ks_p_value,
        criteria: Some(DriftCriteria { limits, psi_chance: 0.0125, ks_chance: 0.025 }),
        drifted: ks_p_value <= 0.025,
        samples: 13,
    }
}

/// A page without the line breaks and indents of its template.
pub(crate) fn join_lines(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ").replace("> <", "><")
}

fn sample_decisions(words: SampleText) -> DecisionReport {
    let mut judgement = Tracker::default().decide_convergence(&ConvergenceRules::default(), []);
    let evidence = DecisionEvidence {
        check: DecisionCheck::Equivalence,
        statistic: 0.375,
        threshold: 0.0625,
        p_value: Some(0.875),
        samples: 17,
        holds: false,
    };
    let answer = menace_track::stats::evidence::DecisionAnswer::No;
    judgement.roi = StatisticalDecision {
        answer,
        confidence: 0.5,
        needed: 3,
        samples: 17,
        evidence: vec![evidence],
    };
    judgement.modules.insert(words.module.into(), StatisticalDecision::too_few_samples(3, 1));
    DecisionReport {
        convergence: judgement,
        forecast: None,
        calibrated: Some(CalibratedPrediction { value: 0.3125, low_confidence: true }),
        drifts: vec![feature_drift("predicted_roi", 0.125), feature_drift("resilience", 0.001)],
        predictions: BTreeMap::from([("pred_resilience".into(), 0.6875)]),
        confidence: BTreeMap::from([("shop".into(), 0.125)]),
        bottlenecks: BTreeMap::from([(
            "shop".into(),
            vec![RoiBottleneck { what: "veto".into(), gain: 0.5, hint: "be safe".into() }],
        )]),
        collapse: BTreeMap::from([(
            "till".into(),
            CollapsePrediction {
                risk: CollapseRisk::ImmediateCollapse,
                collapse_in: Some(2),
                brittle: true,
                trajectory: Vec::new(),
                samples: 5,
                outline: StabilityTrend::default(),
                limits: None,
            },
        )]),
        borderline: vec![BorderlineModule {
            module: "cart".into(),
            raroi: vec![0.1, 0.0625],
            confidence: 0.5,
            status: BorderlineStatus::Promoted,
            source: None,
        }],
        borderline_evidence: BTreeMap::from([(
            "cart".into(),
            BorderlineThresholds { raroi: 0.1, confidence: 0.25 }
                .check_thresholds(0.0625, Some(0.5)),
        )]),
    }
}

fn sample_report(id: &str, roi: f64, words: SampleText, failures: &[Failure]) -> RunReport {
    let metrics =
        BTreeMap::from([("reliability".to_owned(), 0.75), ("risk_index".to_owned(), 0.2)]);
    let module = |path: &str, roi: f64| ModuleScoreReport {
        path: path.into(),
        roi,
        roi_delta: Some(-0.125),
        raroi: roi - 0.1,
        metrics: metrics.clone(),
        risk_flags: vec![words.message.into()],
        flagged: false,
    };
    RunReport {
        version: REPORT_VERSION,
        run_id: id.into(),
        status: RunStatus::Finished,
        seed: 7,
        elapsed_s: 12.5,
        cycles: 1,
        decisions: Some(sample_decisions(words)),
        sections: 2,
        calls: 9,
        timing_calls: 1,
        coverage: CoverageReport { called: 2, uncallable: 0, lines: 0.9 },
        verdicts: BTreeMap::from([(Verdict::Returned, 7), (Verdict::Raised, 2)]),
        roi: Some(roi),
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
        uncallable_sections: Vec::new(),
        skipped_stages: Vec::new(),
        warnings: vec![words.message.into()],
    }
}

fn sample_metrics() -> StoredMetricMap {
    BTreeMap::from([("reliability".to_owned(), Some(0.75)), ("resilience".to_owned(), Some(0.5))])
}

/// What a section was worth in a cycle, and its module.
pub(crate) fn add_section_score(
    writer: &RunWriter,
    cycle: u32,
    section: &SectionId,
    roi: f64,
    uncallable_reason: Option<String>,
) {
    let module = ModuleRecord {
        cycle,
        path: section.path().into(),
        roi: Some(roi),
        raroi: Some(roi),
        metrics: sample_metrics(),
        flagged: false,
        risk_flags: json!([]),
    };
    let section = SectionRecord {
        cycle,
        section: section.clone(),
        signature: None,
        roi: Some(roi),
        raroi: Some(roi),
        metrics: sample_metrics(),
        uncallable_reason,
    };
    writer.record_section(section).unwrap();
    writer.record_module(module).unwrap();
}

/// Stores a run that came to its end.
pub(crate) fn add_run(
    data: &Path,
    repository: &Path,
    id: &str,
    started_ms: i64,
    roi: f64,
    words: SampleText,
    failures: &[Failure],
) {
    let (store, _) = Store::open(data, DATABASE_URL).unwrap();
    let writer = store
        .start_run(&RunStartRecord {
            id: RunId(id.into()),
            seed: 7,
            repository: repository.display().to_string(),
            started_ms,
            settings: json!({"profile": words.message}),
        })
        .unwrap();
    writer.record_cycles(1).unwrap();
    for (path, name, offset) in [(words.module, words.function, 0.0), ("shop/till.py", "open", 0.2)]
    {
        let section = SectionId::new(path, name);
        for (scenario, severity) in
            [("normal".to_owned(), None), (scenario_label(words), Some(ScenarioSeverity::High))]
        {
            let key = CellKey { cycle: 0, section: section.clone(), scenario };
            for number in 0..2 {
                let mut record = CallRecord::from_outcome(
                    key.clone(),
                    number,
                    InputIntent::Valid,
                    &Outcome::new(Verdict::Returned, CallStage::Call),
                );
                if number == 1 && offset == 0.0 {
                    record.verdict = Verdict::Raised;
                    record.exception = Some(words.message.into());
                    record.message = Some(words.message.into());
                    record = record.with_call(&sample_call(words));
                    record.failure = failures.first().map(|failure| failure.id.clone());
                }
                writer.record_call(record).unwrap();
            }
            writer
                .record_cell(CellRecord {
                    key,
                    severity,
                    calls: Some(2),
                    verdicts: BTreeMap::from([(Verdict::Returned, 1), (Verdict::Raised, 1)]),
                    roi: Some(roi + offset),
                    metrics: sample_metrics(),
                })
                .unwrap();
        }
        // Beyond scenarios: one in depth, which counts, and an auxiliary one, which does not.
        for (scenario, number) in [("depth", 1), ("auxiliary", 2)] {
            let key = CellKey { cycle: 0, section: section.clone(), scenario: scenario.into() };
            let outcome = Outcome::new(Verdict::Returned, CallStage::Call);
            if offset == 0.0 {
                writer
                    .record_call(CallRecord::from_outcome(
                        key,
                        number,
                        InputIntent::Valid,
                        &outcome,
                    ))
                    .unwrap();
            }
        }
        let uncallable_reason = (offset > 0.0).then(|| words.message.to_owned());
        add_section_score(&writer, 0, &section, roi + offset, uncallable_reason);
    }
    for scenario in ["normal", words.scenario] {
        writer
            .record_scenario(ScenarioRecord {
                cycle: 0,
                scenario: scenario.into(),
                severity: None,
                roi: Some(if scenario == "normal" { roi + 0.1 } else { roi }),
                roi_delta: None,
                metrics: sample_metrics(),
            })
            .unwrap();
    }
    record_run_metrics(
        data,
        id,
        started_ms,
        &[("reliability", roi + 0.25), ("security_score", roi)],
    );
    for failure in failures {
        writer.record_failure(failure, started_ms + 1, 2).unwrap();
    }
    let summary = sample_report(id, roi, words, failures);
    writer
        .finish(RunEndRecord {
            status: RunStatus::Finished,
            finished_ms: started_ms + 12_500,
            cycles: 1,
            report: serde_json::to_value(summary).unwrap(),
        })
        .unwrap();
}

/// Keeps metrics of a whole run.
fn record_run_metrics(data: &Path, run: &str, at_ms: i64, values: &[(&str, f64)]) {
    record_metrics(data, run, at_ms, "", values);
}

/// Keeps what sections were worth together under a scenario.
pub(crate) fn record_scenario_synergy(
    data: &Path,
    run: &str,
    at_ms: i64,
    scenario: &str,
    roi: f64,
) {
    record_metrics(data, run, at_ms, scenario, &[("synergy_roi", roi)]);
}

fn record_metrics(data: &Path, run: &str, at_ms: i64, scenario: &str, values: &[(&str, f64)]) {
    let (mut metrics, _) = MetricsDatabase::open(&data.join("metrics.db")).unwrap();
    let values = values.iter().map(|(name, value)| MetricMeasurement {
        at_ms,
        run: RunId(run.into()),
        cycle: 0,
        scenario: scenario.into(),
        module: String::new(),
        name: (*name).into(),
        value: Some(*value),
    });
    metrics.record(&values.collect::<Vec<_>>()).unwrap();
}

/// A data directory with two runs, and the repository that they ran on.
pub(crate) struct SampleData {
    directory: tempfile::TempDir,
}

impl SampleData {
    pub(crate) fn empty() -> Self {
        let world = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(world.data_dir()).unwrap();
        world
    }

    pub(crate) fn new(words: SampleText) -> Self {
        let world = Self::empty();
        let repository = world.directory.path().join(format!("repository{}", words.extra));
        fs::create_dir_all(repository.join("shop")).unwrap();
        fs::write(repository.join("shop/cart.py"), "def total(n):\n    return 1 / n  # here\n")
            .unwrap();
        let data = world.data_dir();
        let (first, second) =
            (sample_failure("fa11111111", words), sample_failure("fb22222222", words));
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

    pub(crate) fn data_dir(&self) -> std::path::PathBuf {
        self.directory.path().join("data")
    }

    pub(crate) fn data_source(&self) -> Arc<DataSource> {
        Arc::new(DataSource::new(menace_serve::DataLocations::from_data_dir(
            &self.data_dir(),
            DATABASE_URL,
        )))
    }

    pub(crate) fn routes(&self) -> Router {
        self.dashboard(AccessPolicy::new(IpAddr::V4(Ipv4Addr::LOCALHOST), None, false).unwrap())
    }

    pub(crate) fn guarded_routes(&self) -> Router {
        self.dashboard(token_access(false).with_wrong_token_pause(Duration::from_millis(1)))
    }

    pub(crate) fn dashboard(&self, access: AccessPolicy) -> Router {
        let environment = [
            ("OPENAI_API_KEY".to_owned(), "sk-very-secret".to_owned()),
            ("ROI_CYCLES".to_owned(), "11".to_owned()),
        ];
        let sources =
            SettingsSources { environment: environment.into(), ..SettingsSources::default() };
        let settings = Settings::resolve(&sources).unwrap();
        let settings = settings.entries().collect();
        DashboardServer { data_source: self.data_source(), settings, access }.routes()
    }
}

/// Lets in clients with the token, from any machine.
pub(crate) fn token_access(is_secure: bool) -> AccessPolicy {
    let token = Some(AccessToken::new(TEST_TOKEN).unwrap());
    AccessPolicy::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), token, is_secure).unwrap()
}
