//! `/metrics`, read as strictly as Prometheus reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::Duration;

use axum::http::{StatusCode, header};
use menace_serve::prometheus::{METRIC_DECLARATIONS, MetricNameOrigin};
use menace_serve::{AccessPolicy, MetricsEndpoint, SynergyExporter};
use menace_store::{MetricMeasurement, MetricsDatabase, RunId};

use crate::sample::{PLAIN_TEXT, SampleData, SampleText, fetch_as_program};

/// Samples by name and labels; panics on anything that the format does not allow.
fn parse_exposition(text: &str) -> BTreeMap<(String, BTreeMap<String, String>), f64> {
    assert!(text.ends_with('\n'), "the last line has an end");
    let mut samples = BTreeMap::new();
    let mut types: BTreeMap<String, String> = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let mut done = BTreeSet::new();
    let mut current = String::new();
    for line in text.lines() {
        assert_eq!(line.trim(), line, "no space around: {line:?}");
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').expect("help has a text");
            assert!(!text.is_empty() && helped.insert(name.to_owned()), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a type has a kind");
            assert!(["gauge", "counter"].contains(&kind), "{line}");
            assert!(helped.contains(name), "help comes first: {line}");
            assert!(types.insert(name.into(), kind.into()).is_none(), "{line}");
            assert!(done.insert(name.to_owned()), "samples of a name stand together: {line}");
            name.clone_into(&mut current);
        } else {
            assert!(!line.starts_with('#'), "{line}");
            let (name, labels, value) = parse_sample(line);
            assert_eq!(name, current, "a sample stands below its own type: {line}");
            let number: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
            if types[&name] == "counter" {
                assert!(number >= 0.0, "{line}");
            }
            assert!(samples.insert((name, labels), number).is_none(), "twice: {line}");
        }
    }
    samples
}

fn parse_sample(line: &str) -> (String, BTreeMap<String, String>, &str) {
    let end = line.find(['{', ' ']).expect("a value");
    let (name, rest) = line.split_at(end);
    assert!(name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'), "{line}");
    assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{line}");
    let mut labels = BTreeMap::new();
    let Some(mut rest) = rest.strip_prefix('{') else {
        return (name.to_owned(), labels, &rest[1..]);
    };
    loop {
        let (label, after) = rest.split_once("=\"").expect("a label has a value in quotes");
        let mut value = String::new();
        let mut chars = after.char_indices();
        let close = loop {
            match chars.next().expect("quotes are closed") {
                (at, '"') => break at,
                (_, '\\') => match chars.next().expect("something is escaped").1 {
                    'n' => value.push('\n'),
                    escaped @ ('\\' | '"') => value.push(escaped),
                    other => panic!("\\{other} is no escape: {line}"),
                },
                (_, char) => value.push(char),
            }
        };
        assert!(labels.insert(label.to_owned(), value).is_none(), "{line}");
        rest = &after[close + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => break,
        }
    }
    (name.to_owned(), labels, rest.strip_prefix("} ").expect("labels are closed"))
}

fn sample_value(
    samples: &BTreeMap<(String, BTreeMap<String, String>), f64>,
    name: &str,
) -> Option<f64> {
    samples.get(&(name.to_owned(), BTreeMap::new())).copied()
}

fn local_access() -> AccessPolicy {
    AccessPolicy::new(IpAddr::V4(Ipv4Addr::LOCALHOST), None, false).unwrap()
}

#[test]
fn a_scrape_is_well_formed_and_says_what_is_stored() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let answer = fetch_as_program(&routes, "/metrics");
    assert_eq!(answer.header(header::CONTENT_TYPE), "text/plain; version=0.0.4; charset=utf-8");
    let samples = parse_exposition(answer.text());
    assert_eq!(sample_value(&samples, "menace_runs_total"), Some(2.0));
    assert_eq!(sample_value(&samples, "menace_calls_total"), Some(18.0));
    assert_eq!(sample_value(&samples, "menace_run_roi"), Some(0.25));
    assert_eq!(sample_value(&samples, "menace_active_runs"), Some(0.0));
    assert_eq!(sample_value(&samples, "synergy_roi"), Some(-0.25));
    let with = |name: &str, label: &str, value: &str| {
        samples.get(&(name.to_owned(), [(label.to_owned(), value.to_owned())].into())).copied()
    };
    assert_eq!(with("menace_open_failures", "kind", "unhandled"), Some(2.0));
    assert_eq!(with("menace_run_calls", "verdict", "returned"), Some(7.0));
    assert_eq!(with("menace_metric", "metric", "security_score"), Some(0.75));
    assert_eq!(with("menace_module_roi", "module", "shop/cart.py"), Some(0.25));
    assert_eq!(with("menace_scenario_roi", "scenario", "hostile_input"), Some(0.25));
    let declared: BTreeSet<&str> =
        METRIC_DECLARATIONS.iter().map(|declared| declared.name).collect();
    for (name, labels) in samples.keys() {
        assert!(declared.contains(name.as_str()), "{name}");
        let known = METRIC_DECLARATIONS.iter().find(|declared| declared.name == name).unwrap();
        assert_eq!(labels.len(), known.labels.len(), "{name}");
    }
    // No code records this gauge yet: it is absent, not 0.
    assert_eq!(sample_value(&samples, "sandbox_restart_total"), None);
}

