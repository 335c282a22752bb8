//! `menace inputs`: where inputs come from, and which settings change them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

use crate::exec::repo;
use crate::program::{CommandOutput, SANDBOX_VARIABLES, TestDirectory};

const INPUTS_MODULE: &str = "\
def find(isbn: str, count: int = 1) -> str:
    return isbn * count
def run(cmd):
    import os
    return os.system(cmd)
";

fn run_inputs(
    place: &TestDirectory,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> CommandOutput {
    let all: Vec<&str> = ["inputs", "--repo", "repo"].iter().chain(arguments).copied().collect();
    let variables: Vec<(&str, &str)> = SANDBOX_VARIABLES.iter().chain(variables).copied().collect();
    place.run_with(&variables, &all)
}

/// The ways and the calls.
fn listed_inputs(ran: &CommandOutput) -> Vec<(String, String)> {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let json: Value = serde_json::from_str(&ran.out).expect("JSON");
    let inputs = json["inputs"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    inputs.map(|input| (text(&input["strategy"]), text(&input["python"]))).collect()
}

#[test]
fn inputs_are_shown_with_their_way_the_same_each_time() {
    let place = repo(INPUTS_MODULE);
    let arguments = ["mod:find", "--count", "20", "--format", "json"];
    let found = listed_inputs(&run_inputs(&place, &arguments, &[]));
    assert_eq!(found.len(), 20);
    for way in ["signature", "smart", "hostile", "misuse", "random"] {
        assert!(found.iter().any(|(strategy, _)| strategy == way), "{way}: {found:?}");
    }
    assert_eq!(found, listed_inputs(&run_inputs(&place, &arguments, &[])));
    let hostile = ["mod:find", "--strategy", "hostile", "--count", "6", "--format", "json"];
    let hostile = listed_inputs(&run_inputs(&place, &hostile, &[]));
    assert!(hostile.iter().filter(|(strategy, _)| strategy == "hostile").count() >= 3);
    let table = run_inputs(&place, &["mod:find", "--count", "2"], &[]);
    assert!(table.out.contains("find(") && table.out.contains("signature"), "{table:?}");
}

#[test]
fn files_and_variables_give_inputs() {
    let place = repo(INPUTS_MODULE);
    place.write(
        "templates.json",
        r#"{"isbn": ["978-0"], "mod:find": [{"isbn": "978-9", "count": 3}]}"#,
    );
    place.write(
        "history.jsonl",
        "{\"section\": \"mod.py::find\", \"input\": {\"args\": [\"old\"]}, \
         \"verdict\": \"returned\"}\nnonsense\n",
    );
    let files =
        [("SANDBOX_INPUT_TEMPLATES", "templates.json"), ("SANDBOX_INPUT_HISTORY", "history.jsonl")];
    let arguments = ["mod:find", "--count", "40", "--format", "json"];
    let ran = run_inputs(&place, &arguments, &files);
    let found = listed_inputs(&ran);
    let has =
        |way: &str, call: &str| found.iter().any(|(one, text)| one == way && text.contains(call));
    assert!(has("history", "find('old')"), "{found:?}");
    assert!(has("templates", "'978-9'") && has("templates", "'978-0'"), "{found:?}");
    assert!(ran.err.contains("history.jsonl:2: "), "{}", ran.err);

    let stubs = [("SANDBOX_INPUT_STUBS", r#"[{"isbn": "mine"}]"#)];
    let found = listed_inputs(&run_inputs(&place, &arguments, &stubs));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].0 == "stubs" && found[0].1.contains("'mine'"), "{found:?}");

    let missing = run_inputs(&place, &arguments, &[("SANDBOX_INPUT_TEMPLATES", "none.json")]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("none.json") && missing.err.contains("SANDBOX_INPUT_TEMPLATES"));
    assert_eq!(missing.err.matches("No such file").count(), 1, "{}", missing.err);
    let missing = run_inputs(&place, &arguments, &[("SANDBOX_STUB_PLUGINS", "none.py")]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("none.py") && missing.err.contains("SANDBOX_STUB_PLUGINS"));
    assert_eq!(missing.err.matches("No such file").count(), 1, "{}", missing.err);
}

#[test]
fn plugins_add_to_inputs_and_replace_them_in_a_sandbox_of_their_own() {
    let place = repo(INPUTS_MODULE);
    std::fs::create_dir(place.path().join("plugins")).expect("a directory");
    let adding_plugin = "\
def generate_stubs(stubs, context):
    assert context['target'] == 'mod:find'
    return stubs + [{'isbn': 'added', 'count': 2}]
";
    place.write("plugins/adds.py", adding_plugin);
    place.write("plugins/_helper.py", "raise SystemExit\n");
    let arguments = ["mod:find", "--format", "json"];
    let adds = [("SANDBOX_STUB_PLUGINS", "plugins")];
    let found = listed_inputs(&run_inputs(&place, &arguments, &adds));
    assert_eq!(found[0].0, "plugins", "{found:?}");
    assert!(found[0].1.contains("'added', 2"), "{found:?}");
    assert!(found.iter().any(|(way, _)| way == "signature"), "{found:?}");

    // Instead of what was shown.
    place.write("only.py", "def generate_stubs(stubs, context):\n    return [{'isbn': 'only'}]\n");
    let before = listed_inputs(&run_inputs(&place, &arguments, &[]));
    let after =
        listed_inputs(&run_inputs(&place, &arguments, &[("SANDBOX_STUB_PLUGINS", "only.py")]));
    let first = before.iter().find(|(way, _)| way == "signature").expect("one");
    assert!(!after.contains(first), "{first:?} in {after:?}");

    // It sees neither the repository nor the host, and its failure costs nothing but itself.
    let failing_plugin = "\
import os
def generate_stubs(stubs, context):
    open('/tmp/was-here', 'w')
    assert not os.path.exists('mod.py')
    return 1 / 0
";
    place.write("fails.py", failing_plugin);
    let ran = run_inputs(&place, &arguments, &[("SANDBOX_STUB_PLUGINS", "fails.py")]);
    assert!(ran.err.contains("ZeroDivisionError") && ran.err.contains("fails.py"), "{ran:?}");
    assert_eq!(listed_inputs(&ran), before);
    let nothing = run_inputs(&place, &arguments, &[("SANDBOX_STUB_PLUGINS", "none.py")]);
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
}

/// A service that gives these answers, one per connection, and tells what it was asked.
fn start_service(answers: Vec<String>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let (sender, asked) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (stream, _) = listener.accept().expect("a connection");
            let mut reader = BufReader::new(stream);
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).expect("a line");
                let line = line.trim().to_ascii_lowercase();
                if let Some(count) = line.strip_prefix("content-length: ") {
                    length = count.parse().expect("a number");
                }
                if line.is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            let _ = sender.send(String::from_utf8_lossy(&body).into_owned());
            let choice = serde_json::json!({"choices": [{"message": {"content": answer}}]});
            let body = choice.to_string();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            reader.get_mut().write_all((head + &body).as_bytes()).expect("an answer");
        }
    });
    (address, asked)
}

