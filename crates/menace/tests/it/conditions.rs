//! What a call is given and held to, as far as the command line and the preset decide it.

use std::process::Command;

use serde_json::{Value, json};

use crate::exec::{exec, outcome, repo};

fn returned_value(found: &Value) -> &Value {
    assert_eq!(found["verdict"], "returned", "{found}");
    &found["value"]["value"]
}

#[test]
fn a_frozen_clock_can_follow_the_seed() {
    let place = repo(
        "import time, datetime\n\
         def now():\n    return [time.time(), datetime.datetime.now(datetime.timezone.utc).year]\n",
    );
    let call = |more: &[&str]| {
        let found = outcome(&place, &[&["--repo", "repo", "mod:now"], more].concat());
        returned_value(&found).clone()
    };
    let seeded = |seed: &str| call(&["--freeze-time", "seed", "--seed", seed]);
    assert_eq!(seeded("7"), json!([1_384_637_959.0, 2013]));
    assert_eq!(seeded("7"), seeded("7"));
    assert_ne!(seeded("7"), seeded("8"));
    assert_eq!(call(&["--freeze-time", "-5.5"]), json!([-5.5, 1969]));
    for wrong in ["inf", "NaN", "noon", ""] {
        let ran = exec(&place, &["--repo", "repo", "mod:now", "--freeze-time", wrong]);
        assert_eq!(ran.code, Some(2), "{wrong}: {}", ran.err);
        assert!(ran.err.contains("or `seed`"), "{}", ran.err);
    }
}