#[test]
fn names_of_guests_do_not_break_the_format() {
    let words = SampleText {
        module: "a\"} 1\nevil_metric 2\\.py",
        scenario: "x\",y=\"z\n# TYPE evil gauge",
        ..PLAIN_TEXT
    };
    let world = SampleData::new(words);
    let samples = parse_exposition(fetch_as_program(&world.routes(), "/metrics").text());
    assert!(samples.keys().all(|(name, _)| !name.starts_with("evil")));
    let modules: Vec<_> = samples.keys().filter_map(|(_, labels)| labels.get("module")).collect();
    assert!(modules.iter().any(|module| *module == words.module), "{modules:?}");
}

#[test]
fn a_gauge_appears_once_it_is_recorded() {
    let world = SampleData::new(PLAIN_TEXT);
    let (mut metrics, _) = MetricsDatabase::open(&world.data_dir().join("metrics.db")).unwrap();
    let record = |at_ms, name: &str, module: &str, value| MetricMeasurement {
        at_ms,
        run: RunId("r-2".into()),
        cycle: 0,
        scenario: String::new(),
        module: module.into(),
        name: name.into(),
        value: Some(value),
    };
    metrics
        .record(&[
            record(1, "orphan_modules_tested_total", "", 3.0),
            record(2, "orphan_modules_tested_total", "", 5.0),
            record(1, "container_creation_seconds", "python:3.11", 0.5),
            record(1, "container_creation_seconds", "python:3.12", 2.5),
            record(2, "container_creation_seconds", "python:3.12", 1.5),
            record(2, "self_test_passed_total", "", 9.0),
            record(2, "not_declared", "", 1.0),
        ])
        .unwrap();
    let samples = parse_exposition(fetch_as_program(&world.routes(), "/metrics").text());
    assert_eq!(sample_value(&samples, "orphan_modules_tested_total"), Some(5.0), "the latest");
    let seconds = |image: &str| {
        let image = BTreeMap::from([("image".to_owned(), image.to_owned())]);
        samples.get(&("container_creation_seconds".to_owned(), image)).copied()
    };
    assert_eq!(seconds("python:3.12"), Some(1.5));
    assert_eq!(seconds("python:3.11"), Some(0.5), "the latest of each label");
    let alone = MetricsEndpoint::SelfTests.routes(world.data_source(), local_access());
    let samples = parse_exposition(fetch_as_program(&alone, "/metrics").text());
    assert_eq!(samples.len(), 1);
    assert_eq!(sample_value(&samples, "self_test_passed_total"), Some(9.0));
}

