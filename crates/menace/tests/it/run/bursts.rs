//! Threads and tasks of bursts are counted in the metrics of their scenario.

use serde_json::{Value, json};

use crate::program::SANDBOX_VARIABLES;

use super::{SEED_ARGS, make_repo};

const DESK_MODULE: &str = "\
def add(number: int) -> int:
    return number + 1


async def add_later(number: int) -> int:
    return number + 1
";

#[test]
fn the_requested_threads_and_tasks_are_counted_in_their_scenario() {
    let place = make_repo(&[("desk.py", DESK_MODULE)]);
    let preset =
        [("SANDBOX_GENERATE_PRESETS", "0"), ("THREAD_BURST", "8"), ("ASYNC_TASK_BURST", "5")];
    let arguments = ["--repo", "repo", "--calls-per-cell", "1", "--no-depth", "--format", "json"];
    let command = [&["run"], &SEED_ARGS[..], &arguments].concat();
    let report = place.run_with(&[&SANDBOX_VARIABLES[..], &preset].concat(), &command).json();
    let scenarios = report["scenarios"].as_array().unwrap();
    let metric_by_scenario = |metric: &str| -> Vec<(&Value, &Value)> {
        let values = scenarios.iter().map(|one| (&one["name"], &one["metrics"][metric]));
        values.filter(|(_, value)| !value.is_null()).collect()
    };
    // One call of each section at both severities: the one in threads, the other in tasks.
    let spike = json!("concurrency_spike");
    assert_eq!(
        metric_by_scenario("concurrency_threads"),
        [(&spike, &json!(2.0 * 8.0))],
        "{report}"
    );
    assert_eq!(metric_by_scenario("concurrency_tasks"), [(&spike, &json!(2.0 * 5.0))], "{report}");
}
