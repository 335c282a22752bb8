//! Metric plugins in real sandboxes.
//!
//! Without the default test harness: the program itself becomes the init of its sandboxes.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]
#![expect(clippy::print_stdout, reason = "a test without a harness prints its results")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use menace_loop::inputs::PluginIsolation;
use menace_loop::metrics::{
    MetricPlugins, PluginDirectories, PluginInput, PluginMetrics, PluginPrediction,
};
use menace_model::CallLimits;
use menace_sandbox::interpreter::{HarnessSource, InterpreterSearch, PythonInterpreter};
use menace_sandbox::{CancelToken, init};
use tempfile::TempDir;

const CUSTOM: (&str, &str) = ("custom.py", include_str!("plugins/custom.py"));
const CPU_PREDICT: (&str, &str) = ("cpu_predict.py", include_str!("plugins/cpu_predict.py"));
const SYNERGY_PREDICT: (&str, &str) =
    ("synergy_predict.py", include_str!("plugins/synergy_predict.py"));

type PluginTest = fn(&PluginIsolation);

const TESTS: [(&str, PluginTest); 8] = [
    ("a_plugin_returns_metrics", a_plugin_returns_metrics),
    ("a_plugin_may_register_with_a_manager", a_plugin_may_register_with_a_manager),
    ("a_plugin_may_register_with_a_tracker_too", a_plugin_may_register_with_a_tracker_too),
    ("a_failing_plugin_is_left_out_with_a_warning", a_failing_plugin_is_left_out_with_a_warning),
    ("a_plugin_that_hangs_is_killed", a_plugin_that_hangs_is_killed),
    (
        "a_result_that_is_not_a_dictionary_of_numbers_is_left_out",
        a_result_that_is_not_a_dictionary_of_numbers_is_left_out,
    ),
    (
        "of_two_plugins_with_one_metric_the_later_counts",
        of_two_plugins_with_one_metric_the_later_counts,
    ),
    ("a_missing_directory_is_an_error", a_missing_directory_is_an_error),
];

fn main() {
    if init::is_requested() {
        init::run();
    }
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let isolation = PluginIsolation {
        interpreter: interpreter(),
        tier: None,
        unsafe_no_isolation: false,
        cancel: CancelToken::default(),
    };
    for (name, test) in TESTS {
        if wanted.as_ref().is_none_or(|wanted| name.contains(wanted.as_str())) {
            test(&isolation);
            println!("test {name} ... ok");
        }
    }
}

fn interpreter() -> PythonInterpreter {
    let source = |(name, text): &(&str, &str)| HarnessSource {
        name: (*name).to_owned(),
        text: (*text).to_owned(),
    };
    let sources: Vec<HarnessSource> =
        menace_sandbox::harness_sources().iter().map(source).collect();
    let search = InterpreterSearch {
        python: None,
        repository: Path::new("/nonexistent"),
        path: OsStr::new("/usr/bin:/bin"),
        home: None,
        sources: &sources,
        cache: None,
    };
    PythonInterpreter::find(&search).expect("a Python can be found")
}

fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = TempDir::with_prefix("plugins-").expect("writable");
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).expect("writable");
    }
    directory
}

fn collected(
    isolation: &PluginIsolation,
    files: &[(&str, &str)],
    input: &PluginInput,
) -> PluginMetrics {
    let directory = directory(files);
    let found = PluginDirectories::read(Some(directory.path()), None).expect("a directory");
    let limits = CallLimits { timeout_ms: 3_000, ..CallLimits::default() };
    let plugins = MetricPlugins::find(&found.paths, limits, isolation).expect("readable");
    let collected = plugins.collect(input).expect("a plugin is never an error");
    let there: Vec<_> = std::fs::read_dir(directory.path()).expect("readable").collect();
    assert_eq!(there.len(), files.len(), "nothing was left beside the plugins: {there:?}");
    collected
}

fn of_cpu(cpu: f64) -> PluginInput {
    let resources = Some(BTreeMap::from([("cpu".to_owned(), cpu)]));
    PluginInput { prev_roi: 1.0, roi: 1.5, resources, ..PluginInput::default() }
}

fn only(found: &PluginMetrics, name: &str) -> f64 {
    assert_eq!(found.warnings, [""; 0]);
    *found.metrics.get(name).unwrap_or_else(|| panic!("no {name}: {found:?}"))
}

fn close(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-9, "{one} is not {other}");
}

fn a_plugin_returns_metrics(isolation: &PluginIsolation) {
    let found = collected(isolation, &[CUSTOM], &of_cpu(80.0));
    close(only(&found, "cpu_delta"), 30.0);
    assert_eq!((found.metrics.len(), found.predictions.len()), (1, 0));
    let found = collected(isolation, &[CUSTOM], &PluginInput::default());
    close(only(&found, "cpu_delta"), -50.0);
}

fn a_plugin_may_register_with_a_manager(isolation: &PluginIsolation) {
    let mut input = of_cpu(80.0);
    // Without a history, the forecast is the passed value.
    close(only(&collected(isolation, &[CPU_PREDICT], &input), "cpu_delta_pred"), 80.0);
    input.history.metrics.insert("cpu_delta".to_owned(), vec![10.0, 20.0, 30.0]);
    let found = collected(isolation, &[CPU_PREDICT], &input);
    close(only(&found, "cpu_delta_pred"), 40.0);
    close(only(&found, "cpu_delta"), 30.0);
}

