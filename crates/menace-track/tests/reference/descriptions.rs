//! What describes one series, and the tests that are put to it.

use menace_track::stats::adf::adf_test;
use menace_track::stats::correlation::{
    correlation_p_value, correlation_with_index, rolling_correlation_with_index,
};
use menace_track::stats::describe::{ExponentialAverage, mean, median, quantile, sample_deviation};
use menace_track::stats::drift::{kolmogorov_smirnov, psi};
use menace_track::stats::levene::{LeveneCenter, levene_test};
use menace_track::stats::smoothing::ExponentialSmoothing;
use menace_track::stats::trend::TrendLine;
use serde::Deserialize;

use crate::{SeriesFixture, assert_close, read_fixture, read_series};

#[derive(Deserialize)]
struct DescriptionFixture {
    ema: f64,
    ew_std: f64,
    mean: f64,
    std: f64,
    median: f64,
    quantile: [f64; 3],
    trend: f64,
    trend_p: Option<f64>,
    rolling: Option<Vec<f64>>,
    ks: Option<f64>,
    psi: Option<f64>,
    levene_median: Option<[f64; 2]>,
    levene_mean: Option<[f64; 2]>,
    levene_three: Option<[f64; 2]>,
    adf: Option<(f64, f64, usize, usize)>,
    line: Option<[[f64; 2]; 2]>,
    smoothed: Option<f64>,
}

fn read_description_fixtures() -> impl Iterator<Item = (String, SeriesFixture, DescriptionFixture)>
{
    let known: Vec<DescriptionFixture> = read_fixture(include_str!("described.json"));
    let series = read_series();
    assert_eq!(known.len(), series.len());
    series.into_iter().zip(known).enumerate().map(|(index, (series, known))| {
        (format!("series {index} ({})", series.kind), series, known)
    })
}

#[test]
fn averages_and_deviations_equal_numpy_and_pandas() {
    for (name, series, known) in read_description_fixtures() {
        let values = series.values();
        let mut average = ExponentialAverage::with_span(5);
        average.extend(&values);
        assert_close(average.mean(), known.ema, 1e-9, &format!("ema of {name}"));
        assert_close(
            average.deviation(),
            known.ew_std,
            1e-9,
            &format!("weighted deviation of {name}"),
        );
        assert_close(mean(&values), known.mean, 1e-9, &format!("mean of {name}"));
        assert_close(sample_deviation(&values), known.std, 1e-9, &format!("deviation of {name}"));
        assert_close(median(&values), known.median, 1e-9, &format!("median of {name}"));
        for (share, value) in [0.05, 0.25, 0.9].into_iter().zip(known.quantile) {
            assert_close(
                quantile(&values, share),
                value,
                1e-9,
                &format!("quantile {share} of {name}"),
            );
        }
    }
}

#[test]
fn correlations_equal_scipy_and_pandas() {
    for (name, series, known) in read_description_fixtures() {
        assert_close(
            correlation_with_index(&series.values()),
            known.trend,
            1e-9,
            &format!("trend of {name}"),
        );
        let present = series.present_values();
        if let Some(p) = known.trend_p {
            assert_close(
                correlation_p_value(known.trend, present.len()),
                p,
                1e-9,
                &format!("p of {name}"),
            );
        }
        if let Some(known) = known.rolling {
            let rolled = rolling_correlation_with_index(&present, 5);
            for (ours, theirs) in rolled[rolled.len() - known.len()..].iter().zip(known) {
                assert_close(*ours, theirs, 1e-9, &format!("rolling correlation of {name}"));
            }
        }
    }
}

#[test]
fn drift_equals_scipy_and_numpy() {
    for (name, series, known) in read_description_fixtures() {
        let present = series.present_values();
        let (first, second) = present.split_at(present.len() / 2);
        if let Some(value) = known.ks {
            assert_close(kolmogorov_smirnov(first, second), value, 1e-9, &format!("KS of {name}"));
        }
        if let Some(value) = known.psi {
            assert_close(psi(first, second), value, 1e-9, &format!("PSI of {name}"));
        }
    }
}

#[test]
fn levene_equals_scipy() {
    let mut compared = 0;
    for (name, series, known) in read_description_fixtures() {
        let present = series.present_values();
        let (first, second) = present.split_at(present.len() / 2);
        let third = present.len() / 3;
        let thirds = [&present[..third], &present[third..2 * third], &present[2 * third..]];
        for (groups, center, known) in [
            (&[first, second][..], LeveneCenter::Median, known.levene_median),
            (&[first, second][..], LeveneCenter::Mean, known.levene_mean),
            (&thirds[..], LeveneCenter::Median, known.levene_three),
        ] {
            let Some([statistic, p]) = known else { continue };
            let ours = levene_test(groups, center).expect("there are enough values");
            if statistic > 1e15 {
                // Two values per group: all that is left within the groups is rounding.
                assert!(ours.p_value < 1e-9, "Levene of {name}");
                continue;
            }
            assert_close(ours.statistic, statistic, 1e-6, &format!("Levene of {name}"));
            assert_close(ours.p_value, p, 1e-3, &format!("p of Levene of {name}"));
            compared += 1;
        }
    }
    assert!(compared >= 600, "{compared}");
}

#[test]
fn adf_equals_statsmodels() {
    let mut compared = 0;
    for (name, series, known) in read_description_fixtures() {
        let Some((statistic, p, lags, samples)) = known.adf else { continue };
        let ours = adf_test(&series.values()).unwrap_or_else(|| panic!("{name} has no answer"));
        assert_eq!((ours.lags, ours.samples), (lags, samples), "lags of {name}");
        assert_close(ours.statistic, statistic, 1e-6, &format!("ADF of {name}"));
        assert_close(ours.p_value, p, 1e-3, &format!("p of ADF of {name}"));
        compared += 1;
    }
    assert!(compared >= 200, "{compared}");
}

#[test]
fn lines_and_smoothing_equal_statsmodels() {
    for (name, series, known) in read_description_fixtures() {
        let present = series.present_values();
        if let Some(points) = known.line {
            let line = TrendLine::fit(&present).expect("there are values");
            for (step, [mean, high]) in points.into_iter().enumerate() {
                assert_close(line.predict(step), mean, 1e-9, &format!("line of {name}"));
                let margin = line.interval_half_width(step, 0.9).expect("there are three values");
                assert_close(line.predict(step) + margin, high, 1e-9, &format!("band of {name}"));
            }
        }
        if let Some(level) = known.smoothed {
            let ours = ExponentialSmoothing::with_alpha(&present, 0.3).expect("there are values");
            assert_close(ours.level, level, 1e-9, &format!("smoothing of {name}"));
        }
    }
}
