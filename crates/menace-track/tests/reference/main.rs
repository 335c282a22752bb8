//! Compares the statistics with what statsmodels, scipy, scikit-learn and numpy computed.
//!
//! The values are in `*.json`, made by `make.py`.
//!
//! | room | what is compared |
//! |---|---|
//! | `described` | averages, correlations, tests, lines, smoothing of each series |
//! | `decided` | what decisions rest on: thresholds, chances, the best share |
//! | `regressions` | ridge and boosted trees |
//! | `arima` | orders, forecasts, resources |

mod arima;
mod decisions;
mod descriptions;
mod regressions;

use std::collections::BTreeMap;

use menace_track::stats::distribution as dist;
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
struct SeriesFixture {
    kind: String,
    y: Vec<Option<f64>>,
}

impl SeriesFixture {
    fn values(&self) -> Vec<f64> {
        self.y.iter().map(|value| value.unwrap_or(f64::NAN)).collect()
    }

    fn present_values(&self) -> Vec<f64> {
        self.y.iter().copied().flatten().collect()
    }
}

fn read_fixture<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).expect("the fixture is JSON of the expected shape")
}

fn read_series() -> Vec<SeriesFixture> {
    read_fixture(include_str!("series.json"))
}

#[track_caller]
fn assert_close(ours: f64, theirs: f64, tolerance: f64, about: &str) {
    let limit = tolerance * theirs.abs().max(1.0);
    assert!((ours - theirs).abs() <= limit, "{about}: {ours} instead of {theirs}");
}

#[test]
fn the_fixtures_hold_two_hundred_series_of_many_kinds() {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for item in read_series() {
        *kinds.entry(item.kind).or_default() += 1;
    }
    assert!(kinds.values().sum::<usize>() >= 200 && kinds.len() >= 20, "{kinds:?}");
    for kind in ["short", "constant", "trending", "seasonal", "noisy", "outliers", "nan"] {
        assert!(kinds.contains_key(kind), "{kind}");
    }
}

#[derive(Deserialize)]
struct DistributionFixture {
    t_quantile: Vec<[f64; 3]>,
    t_cdf: Vec<[f64; 3]>,
    normal_quantile: Vec<[f64; 2]>,
    normal_cdf: Vec<[f64; 2]>,
    f_above: Vec<[f64; 4]>,
    chi_squared_above: Vec<[f64; 3]>,
}

#[test]
fn distributions_equal_scipy() {
    let known: DistributionFixture = read_fixture(include_str!("distributions.json"));
    for [p, freedom, value] in known.t_quantile {
        assert_close(
            dist::t_quantile(p, freedom),
            value,
            1e-9,
            &format!("t quantile {p} {freedom}"),
        );
    }
    for [x, freedom, value] in known.t_cdf {
        assert_close(dist::t_cdf(x, freedom), value, 1e-9, &format!("t {x} {freedom}"));
    }
    for [p, value] in known.normal_quantile {
        assert_close(dist::normal_quantile(p), value, 1e-9, &format!("normal quantile {p}"));
    }
    for [x, value] in known.normal_cdf {
        assert_close(dist::normal_cdf(x), value, 1e-9, &format!("normal {x}"));
    }
    for [x, above, below, value] in known.f_above {
        assert_close(
            dist::f_above(x, above, below),
            value,
            1e-9,
            &format!("F {x} {above} {below}"),
        );
    }
    for [x, freedom, value] in known.chi_squared_above {
        assert_close(
            dist::chi_squared_above(x, freedom),
            value,
            1e-9,
            &format!("chi² {x} {freedom}"),
        );
    }
}
