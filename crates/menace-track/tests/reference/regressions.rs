//! Models that calibration chooses from.

use menace_track::stats::boosting::{BoostedTrees, BoostingParams};
use menace_track::stats::ridge::RidgeRegression;
use serde::Deserialize;

use crate::{assert_close, read_fixture};

#[derive(Deserialize)]
struct RegressionFixture {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    new: Vec<Vec<f64>>,
    ridge: Vec<(f64, f64, Vec<f64>, Vec<f64>)>,
    boosted: Vec<f64>,
}

#[test]
fn ridge_and_boosting_equal_scikit_learn() {
    let known: Vec<RegressionFixture> = read_fixture(include_str!("regressions.json"));
    for (index, item) in known.iter().enumerate() {
        for (alpha, intercept, coefficients, predictions) in &item.ridge {
            let ours = RidgeRegression::fit(&item.x, &item.y, *alpha);
            assert_close(ours.intercept, *intercept, 1e-6, &format!("intercept {index}"));
            for (ours, theirs) in ours.coefficients.iter().zip(coefficients) {
                assert_close(*ours, *theirs, 1e-6, &format!("coefficient {index}"));
            }
            for (row, theirs) in item.new.iter().zip(predictions) {
                assert_close(ours.predict(row), *theirs, 1e-6, &format!("ridge {index}"));
            }
        }
        let growth = BoostingParams { trees: 50, depth: 2, rate: 0.1 };
        let ours = BoostedTrees::fit(&item.x, &item.y, growth);
        for (row, theirs) in item.x.iter().zip(&item.boosted) {
            assert_close(ours.predict(row), *theirs, 1e-6, &format!("boosting {index}"));
        }
    }
}
