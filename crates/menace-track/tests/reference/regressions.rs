//! Models that calibration chooses from.

use menace_track::stats::boosting::{Boosted, Growth};
use menace_track::stats::ridge::Ridge;
use serde::Deserialize;

use crate::{close, read};

#[derive(Deserialize)]
struct Regression {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    new: Vec<Vec<f64>>,
    ridge: Vec<(f64, f64, Vec<f64>, Vec<f64>)>,
    boosted: Vec<f64>,
}

#[test]
fn ridge_and_boosting_equal_scikit_learn() {
    let known: Vec<Regression> = read(include_str!("regressions.json"));
    for (index, item) in known.iter().enumerate() {
        for (alpha, intercept, coefficients, predictions) in &item.ridge {
            let ours = Ridge::fit(&item.x, &item.y, *alpha);
            close(ours.intercept, *intercept, 1e-6, &format!("intercept {index}"));
            for (ours, theirs) in ours.coefficients.iter().zip(coefficients) {
                close(*ours, *theirs, 1e-6, &format!("coefficient {index}"));
            }
            for (row, theirs) in item.new.iter().zip(predictions) {
                close(ours.predict(row), *theirs, 1e-6, &format!("ridge {index}"));
            }
        }
        let growth = Growth { trees: 50, depth: 2, rate: 0.1 };
        let ours = Boosted::fit(&item.x, &item.y, growth);
        for (row, theirs) in item.x.iter().zip(&item.boosted) {
            close(ours.predict(row), *theirs, 1e-6, &format!("boosting {index}"));
        }
    }
}
