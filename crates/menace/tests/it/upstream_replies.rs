//! Replies to code that sends requests: invented and recorded ones, good and bad ones.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::exec::{exec, outcome, repo};
use crate::program::{SANDBOX_VARIABLES, TestDirectory};

const CLIENT_MODULE: &str = "\
import json, urllib.request
def fetch(url):
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)
def fetch_all(urls):
    return [fetch(url) for url in urls]
";
const CLIENT_ARGS: &str = r#"[["https://api.example.com/rates", "https://api.example.com/rates",
    "https://api.example.com/rates", "http://other.example.com/"]]"#;

fn client_repo() -> TestDirectory {
    repo(CLIENT_MODULE)
}

fn returned_value(found: &Value) -> &Value {
    assert_eq!(found["verdict"], "returned", "{found}");
    &found["value"]["value"]
}

/// The sections get further than the first connection, with no network at all.
#[test]
fn safe_mode_and_answers_go_together() {
    let place = client_repo();
    place.write(
        "mocks.json",
        r#"[{"url": "https://api.example.com/*", "json": {"EUR": 1.1}, "times": 2},
            {"method": "GET", "url": "https://api.example.com/*", "json": {"EUR": 1.2}},
            {"url": "*", "json": []}]"#,
    );
    for tier in ["root", "user_namespaces", "landlock"] {
        let call = ["--repo", "repo", "mod:fetch_all", "--args", CLIENT_ARGS, "--safe-mode"];
        let more = ["--network-mocks", "mocks.json", "--tier", tier, "--format", "json"];
        let ran = exec(&place, &[&call[..], &more].concat());
        let found = ran.json();
        assert_eq!(ran.err, "", "{tier}");
        assert_eq!(
            returned_value(&found),
            &json!([{"EUR": 1.1}, {"EUR": 1.1}, {"EUR": 1.2}, []]),
            "{tier}"
        );
        let first = json!({"request": "GET https://api.example.com/rates", "answer": "200"});
        assert_eq!(found["upstream"]["requests"][0], first, "{tier}");
        assert_eq!(found["enforced_by"]["upstream"], json!(["harness"]), "{tier}");
        // Without them, no request is answered.
        let found = outcome(&place, &call);
        assert_ne!(found["verdict"], "returned", "{tier}");
        assert_eq!(found["upstream"], Value::Null, "{tier}");
    }
}

#[test]
fn recorded_answers_come_after_those_that_were_given() {
    let place = client_repo();
    let recorded = r#"[{"url": "https://api.example.com/rates", "json": {"EUR": 3}},
        {"url": "*", "json": "recorded"}]"#;
    place.write("recorded.json", recorded);
    place.write("mocks.json", r#"{"url": "https://api.example.com/*", "json": 1, "times": 1}"#);
    let call =
        ["exec", "--repo", "repo", "mod:fetch_all", "--args", CLIENT_ARGS, "--format", "json"];
    let warnings = |more: &[&str]| {
        let variables =
            [&SANDBOX_VARIABLES[..], &[("SANDBOX_NETWORK_RECORDINGS", "recorded.json")]].concat();
        place.run_with(&variables, &[&call[..], more].concat()).json()
    };
    let found = warnings(&["--safe-mode"]);
    let three = json!({"EUR": 3});
    assert_eq!(returned_value(&found), &json!([three, three, three, "recorded"]));
    let found = warnings(&["--safe-mode", "--network-mocks", "mocks.json"]);
    assert_eq!(returned_value(&found), &json!([1, three, three, "recorded"]));
}

#[test]
fn an_archive_of_a_browser_is_played_back() {
    let place = client_repo();
    let entry = |url: &str, text: &str| {
        json!({
            "request": {"method": "GET", "url": url},
            "response": {"status": 200, "headers": [], "content": {"text": text}},
        })
    };
    let rates = "https://api.example.com/rates";
    let entries = [entry(rates, "1"), entry("http://other.example.com/", "[5]"), entry(rates, "2")];
    place.write("session.har", &json!({"log": {"entries": entries}}).to_string());
    let call = ["--repo", "repo", "mod:fetch_all", "--args", CLIENT_ARGS, "--safe-mode"];
    let found = outcome(&place, &[&call[..], &["--network-mocks", "session.har"]].concat());
    assert_eq!(returned_value(&found), &json!([1, 2, 2, [5]]));
}

/// A call that sends one request gets each network fault of the profile: not with every seed, but
/// within the first few.
#[test]
fn every_network_fault_of_chaotic_failure_is_injected_within_a_few_seeds() {
    let place = client_repo();
    let call = ["--repo", "repo", "mod:fetch", "--args", r#"["http://api.example.com/"]"#];
    let mut fired_faults = BTreeSet::new();
    for seed in 0..16 {
        let seed = seed.to_string();
        let more = ["--preset", "chaotic_failure:high", "--seed", &seed, "--format", "json"];
        let found = exec(&place, &[&call[..], &more].concat()).json();
        let fired =
            found["fault_stats"].as_array().unwrap().iter().filter(|one| one["injected"] != 0);
        fired_faults.extend(fired.map(|one| one["mode"].as_str().unwrap().to_owned()));
        let requests = found["upstream"]["requests"].to_string();
        fired_faults.extend(requests.contains("401").then(|| "401".to_owned()));
        if fired_faults.len() == 3 {
            break;
        }
    }
    let expected = ["401", "flaky_upstream", "network_partition"];
    assert_eq!(fired_faults, expected.map(str::to_owned).into());
}

/// A call that sends one request gets the fault with every seed, and no warning is printed.
#[test]
fn a_flaky_upstream_fails_the_first_request() {
    let place = client_repo();
    let call = ["--repo", "repo", "mod:fetch", "--args", r#"["http://api.example.com/"]"#];
    for seed in ["0", "1", "2", "3"] {
        let more = ["--preset", "flaky_upstream", "--seed", seed, "--format", "json"];
        let ran = exec(&place, &[&call[..], &more].concat());
        let fault_stats = &ran.json()["fault_stats"][0];
        assert_eq!(ran.err, "", "seed {seed}");
        assert_eq!(
            (&fault_stats["opportunities"], &fault_stats["injected"]),
            (&json!(1), &json!(1)),
            "seed {seed}"
        );
    }
    // The table lists the requests, too.
    let ran = exec(&place, &[&call[..], &["--preset", r#"{"NETWORK_MOCKS": []}"#]].concat());
    assert!(ran.out.contains("\nrequests    GET http://api.example.com/: 200\n"), "{}", ran.out);
    assert_eq!(ran.err, "");
}