#[test]
fn a_model_is_asked_once_and_its_answers_are_kept() {
    let place = repo(INPUTS_MODULE);
    let (address, asked) =
        start_service(vec!["```json\n[{\"isbn\": \"from-a-model\"}]\n```".to_owned()]);
    let variables = [("SANDBOX_STUB_MODEL", "parrot"), ("OPENAI_BASE_URL", address.as_str())];
    let arguments = ["mod:find", "--format", "json"];
    let first = listed_inputs(&run_inputs(&place, &arguments, &variables));
    let is_there =
        |(way, call): &(String, String)| way == "synthetic" && call.contains("from-a-model");
    assert!(first.iter().any(is_there), "{first:?}");
    let question = asked.recv().expect("a question");
    assert!(question.contains("parrot") && question.contains("isbn * count"), "{question}");
    // The service does not answer any more.
    let second = run_inputs(&place, &arguments, &variables);
    assert_eq!(listed_inputs(&second), first);
    assert!(second.err.is_empty(), "{}", second.err);
}

#[test]
fn under_schema_drift_inputs_come_with_another_schema_too() {
    let place = repo("def total(order: dict[str, int]) -> int:\n    return order['a']\n");
    let intents = |preset: &str| -> Vec<String> {
        let arguments = ["mod:total", "--preset", preset, "--count", "10", "--format", "json"];
        let json = run_inputs(&place, &arguments, &[]).json();
        let inputs = json["inputs"].as_array().expect("a list").iter();
        inputs.map(|input| input["intent"].as_str().expect("text").to_owned()).collect()
    };
    let drifted = intents("schema_drift");
    assert_eq!(drifted.len(), 10);
    assert!(drifted.iter().any(|intent| intent == "drifted"), "{drifted:?}");
    assert!(drifted.iter().any(|intent| intent != "drifted"), "{drifted:?}");
    assert!(!intents("{}").iter().any(|intent| intent == "drifted"));
}