#[test]
fn ports_of_their_own_offer_metrics_and_health_only() {
    let world = SampleData::new(PLAIN_TEXT);
    for which in [MetricsEndpoint::Everything, MetricsEndpoint::SelfTests, MetricsEndpoint::Synergy]
    {
        let routes = which.routes(world.data_source(), local_access());
        assert_eq!(fetch_as_program(&routes, "/health").text(), r#"{"status":"ok"}"#);
        assert_eq!(fetch_as_program(&routes, "/metrics").status, StatusCode::OK);
        assert_eq!(fetch_as_program(&routes, "/failures").status, StatusCode::NOT_FOUND);
    }
    let synergy = MetricsEndpoint::Synergy.routes(world.data_source(), local_access());
    let samples = parse_exposition(fetch_as_program(&synergy, "/metrics").text());
    assert_eq!(samples.keys().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["synergy_roi"]);
}

#[test]
fn the_exporter_reads_the_history_again_after_its_interval() {
    let world = SampleData::new(PLAIN_TEXT);
    let path = world.data_dir().join("synergy_history.db");
    let append = |value: f64| {
        let (mut history, _) = menace_store::SynergyHistory::open(&path).unwrap();
        history.append(&[BTreeMap::from([("synergy_roi".to_owned(), value)])]).unwrap();
    };
    let seldom =
        SynergyExporter::open(&path, Duration::from_hours(1)).unwrap().routes(local_access());
    let always = SynergyExporter::open(&path, Duration::ZERO).unwrap().routes(local_access());
    let roi = |routes| {
        sample_value(&parse_exposition(fetch_as_program(routes, "/metrics").text()), "synergy_roi")
    };
    assert_eq!((roi(&seldom), roi(&always)), (Some(-0.25), Some(-0.25)));
    append(0.75);
    assert_eq!((roi(&seldom), roi(&always)), (Some(-0.25), Some(0.75)));
    assert_eq!(fetch_as_program(&always, "/health").text(), r#"{"status":"ok"}"#);
}

#[test]
fn the_exporter_tells_what_the_trainer_records_beside_the_history() {
    let world = SampleData::new(PLAIN_TEXT);
    let (mut metrics, _) = MetricsDatabase::open(&world.data_dir().join("metrics.db")).unwrap();
    let trained = MetricMeasurement {
        at_ms: 3,
        run: RunId("r-2".into()),
        cycle: 0,
        scenario: String::new(),
        module: String::new(),
        name: "synergy_trainer_iterations".into(),
        value: Some(4.0),
    };
    let other = MetricMeasurement { name: "self_test_passed_total".into(), ..trained.clone() };
    metrics.record(&[trained, other]).unwrap();
    let path = world.data_dir().join("synergy_history.db");
    let exporter = SynergyExporter::open(&path, Duration::ZERO).unwrap().routes(local_access());
    let samples = parse_exposition(fetch_as_program(&exporter, "/metrics").text());
    assert_eq!(sample_value(&samples, "synergy_trainer_iterations"), Some(4.0));
    assert_eq!(sample_value(&samples, "synergy_roi"), Some(-0.25));
    assert_eq!(samples.len(), 2, "nothing else: {samples:?}");
}

#[test]
fn the_exporter_refuses_what_is_no_history_and_leaves_it_alone() {
    let world = SampleData::empty();
    let open = |name: &str| SynergyExporter::open(&world.data_dir().join(name), Duration::ZERO);
    let refused = |name: &str| open(name).unwrap_err().to_string();
    fs::write(world.data_dir().join("notes.txt"), "mine").unwrap();
    let other = rusqlite::Connection::open(world.data_dir().join("other.db")).unwrap();
    other.execute_batch("CREATE TABLE users (name TEXT)").unwrap();
    drop(other);
    let before = directory_contents(&world.data_dir());
    assert!(refused("none.db").starts_with("there is no synergy history `"));
    assert!(refused("notes.txt").ends_with("is no SQLite database; is it the right file?"));
    assert!(refused("other.db").contains("is no synergy history"));
    assert_eq!(directory_contents(&world.data_dir()), before);
}

#[test]
fn a_history_that_is_damaged_later_is_reported_and_not_changed() {
    let world = SampleData::new(PLAIN_TEXT);
    let path = world.data_dir().join("synergy_history.db");
    let exporter = SynergyExporter::open(&path, Duration::ZERO).unwrap().routes(local_access());
    let dashboard = world.routes();
    fs::write(&path, "damaged").unwrap();
    fs::write(world.data_dir().join("metrics.db"), "damaged").unwrap();
    let before = directory_contents(&world.data_dir());
    let answer = fetch_as_program(&exporter, "/metrics");
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.text().contains("is no SQLite database"), "{}", answer.text());
    for page in ["/synergy", "/metrics"] {
        assert_eq!(
            fetch_as_program(&dashboard, page).status,
            StatusCode::INTERNAL_SERVER_ERROR,
            "{page}"
        );
    }
    let after = directory_contents(&world.data_dir());
    let lasting = |files: &BTreeMap<String, Vec<u8>>| {
        let mut files = files.clone();
        // The store's own: see docs/see.md.
        files.retain(|name, _| !name.starts_with("menace.db"));
        files
    };
    assert_eq!(lasting(&after), lasting(&before));
    fs::remove_file(&path).unwrap();
    assert_eq!(fetch_as_program(&exporter, "/metrics").status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(!path.exists());
}

/// Names with contents.
fn directory_contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().flatten().filter(|it| it.path().is_file());
    let read = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    entries.map(read).collect()
}

/// `SampleText` of a query that name metrics: not functions, labels or strings.
fn metric_names_in(query: &str) -> Vec<String> {
    let mut bare = String::new();
    let mut depth = 0;
    for char in query.chars() {
        match char {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            char if depth == 0 => bare.push(char),
            _ => {}
        }
    }
    let words = bare.split(|char: char| !(char.is_ascii_alphanumeric() || char == '_'));
    let is_metric = |word: &&str| word.contains('_');
    words.filter(is_metric).map(str::to_owned).collect()
}

#[test]
fn the_grafana_dashboard_asks_for_what_there_is() {
    let text = include_str!("../../../../contrib/grafana/menace.json");
    let dashboard: serde_json::Value = serde_json::from_str(text).unwrap();
    let mut asked = BTreeSet::new();
    let mut places = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let place = &panel["gridPos"];
        assert!(places.insert(place.to_string()), "{} covers another", panel["title"]);
        for target in panel["targets"].as_array().unwrap() {
            for name in metric_names_in(target["expr"].as_str().unwrap()) {
                let is_declared = METRIC_DECLARATIONS.iter().any(|declared| declared.name == name);
                assert!(is_declared, "{name} in {}", panel["title"]);
                asked.insert(name);
            }
        }
    }
    // Documented gauges have a panel, except for older names of the same gauge; of the synergy
    // gauges, a few are enough.
    let older = ["sandbox_restart_count", "sandbox_last_failure_time"];
    for gauge in
        METRIC_DECLARATIONS.iter().filter(|gauge| gauge.origin == MetricNameOrigin::Documented)
    {
        let is_synergy = gauge.name.starts_with("synergy_") && !gauge.name.contains("trainer");
        let is_wanted = !is_synergy && !older.contains(&gauge.name);
        assert!(!is_wanted || asked.contains(gauge.name), "no panel shows {}", gauge.name);
    }
}

