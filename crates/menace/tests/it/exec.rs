//! `menace exec` as its users meet it.

use std::fs;

use serde_json::{Value, json};

use crate::program::PYTHON_PATH;
use crate::program::{CommandOutput, SANDBOX_VARIABLES, TestDirectory};

pub(crate) fn exec(place: &TestDirectory, arguments: &[&str]) -> CommandOutput {
    place.run_with(&SANDBOX_VARIABLES, &[&["exec"], arguments].concat())
}

pub(crate) fn outcome(place: &TestDirectory, arguments: &[&str]) -> Value {
    exec(place, &[arguments, &["--format", "json"]].concat()).json()
}

/// A repository of one module.
pub(crate) fn repo(source: &str) -> TestDirectory {
    let place = TestDirectory::new();
    fs::create_dir(place.path().join("repo")).unwrap();
    place.write("repo/mod.py", source);
    place
}

/// Without what differs from machine to machine and from run to run.
fn mask_variable_parts(text: &str) -> String {
    let changing = ["time", "memory", "io", "isolation", "python", "limits"];
    let line = |line: &str| match changing.iter().find(|label| line.starts_with(**label)) {
        Some(label) => format!("{label:<12}[…]\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn mask_variable_json(mut outcome: Value) -> Value {
    for key in ["tier", "python", "runtime_metrics", "enforced_by", "unenforced"] {
        assert!(!outcome[key].is_null(), "{key} of {outcome}");
        outcome[key] = json!("[…]");
    }
    // Differs between versions of Python.
    assert_eq!(outcome["value"]["hash"].as_str().map(str::len), Some(32), "{outcome}");
    outcome["value"]["hash"] = json!("[…]");
    outcome
}

const BOOKSHOP_ARGS: [&str; 2] = ["--repo", "bookshop"];

#[test]
fn a_division_by_zero_is_shown_with_its_place() {
    let place = TestDirectory::with_fixture("bookshop");
    let call = ["bookshop.pricing:discount", "--args", "[[], null]"];
    let ran = exec(&place, &[&BOOKSHOP_ARGS[..], &call].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(mask_variable_parts(&ran.out));
}

#[test]
fn a_result_as_json() {
    let place = TestDirectory::with_fixture("bookshop");
    let call = ["bookshop.pricing:parse_price", "--args", r#"["EUR 12,50"]"#, "--seed", "7"];
    let found = outcome(&place, &[&BOOKSHOP_ARGS[..], &call].concat());
    insta::assert_json_snapshot!(mask_variable_json(found));
}

#[test]
fn every_kind_of_section_can_be_called() {
    let place = TestDirectory::with_fixture("bookshop");
    let book = r#"{"$call": "bookshop.models:Book", "args": ["Emma", "Jane Austen", 10]}"#;
    let repr = |arguments: &[&str]| {
        let found = outcome(&place, &[&BOOKSHOP_ARGS[..], arguments].concat());
        assert_eq!(found["verdict"], "returned", "{found}");
        let value = found["value"]["repr"].as_str().unwrap_or_default().to_owned();
        (found["target"]["kind"].as_str().unwrap().to_owned(), value)
    };
    let is = |how: &str, value: &str| (how.to_owned(), value.to_owned());
    let static_method = ["bookshop.models:Book.shelf_key", "--args", r#"["Jane Austen", "Emma"]"#];
    assert_eq!(repr(&static_method), is("static_method", "'A/Emm'"));
    let row = r#"[{"title": "a", "author": "b", "price": "1", "condition": "new"}]"#;
    let (how, made) = repr(&["bookshop.models:Book.from_row", "--args", row]);
    assert_eq!(how, "class_method");
    assert!(made.starts_with("Book(title='a'"), "{made}");
    let property = ["bookshop.models:Book.asking_price", "--receiver", book];
    assert_eq!(repr(&property), is("property", "Decimal('7.0')"));
    assert_eq!(repr(&["bookshop.models:<module>"]).0, "module");
    assert_eq!(repr(&["bookshop.models"]).0, "module");
    // Tables and failures name sections like this.
    let section_id = ["bookshop/models.py::Condition.factor"];
    assert_eq!(repr(&section_id), is("method", "Decimal('1')"));
    // Instances that nothing has to be invented for are made.
    assert_eq!(repr(&["bookshop.models:Condition.factor"]), is("method", "Decimal('1')"));
    let async_method = ["bookshop.web.api:Api.handle", "--args", r#"["GET", "/"]"#];
    let (how, answer) = repr(&async_method);
    assert_eq!(how, "method");
    assert!(answer.starts_with("(404, "), "{answer}");
    let class = ["bookshop.models:Customer", "--kwargs", r#"{"name": "A", "email": "a@b"}"#];
    let customer = "Customer(name='A', email='a@b', loyal=False)";
    assert_eq!(repr(&class), is("function", customer));
}

#[test]
fn a_source_directory_is_an_import_root() {
    let place = TestDirectory::new();
    fs::create_dir_all(place.path().join("repo/src/app")).unwrap();
    place.write("repo/src/app/__init__.py", "");
    place.write("repo/src/app/names.py", "NAME = 'app'\n");
    place.write(
        "repo/src/app/main.py",
        "from app.names import NAME\ndef f(): return NAME, __name__\n",
    );
    let found = outcome(&place, &["--repo", "repo", "app.main:f"]);
    assert_eq!(found["value"]["repr"], "('app', 'app.main')", "{found}");
    assert_eq!(found["target"]["path"], "src/app/main.py");
}

#[test]
fn what_only_another_call_can_reach_is_unreachable() {
    let place = TestDirectory::with_fixture("bookshop");
    let ran = exec(&place, &["--repo", "bookshop", "bookshop.pricing:rounding.<locals>.to_step"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(ran.out);
}

#[test]
fn bad_requests_say_what_to_do() {
    let place = TestDirectory::with_fixture("bookshop");
    place.write("mocks.json", r#"[{"status": 200}, {"url": "*", "body": 1}]"#);
    place.write("fixtures.json", r#"{"files": {"../a": "x"}}"#);
    let mut said = String::new();
    for arguments in [
        &["bookshop.pricing:discuont"][..],
        &["bookshop.prcing:discount"],
        &["bookshop.pricing.discount"],
        &["bookshop.models:discount"],
        &["bookshop.models:Order.total"],
        &["bookshop.pricing:discount", "--receiver", "1"],
        &["bookshop.pricing:discount", "--args", r#"[{"$tuple": [{"$int": 1.5}]}]"#],
        &["bookshop.pricing:discount", "--args", "{}"],
        &["bookshop.models:Book.asking_price", "--args", "[3]"],
        &["bookshop.models", "--kwargs", r#"{"a": 3}"#],
        &["bookshop.pricing:discount", "--preset", r#"{"MEMORY_LIMTI": "1Mi"}"#],
        &["bookshop.pricing:discount", "--preset", r#"{"MEMORY_LIMIT": "many"}"#],
        &["bookshop.pricing:discount", "--preset", "flaky_upstraem"],
        &["bookshop.pricing:discount", "--preset", r#"{"CPU_LIMIT": 0, "SECURITY_LEVEL": 9}"#],
        &["bookshop.pricing:discount", "--network-mocks", "mocks.json"],
        &["bookshop.pricing:discount", "--fixtures", "fixtures.json"],
        &["bookshop.pricing:discount", "--fixtures", "nowhere.json"],
        &["bookshop.pricing:discount", "--python", "nowhere/python"],
        &["bookshop.pricing:discount", "--repo", "nowhere"],
    ] {
        let repo = if arguments.contains(&"--repo") { &[][..] } else { &BOOKSHOP_ARGS[..] };
        let ran = exec(&place, &[repo, arguments].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{arguments:?}: {}", ran.err);
        said += &ran.err;
    }
    insta::assert_snapshot!(said);
}

#[test]
fn limits_come_from_the_preset_and_a_setting_overrides_it() {
    let place = repo("def spin():\n    while True: pass\n");
    let preset = r#"{"CPU_LIMIT": "0.2", "TIMEOUT": "20"}"#;
    let found = outcome(&place, &["--repo", "repo", "mod:spin", "--preset", preset]);
    assert_eq!(found["verdict"], "timed_out");
    assert_eq!(found["reason"], "it used up its processor time");
    let preset = r#"{"TIMEOUT": "20"}"#;
    let arguments = ["exec", "--repo", "repo", "mod:spin", "--preset", preset];
    let ran = place.run_with(
        &[&SANDBOX_VARIABLES[..], &[("TIMEOUT", "200ms")]].concat(),
        &[&arguments[..], &["--format", "json"]].concat(),
    );
    let found = ran.json();
    assert_eq!(found["reason"], "it did not end in time", "{found}");
    assert!(found["runtime_metrics"]["total_ms"].as_f64().unwrap() < 5000.0, "{found}");
}

#[test]
fn settings_of_a_checkout_do_not_loosen_the_preset() {
    let place = repo("def spin():\n    while True: pass\n");
    let preset = r#"{"CPU_LIMIT": "0.2", "TIMEOUT": "5"}"#;
    for dotenv in ["CPU_LIMIT=1h\nTIMEOUT=10s\n", "TIMEOUT=10s\n"] {
        place.write(".env", dotenv);
        let found = outcome(&place, &["--repo", "repo", "mod:spin", "--preset", preset]);
        assert_eq!(found["reason"], "it used up its processor time", "{dotenv}");
    }
    place.write(".env", "TIMEOUT=200ms\n");
    let preset = r#"{"TIMEOUT": "20"}"#;
    let found = outcome(&place, &["--repo", "repo", "mod:spin", "--preset", preset]);
    assert_eq!(found["reason"], "it did not end in time", "{found}");
    assert!(found["runtime_metrics"]["total_ms"].as_f64().unwrap() < 5000.0, "{found}");
}

/// What is asked for holds from the first line of the module on.
#[test]
fn the_import_is_held_to_the_limits_of_its_call() {
    let place = repo("while True: pass\ndef f(): return 1\n");
    let reason = |preset: &str| {
        let found = outcome(&place, &["--repo", "repo", "mod:f", "--preset", preset]);
        assert_eq!((&found["stage"], &found["unenforced"]), (&json!("import"), &json!([])));
        let took = found["runtime_metrics"]["total_ms"].as_f64().unwrap();
        assert!(took < 1500.0, "{found}");
        found["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(reason(r#"{"TIMEOUT": 0.3}"#), "it did not end in time");
    assert_eq!(reason(r#"{"CPU_LIMIT": 0.3}"#), "it used up its processor time");
    place.write("repo/mod.py", "TAKEN = b'x' * (200 << 20)\ndef f(): return 1\n");
    let preset = r#"{"MEMORY_LIMIT": "64Mi"}"#;
    let found = outcome(&place, &["--repo", "repo", "mod:f", "--preset", preset]);
    assert_eq!((&found["verdict"], &found["stage"]), (&json!("out_of_memory"), &json!("import")));
    // Without a preset, the default limits suffice.
    let found = outcome(&place, &["--repo", "repo", "mod:f"]);
    assert_eq!(found["verdict"], "returned", "{found}");
}

/// Whatever this machine can do: a condition is enforced, or a warning names it.
#[test]
fn every_condition_is_enforced_or_reported() {
    let place = repo("def f(): return 1\n");
    let preset = r#"{"FAILURE_MODES": ["disk", "memory", "cpu_spike", "flaky_upstream"],
        "NETWORK_LATENCY_MS": 20, "PACKET_LOSS": 1}"#;
    let arguments = ["--repo", "repo", "mod:f", "--preset", preset, "--format", "json"];
    let ran = exec(&place, &arguments);
    let found = ran.json();
    for limit in [
        "network_latency",
        "packet_loss",
        "upstream",
        "fault_disk",
        "fault_memory",
        "fault_cpu_spike",
        "fault_flaky_upstream",
    ] {
        let held = !found["enforced_by"][limit].is_null();
        let is_warned = ran.err.contains(limit);
        assert!(held || is_warned, "{limit}: {found}\n{}", ran.err);
    }
}

#[test]
fn a_profile_is_a_preset_by_its_name() {
    let place = repo("def f(): return 1\n");
    for name in ["normal", "resource_strain:low", "baseline+high_latency_api:low"] {
        let found = outcome(&place, &["--repo", "repo", "mod:f", "--preset", name]);
        assert_eq!(found["verdict"], "returned", "{name}: {found}");
    }
    place.write("mine.json", r#"{"impatient": {"TIMEOUT": "0.2"}}"#);
    let slow = repo("import time\ndef f(): time.sleep(9)\n");
    slow.write("mine.json", r#"{"impatient": {"TIMEOUT": "0.2"}}"#);
    let arguments =
        ["exec", "--repo", "repo", "mod:f", "--preset", "impatient", "--format", "json"];
    let own = [PYTHON_PATH, ("SANDBOX_PRESET_PROFILES", "mine.json")];
    assert_eq!(slow.run_with(&own, &arguments).json()["verdict"], "timed_out");
}

#[test]
fn conditions_that_only_change_inputs_are_reported_as_without_effect() {
    let place = repo("def f(): return 1\n");
    let ran = exec(&place, &["--repo", "repo", "mod:f", "--preset", "hostile_input"]);
    let warning = " WARN exec calls with the arguments that you give; without effect: \
                   hostile_input, SANDBOX_STUB_STRATEGY\n";
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), warning));
    let preset = r#"{"THREAD_BURST": 2, "GPU_LIMIT": 1}"#;
    let json = ["--format", "json"];
    let ran = exec(&place, &[&["--repo", "repo", "mod:f", "--preset", preset], &json[..]].concat());
    assert_eq!(ran.json()["unenforced"], json!(["gpu"]));
    assert!(ran.err.contains("THREAD_BURST: it has no effect without"), "{}", ran.err);
    assert!(ran.err.contains("GPU_LIMIT: it needs a container"), "{}", ran.err);
}

#[test]
fn open_files_and_output_have_limits_of_their_own() {
    let place = repo(
        "def f():\n    print('x' * 5000)\n    return len([open('mod.py') for _ in range(40)])\n",
    );
    let preset = r#"{"OPEN_FILES_LIMIT": 30, "OUTPUT_LIMIT": "1Ki"}"#;
    let found = outcome(&place, &["--repo", "repo", "mod:f", "--preset", preset]);
    assert_eq!(found["exception"]["errno"], 24, "{found}");
    assert_eq!(found["stdout"]["text"].as_str().map(str::len), Some(1024));
    assert_eq!(found["stdout"]["truncated"], true);
    let found = outcome(&place, &["--repo", "repo", "mod:f"]);
    assert_eq!(found["value"]["repr"], "40", "{found}");
}

#[test]
fn safe_mode_comes_from_the_flag_the_setting_or_the_preset() {
    let place = repo("import socket\ndef f(): socket.socket()\n");
    let call = ["exec", "--repo", "repo", "mod:f", "--format", "json"];
    let verdict = |variables: &[(&str, &str)], more: &[&str]| {
        let variables = [&[PYTHON_PATH], variables].concat();
        place.run_with(&variables, &[&call[..], more].concat()).json()["verdict"].clone()
    };
    let preset = ["--preset", r#"{"SAFE_MODE": true}"#];
    assert_eq!(verdict(&[], &[]), "returned");
    assert_eq!(verdict(&[], &["--safe-mode"]), "violated");
    assert_eq!(verdict(&[("SAFE_MODE", "1")], &[]), "violated");
    assert_eq!(verdict(&[], &preset), "violated");
    assert_eq!(verdict(&[("SAFE_MODE", "0")], &preset), "returned");
}

#[test]
fn nothing_that_a_guest_prints_drives_the_terminal() {
    let place =
        repo("def f():\n    print('\\x1b[31mred')\n    raise ValueError('\\x1b]0;title\\x07')\n");
    let ran = exec(&place, &["--repo", "repo", "mod:f"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!ran.out.contains('\u{1b}') && ran.out.contains("red"), "{:?}", ran.out);
}

#[test]
fn a_call_changes_nothing_in_the_repository() {
    let place =
        repo("def f():\n    open('new', 'w').write('x')\n    open('mod.py', 'a').write('#')\n");
    let before = place.files("repo");
    let found = outcome(&place, &["--repo", "repo", "mod:f"]);
    assert_eq!(found["files"]["total"], 2, "{found}");
    assert_eq!(place.files("repo"), before);
}

#[test]
fn repeated_calls_are_summed_up() {
    let place =
        repo("import time\ndef same(): return 1\ndef other(): return time.perf_counter_ns()\n");
    let repeat = |name: &str| {
        outcome(&place, &["--repo", "repo", name, "--repeat", "5", "--jobs", "2"])["outcomes"]
            .clone()
    };
    let same = repeat("mod:same");
    assert_eq!(same["verdicts"], json!({"returned": 5}));
    assert_eq!((same["results"].as_object().unwrap().len(), &same["differ"]), (1, &json!(false)));
    assert!(same["total_ms"]["median"].as_f64() <= same["total_ms"]["p90"].as_f64(), "{same}");
    let other = repeat("mod:other");
    assert_eq!((other["results"].as_object().unwrap().len(), &other["differ"]), (5, &json!(true)));
}

#[test]
fn the_table_of_repeated_calls() {
    let place = TestDirectory::with_fixture("bookshop");
    let call =
        ["bookshop.pricing:discount", "--args", "[[], null]", "--repeat", "3", "--jobs", "1"];
    let ran = exec(&place, &[&BOOKSHOP_ARGS[..], &call].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(mask_variable_parts(&ran.out));
}

/// Answers arrive once, and without namespaces there is no other network.
#[test]
fn a_limit_that_nothing_enforces_is_reported() {
    let place = repo("def f(): return 1\n");
    let preset = r#"{"PACKET_DUPLICATION": 5}"#;
    let call = ["--repo", "repo", "mod:f", "--preset", preset, "--tier", "landlock"];
    let ran = exec(&place, &[&call[..], &["--format", "json"]].concat());
    let found = ran.json();
    assert_eq!((&found["verdict"], &found["tier"]), (&json!("returned"), &json!("landlock")));
    assert!(ran.err.contains("nothing here can hold the limit `packet_duplication`"), "{ran:?}");
    assert_eq!(found["unenforced"], json!(["packet_duplication"]));
}

/// Without root there may be no control groups to hold it.
#[test]
fn a_share_of_the_processors_is_held_without_root() {
    let place = repo(
        "import time\n\
         def f():\n    end = time.time() + 1\n    while time.time() < end: pass\n",
    );
    let call = ["exec", "--repo", "repo", "mod:f", "--preset", r#"{"CPU_SHARE": "25%"}"#];
    let mut command = place.unprivileged_command(&[&call[..], &["--format", "json"]].concat());
    command.envs(SANDBOX_VARIABLES);
    let ran = CommandOutput::from(command.output().unwrap());
    let found = ran.json();
    assert_eq!(
        (&found["verdict"], &found["tier"]),
        (&json!("returned"), &json!("user_namespaces"))
    );
    assert!(!found["enforced_by"]["cpu_share"].is_null(), "{found}");
    let metrics = &found["runtime_metrics"];
    let used = |key: &str| metrics[key].as_f64().unwrap();
    let share = (used("user_cpu_ms") + used("system_cpu_ms")) / used("wall_ms");
    assert!((0.1..0.4).contains(&share), "{share}: {found}");
}
