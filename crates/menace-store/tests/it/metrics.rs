//! `metrics.db`.

use menace_store::{MetricMeasurement, MetricsDatabase, RunId};
use tempfile::tempdir;

fn measurement(name: &str, at_ms: i64, value: f64) -> MetricMeasurement {
    MetricMeasurement {
        at_ms,
        run: RunId("r-1".into()),
        cycle: 2,
        scenario: "normal".into(),
        module: "shop/cart.py".into(),
        name: name.into(),
        value: Some(value),
    }
}

#[test]
fn values_of_a_metric_come_in_the_order_of_time() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("data/metrics.db");
    let (mut metrics, notices) = MetricsDatabase::open(&path).unwrap();
    assert_eq!(notices, []);
    assert_eq!(metrics.names().unwrap(), [""; 0]);
    metrics
        .record(&[
            measurement("throughput", 3, 30.0),
            measurement("throughput", 1, 10.0),
            measurement("efficiency", 2, f64::NAN),
            measurement("throughput", 2, 20.0),
        ])
        .unwrap();
    drop(metrics);

    let (metrics, _) = MetricsDatabase::open(&path).unwrap();
    assert_eq!(metrics.names().unwrap(), ["efficiency", "throughput"]);
    assert_eq!(
        metrics.values("throughput", 2).unwrap(),
        [measurement("throughput", 2, 20.0), measurement("throughput", 3, 30.0)]
    );
    assert_eq!(metrics.values("efficiency", 9).unwrap()[0].value, None);
    assert_eq!(metrics.values("missing", 9).unwrap(), []);
}

#[test]
fn the_way_to_a_run_ends_with_that_run_and_knows_nothing_of_its_parts() {
    let directory = tempdir().unwrap();
    let (mut metrics, _) = MetricsDatabase::open(&directory.path().join("metrics.db")).unwrap();
    let whole = |run: &str, at_ms: i64, value: f64| MetricMeasurement {
        run: RunId(run.into()),
        scenario: String::new(),
        module: String::new(),
        ..measurement("throughput", at_ms, value)
    };
    metrics
        .record(&[
            whole("r-0", 1, 10.0),
            whole("r-1", 2, 20.0),
            measurement("throughput", 2, 99.0),
            whole("r-1", 3, 30.0),
            whole("r-2", 3, 40.0),
            whole("r-2", 4, 50.0),
        ])
        .unwrap();
    let way = |run: &str, since_ms, limit| -> Vec<f64> {
        let found = metrics
            .history_up_to_run("throughput", &RunId(run.into()), (since_ms, i64::MAX), limit)
            .unwrap();
        found.into_iter().map(|one| one.value.unwrap()).collect()
    };
    assert_eq!(way("r-1", 2, 9), [10.0, 20.0, 30.0]);
    assert_eq!(way("r-2", 3, 2), [40.0, 50.0]);
    assert_eq!(way("r-7", 0, 9), [0.0; 0]);
    let run = RunId("r-1".into());
    let until = metrics.history_up_to_run("throughput", &run, (2, 2), 9).unwrap();
    assert_eq!(
        until.last().and_then(|one| one.value),
        Some(20.0),
        "what came after its end is not its own"
    );
    let own = metrics.values_in_run("throughput", &run, (2, 3)).unwrap();
    assert_eq!(own.last().and_then(|one| one.value), Some(30.0));
    assert_eq!(metrics.count_cycles_after("throughput", &run, (2, 3)).unwrap(), 1);
    assert_eq!(metrics.count_cycles_after("throughput", &RunId("r-0".into()), (1, 1)).unwrap(), 4);
    let modules = |limit| -> Vec<(String, f64)> {
        let latest = metrics.latest_values("throughput", limit).unwrap().into_iter();
        latest.map(|one| (one.module, one.value.unwrap())).collect()
    };
    assert_eq!(modules(1), [(String::new(), 50.0)]);
    assert_eq!(modules(9).len(), 2, "one for each: {:?}", modules(9));
}