/// Depth, key and value of each line, of YAML that has one key on each line and lists in brackets
/// only; anything else is refused.
fn parse_yaml_lines(text: &str) -> Vec<(usize, &str, &str)> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let bare = line.trim_start();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        assert!(!line.contains('\t') && !line.ends_with(' '), "{line:?}");
        let entry = bare.strip_prefix("- ").unwrap_or(bare);
        let depth = line.len() - entry.len();
        assert_eq!(depth % 2, 0, "{line:?}");
        let (key, value) = entry.split_once(':').unwrap_or_else(|| panic!("no key: {line:?}"));
        assert!(value.is_empty() || value.starts_with(' '), "{line:?}");
        lines.push((depth, key, value.trim()));
    }
    lines
}

#[test]
fn the_scrape_example_names_ports_that_are_defaults() {
    let text = include_str!("../../../../contrib/prometheus/scrape.yml");
    let mut jobs: BTreeMap<&str, String> = BTreeMap::new();
    let mut job = "";
    let mut lines = parse_yaml_lines(text).into_iter();
    assert_eq!(lines.next(), Some((0, "scrape_configs", "")));
    for (depth, key, value) in lines {
        match (depth, key) {
            (4, "job_name") => job = value,
            (4, "scrape_interval" | "static_configs") => {}
            (8, "targets") => {
                let targets: Vec<String> = serde_json::from_str(value).unwrap();
                let [target] = targets.as_slice() else { panic!("one for {job}: {targets:?}") };
                assert!(jobs.insert(job, target.clone()).is_none(), "{job} is there twice");
            }
            other => panic!("Prometheus knows no {other:?} here"),
        }
    }
    let default = |name: &str| {
        let declared = menace_settings::declarations().find(|it| it.name == name).unwrap();
        declared.default
    };
    assert_eq!(default("METRICS_PORT"), None, "the example says so");
    for (job, port) in [
        ("menace", Some("8002")),
        ("menace-run", Some("8001")),
        ("menace-self-tests", default("SELF_TEST_METRICS_PORT")),
        ("menace-synergy", default("SYNERGY_METRICS_PORT")),
    ] {
        assert_eq!(jobs.remove(job), Some(format!("127.0.0.1:{}", port.unwrap())), "{job}");
    }
    assert_eq!(jobs, BTreeMap::new());
}