#[test]
fn processes_open_files_and_output_can_be_limited() {
    let place = repo(
        "import os, threading\n\
         def threads(count):\n\
         \x20   stop = threading.Event()\n\
         \x20   for _ in range(count): threading.Thread(target=stop.wait).start()\n\
         \x20   stop.set()\n\
         \x20   return count\n\
         def files(count):\n\
         \x20   return len([open(os.devnull) for _ in range(count)])\n\
         def shout(count): print('x' * count, end='')\n",
    );
    let call = |name: &str, count: &str, preset: &str| {
        let arguments = ["--repo", "repo", name, "--args", count, "--preset", preset];
        outcome(&place, &arguments)
    };
    // More than by default.
    let many = call("mod:threads", "[100]", r#"{"PROCESS_LIMIT": 150}"#);
    assert_eq!(returned_value(&many), 100);
    let found = call("mod:threads", "[100]", "{}");
    assert_ne!(found["verdict"], "returned", "{found}");
    let found = call("mod:threads", "[5]", r#"{"PROCESS_LIMIT": 2}"#);
    assert_ne!(found["verdict"], "returned", "{found}");
    assert_eq!(returned_value(&call("mod:threads", "[1]", r#"{"PROCESS_LIMIT": 2}"#)), 1);

    let many = call("mod:files", "[2000]", r#"{"OPEN_FILES_LIMIT": 3000}"#);
    assert_eq!(returned_value(&many), 2000);
    let found = call("mod:files", "[100]", r#"{"OPEN_FILES_LIMIT": 16}"#);
    assert_eq!(found["exception"]["errno"], 24, "{found}");
    // The smallest that is allowed is enough for a call.
    assert_eq!(returned_value(&call("mod:files", "[1]", r#"{"OPEN_FILES_LIMIT": 16}"#)), 1);

    let found = call("mod:shout", "[200000]", r#"{"OUTPUT_LIMIT": "100Ki"}"#);
    let kept = found["stdout"]["text"].as_str().unwrap().len();
    assert_eq!((kept, &found["stdout"]["bytes"]), (100 << 10, &json!(200_000)));
    let found = call("mod:shout", "[10]", r#"{"OUTPUT_LIMIT": 0}"#);
    assert_eq!((&found["stdout"]["text"], &found["stdout"]["bytes"]), (&json!(""), &json!(10)));
}

#[test]
fn a_limit_out_of_reach_is_a_mistake_of_the_request() {
    let place = repo("def f(): return 1\n");
    for preset in [
        r#"{"CPU_SHARE": 1e300}"#,
        r#"{"PROCESS_LIMIT": 18446744073709551615}"#,
        r#"{"OPEN_FILES_LIMIT": 1}"#,
        r#"{"OUTPUT_LIMIT": "1Ti"}"#,
    ] {
        let ran = exec(&place, &["--repo", "repo", "mod:f", "--preset", preset]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{preset}: {}", ran.err);
    }
    // Far more than the machine has is no limit, and no mistake.
    let found = outcome(&place, &["--repo", "repo", "mod:f", "--preset", r#"{"CPU_SHARE": 8192}"#]);
    assert_eq!(returned_value(&found), 1);
}

#[test]
fn the_largest_limit_of_processes_holds_beside_the_largest_burst() {
    let place = repo("def f(): return 1\n");
    let preset = r#"{"PROCESS_LIMIT": 4194304, "THREAD_BURST": 1024,
        "FAILURE_MODES": "concurrency_spike"}"#;
    assert_eq!(
        returned_value(&outcome(&place, &["--repo", "repo", "mod:f", "--preset", preset])),
        1
    );
}

#[test]
fn a_fault_that_was_not_requested_is_not_reported() {
    let place = repo("def f(): return 1\n");
    let fault_stats = |preset: &str| {
        outcome(&place, &["--repo", "repo", "mod:f", "--preset", preset])["fault_stats"].clone()
    };
    for preset in
        ["high_latency_api", r#"{"BANDWIDTH_LIMIT": "1Mbps"}"#, r#"{"NETWORK_PARTITION": "db"}"#]
    {
        assert_eq!(fault_stats(preset), json!([]), "{preset}");
    }
    assert_eq!(fault_stats(r#"{"FAILURE_MODES": "network"}"#)[0]["mode"], "network");
}

#[test]
fn equal_calls_that_fail_differently_differ() {
    let place = repo(
        "import time, os\n\
         class Thing: pass\n\
         def same(): raise ValueError(Thing())\n\
         def message(): raise ValueError(time.perf_counter_ns())\n\
         def kind(): raise [ValueError, KeyError][time.perf_counter_ns() // 1000 % 2]('x')\n\
         def leave(): os._exit(time.perf_counter_ns() // 1000 % 200)\n",
    );
    let differ = |name: &str| {
        let repeat = ["--repo", "repo", name, "--repeat", "30", "--jobs", "2"];
        outcome(&place, &repeat)["outcomes"]["differ"].clone()
    };
    // Where an object lies is no difference.
    assert_eq!(differ("mod:same"), false);
    for name in ["mod:message", "mod:kind", "mod:leave"] {
        assert_eq!(differ(name), true, "{name}");
    }
}

/// From a relative path, as people write it.
#[test]
fn the_virtual_environment_of_the_repository_is_used_on_every_tier() {
    let place = repo("import sys, extra\ndef f(): return [sys.prefix, extra.NAME]\n");
    let venv = place.path().join("repo/.venv");
    let mut make = Command::new("/usr/bin/python3");
    make.args(["-I", "-m", "venv", "--without-pip"]).arg(&venv);
    assert!(make.status().unwrap().success());
    let library = std::fs::read_dir(venv.join("lib")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(library.join("site-packages/extra.py"), "NAME = 'extra'\n").unwrap();
    for tier in ["root", "user_namespaces", "landlock"] {
        let found = outcome(&place, &["--repo", "repo", "mod:f", "--tier", tier]);
        let returned = returned_value(&found);
        assert!(returned[0].as_str().unwrap().ends_with("/repo/.venv"), "{tier}: {returned}");
        assert_eq!(returned[1], "extra", "{tier}");
    }
}

#[test]
fn the_schema_of_given_arguments_drifts_by_the_seed_and_the_drift_is_reported() {
    let place = repo("def f(*args, **kwargs): return [list(args), kwargs]\n");
    let given = json!([[{"id": 1, "name": "a"}, 5], {"row": {"x": 1, "y": 2}}]);
    let call = |preset: &str, seed: &str| {
        let args = given[0].to_string();
        let kwargs = given[1].to_string();
        let arguments = ["--repo", "repo", "mod:f", "--args", &args, "--kwargs", &kwargs];
        outcome(&place, &[&arguments[..], &["--preset", preset, "--seed", seed]].concat())
    };
    let drifted = call("schema_drift", "1");
    assert_ne!(returned_value(&drifted), &given);
    assert_ne!(returned_value(&drifted)[0][0], given[0][0], "one key of each object at least");
    assert_ne!(returned_value(&drifted)[1]["row"], given[1]["row"]);
    let reported = &drifted["drifted"];
    assert_eq!(returned_value(&drifted), &json!([reported["args"], reported["kwargs"]]));
    assert_eq!(call("schema_drift", "1")["drifted"], *reported);
    assert!((2..9).any(|seed| call("schema_drift", &seed.to_string())["drifted"] != *reported));
    let as_given = call("{}", "1");
    assert_eq!((returned_value(&as_given), &as_given["drifted"]), (&given, &Value::Null));

    let table = ["--repo", "repo", "mod:f", "--args", r#"[{"id": 1}]"#, "--preset", "schema_drift"];
    let ran = exec(&place, &table);
    assert!(ran.out.contains("\ndrifted     {"), "{}", ran.out);
    let plain = ["--repo", "repo", "mod:f", "--args", "[5]", "--preset", "schema_drift"];
    let ran = exec(&place, &plain);
    assert!(ran.err.contains("no argument has keys that could drift"), "{}", ran.err);
}