fn a_plugin_may_register_with_a_tracker_too(isolation: &PluginIsolation) {
    let mut input = PluginInput { roi: 2.0, ..PluginInput::default() };
    let metrics = &mut input.history.metrics;
    metrics.insert("synergy_roi".to_owned(), vec![0.1, 0.2]);
    metrics.insert("security_score".to_owned(), vec![0.5]);
    input.history.roi = vec![1.0, 2.0];
    input.history.predicted.insert("synergy_roi".to_owned(), vec![0.15]);
    let found = collected(isolation, &[SYNERGY_PREDICT], &input);
    close(only(&found, "pred_synergy_roi"), 0.3);
    close(only(&found, "known_synergy_roi"), 2.0);
    close(only(&found, "rounds"), 2.0);
    let [PluginPrediction { plugin, metric, predicted, actual: Some(actual) }] =
        &found.predictions[..]
    else {
        panic!("{found:?}");
    };
    assert_eq!(metric, "synergy_roi");
    assert_eq!(*plugin, format!("plugin:{}", SYNERGY_PREDICT.0.trim_end_matches(".py")));
    close(*predicted, 0.3);
    close(*actual, 0.2);
}

/// None of these affects the plugin beside it; each gives a warning with its file and reason.
fn assert_left_out(isolation: &PluginIsolation, cases: &[(&str, &str)]) {
    for (text, why) in cases {
        let found = collected(isolation, &[("bad.py", text), CUSTOM], &of_cpu(60.0));
        assert_eq!(found.metrics, BTreeMap::from([("cpu_delta".to_owned(), 10.0)]), "{text}");
        assert_eq!(found.predictions, [], "{text}");
        let [warning] = &found.warnings[..] else { panic!("{text}: {:?}", found.warnings) };
        assert!(warning.contains("bad.py") && warning.contains(why), "{text}: {warning}");
    }
}

fn a_failing_plugin_is_left_out_with_a_warning(isolation: &PluginIsolation) {
    let cases = [
        ("1 / 0\n", "ZeroDivisionError"),
        ("def collect_metrics(a, b, c):\n    return {}['x']\n", "KeyError: 'x'"),
        ("def collect_metrics():\n    return {}\n", "TypeError"),
        ("x = 1\n", "no function `collect_metrics`"),
        ("def collect_metrics(a, b, c):\n    raise SystemExit\n", "SystemExit"),
        ("def collect_metrics(a, b, c):\n    import os\n    os.abort()\n", "SIGABRT"),
        (
            "def register(m):\n    m.nothing\ndef collect_metrics(a, b, c):\n    return {}\n",
            "AttributeError",
        ),
    ];
    assert_left_out(isolation, &cases);
}

fn a_plugin_that_hangs_is_killed(isolation: &PluginIsolation) {
    let text = "def collect_metrics(a, b, c):\n    while True:\n        pass\n";
    assert_left_out(isolation, &[(text, "it did not end in time")]);
}

fn a_result_that_is_not_a_dictionary_of_numbers_is_left_out(isolation: &PluginIsolation) {
    let returns = |what: &str| format!("def collect_metrics(a, b, c):\n    return {what}\n");
    let odd = [
        "None",
        "[('a', 1.0)]",
        "{'a': 'b'}",
        "{'a': True}",
        "{'a': float('nan')}",
        "{'a': 1.0, 'b': float('inf')}",
        "{1: 1.0}",
        "{'a' * 1000: 1.0}",
        "{'a': object()}",
        "{str(n): n for n in range(100000)}",
    ];
    for what in odd {
        assert_left_out(
            isolation,
            &[(&returns(what), "expected a dictionary from names to finite")],
        );
    }
    // Results are checked even when the plugin replaces a function of the caller.
    let forged = "import sys\ndef collect_metrics(a, b, c):\n    \
        sys._getframe(1).f_globals['_plain'] = lambda m: {'x': 'y'}\n    return {}\n";
    assert_left_out(isolation, &[(forged, "expected a dictionary")]);
    let predicts = "def register(m, t):\n    t.recorded.append(['a', 'b', None])\n\
        def collect_metrics(a, b, c):\n    return {}\n";
    assert_left_out(isolation, &[(predicts, "expected a dictionary")]);
    // Other kinds of numbers and dictionaries are fine.
    let fine = "import collections, fractions\ndef collect_metrics(a, b, c):\n    \
        return collections.OrderedDict(x=fractions.Fraction(1, 2), y=3)\n";
    let found = collected(isolation, &[("fine.py", fine)], &PluginInput::default());
    close(only(&found, "x"), 0.5);
    close(only(&found, "y"), 3.0);
}

fn of_two_plugins_with_one_metric_the_later_counts(isolation: &PluginIsolation) {
    let other = ("other.py", "def collect_metrics(a, b, c):\n    return {'cpu_delta': 7}\n");
    let hidden = ("_hidden.py", "def collect_metrics(a, b, c):\n    return {'hidden': 1}\n");
    let found = collected(isolation, &[CUSTOM, other, hidden], &PluginInput::default());
    assert_eq!(found.metrics, BTreeMap::from([("cpu_delta".to_owned(), 7.0)]));
    let [warning] = &found.warnings[..] else { panic!("{:?}", found.warnings) };
    assert!(warning.contains("other.py") && warning.contains("`cpu_delta`"), "{warning}");
}

fn a_missing_directory_is_an_error(isolation: &PluginIsolation) {
    let missing = [PathBuf::from("/nonexistent/plugins")];
    let error = MetricPlugins::find(&missing, CallLimits::default(), isolation).expect_err("none");
    let text = error.to_string();
    assert!(text.contains("/nonexistent/plugins"), "{text}");
    assert!(text.contains("SANDBOX_METRICS_PLUGIN_DIR"), "{text}");
}
