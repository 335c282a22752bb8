//! What bursts start is counted where their scenario is told of.

use serde_json::{Value, json};

use crate::program::SANDBOXES;

use super::{SEED, repository};

const DESK: &str = "\
def add(number: int) -> int:
    return number + 1


async def add_later(number: int) -> int:
    return number + 1
";

#[test]
fn as_many_threads_and_tasks_as_were_asked_for_are_told_of_their_scenario() {
    let place = repository(&[("desk.py", DESK)]);
    let wanted =
        [("SANDBOX_GENERATE_PRESETS", "0"), ("THREAD_BURST", "8"), ("ASYNC_TASK_BURST", "5")];
    let arguments = ["--repo", "repo", "--calls-per-cell", "1", "--no-depth", "--format", "json"];
    let command = [&["run"], &SEED[..], &arguments].concat();
    let report = place.run_with(&[&SANDBOXES[..], &wanted].concat(), &command).json();
    let scenarios = report["scenarios"].as_array().unwrap();
    let told = |metric: &str| -> Vec<(&Value, &Value)> {
        let told = scenarios.iter().map(|one| (&one["name"], &one["metrics"][metric]));
        told.filter(|(_, value)| !value.is_null()).collect()
    };
    // One call of each section at both severities: the one in threads, the other in tasks.
    let spike = json!("concurrency_spike");
    assert_eq!(told("concurrency_threads"), [(&spike, &json!(2.0 * 8.0))], "{report}");
    assert_eq!(told("concurrency_tasks"), [(&spike, &json!(2.0 * 5.0))], "{report}");
}
