//! Compares the statistics with what statsmodels, scipy, scikit-learn and numpy computed.
//!
//! The values are in `reference/*.json`, made by `reference/make.py`.

use std::collections::BTreeMap;

use menace_track::stats::adf::adf;
use menace_track::stats::arima::{Fit, Given, Grid, Order, fit, log_likelihood_at, select};
use menace_track::stats::boosting::{Boosted, Growth};
use menace_track::stats::convergence::{
    Adaptive, Diminishing, Following, adaptive_synergy_threshold, adaptive_threshold, diminishing,
};
use menace_track::stats::correlation::{p_value, rolling_with_index, with_index};
use menace_track::stats::describe::{Ema, deviation, mean, median, quantile};
use menace_track::stats::distribution as dist;
use menace_track::stats::drift::{Bins, kolmogorov_smirnov, kolmogorov_smirnov_p_value, psi};
use menace_track::stats::evidence::Check;
use menace_track::stats::levene::{Center, levene};
use menace_track::stats::ridge::Ridge;
use menace_track::stats::smoothing::Smoothed;
use menace_track::stats::trend::Line;
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
struct Series {
    kind: String,
    y: Vec<Option<f64>>,
}

impl Series {
    fn values(&self) -> Vec<f64> {
        self.y.iter().map(|value| value.unwrap_or(f64::NAN)).collect()
    }

    fn present(&self) -> Vec<f64> {
        self.y.iter().copied().flatten().collect()
    }
}

fn read<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).expect("the fixture is JSON of the expected shape")
}

fn series() -> Vec<Series> {
    read(include_str!("reference/series.json"))
}

#[track_caller]
fn close(ours: f64, theirs: f64, tolerance: f64, about: &str) {
    let limit = tolerance * theirs.abs().max(1.0);
    assert!((ours - theirs).abs() <= limit, "{about}: {ours} instead of {theirs}");
}

#[test]
fn the_fixtures_hold_two_hundred_series_of_many_kinds() {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for item in series() {
        *kinds.entry(item.kind).or_default() += 1;
    }
    assert!(kinds.values().sum::<usize>() >= 200 && kinds.len() >= 20, "{kinds:?}");
    for kind in ["short", "constant", "trending", "seasonal", "noisy", "outliers", "nan"] {
        assert!(kinds.contains_key(kind), "{kind}");
    }
}

#[derive(Deserialize)]
struct Distributions {
    t_quantile: Vec<[f64; 3]>,
    t_cdf: Vec<[f64; 3]>,
    normal_quantile: Vec<[f64; 2]>,
    normal_cdf: Vec<[f64; 2]>,
    f_above: Vec<[f64; 4]>,
    chi_squared_above: Vec<[f64; 3]>,
}

#[test]
fn distributions_equal_scipy() {
    let known: Distributions = read(include_str!("reference/distributions.json"));
    for [p, freedom, value] in known.t_quantile {
        close(dist::t_quantile(p, freedom), value, 1e-9, &format!("t quantile {p} {freedom}"));
    }
    for [x, freedom, value] in known.t_cdf {
        close(dist::t_cdf(x, freedom), value, 1e-9, &format!("t {x} {freedom}"));
    }
    for [p, value] in known.normal_quantile {
        close(dist::normal_quantile(p), value, 1e-9, &format!("normal quantile {p}"));
    }
    for [x, value] in known.normal_cdf {
        close(dist::normal_cdf(x), value, 1e-9, &format!("normal {x}"));
    }
    for [x, above, below, value] in known.f_above {
        close(dist::f_above(x, above, below), value, 1e-9, &format!("F {x} {above} {below}"));
    }
    for [x, freedom, value] in known.chi_squared_above {
        close(dist::chi_squared_above(x, freedom), value, 1e-9, &format!("chi² {x} {freedom}"));
    }
}

#[derive(Deserialize)]
struct Described {
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

fn described() -> impl Iterator<Item = (String, Series, Described)> {
    let known: Vec<Described> = read(include_str!("reference/described.json"));
    let series = series();
    assert_eq!(known.len(), series.len());
    series.into_iter().zip(known).enumerate().map(|(index, (series, known))| {
        (format!("series {index} ({})", series.kind), series, known)
    })
}

#[test]
fn averages_and_deviations_equal_numpy_and_pandas() {
    for (name, series, known) in described() {
        let values = series.values();
        let mut average = Ema::with_span(5);
        average.extend(&values);
        close(average.mean(), known.ema, 1e-9, &format!("ema of {name}"));
        close(average.deviation(), known.ew_std, 1e-9, &format!("weighted deviation of {name}"));
        close(mean(&values), known.mean, 1e-9, &format!("mean of {name}"));
        close(deviation(&values), known.std, 1e-9, &format!("deviation of {name}"));
        close(median(&values), known.median, 1e-9, &format!("median of {name}"));
        for (share, value) in [0.05, 0.25, 0.9].into_iter().zip(known.quantile) {
            close(quantile(&values, share), value, 1e-9, &format!("quantile {share} of {name}"));
        }
    }
}

#[test]
fn correlations_equal_scipy_and_pandas() {
    for (name, series, known) in described() {
        close(with_index(&series.values()), known.trend, 1e-9, &format!("trend of {name}"));
        let present = series.present();
        if let Some(p) = known.trend_p {
            close(p_value(known.trend, present.len()), p, 1e-9, &format!("p of {name}"));
        }
        if let Some(known) = known.rolling {
            let rolled = rolling_with_index(&present, 5);
            for (ours, theirs) in rolled[rolled.len() - known.len()..].iter().zip(known) {
                close(*ours, theirs, 1e-9, &format!("rolling correlation of {name}"));
            }
        }
    }
}

#[test]
fn drift_equals_scipy_and_numpy() {
    for (name, series, known) in described() {
        let present = series.present();
        let (first, second) = present.split_at(present.len() / 2);
        if let Some(value) = known.ks {
            close(kolmogorov_smirnov(first, second), value, 1e-9, &format!("KS of {name}"));
        }
        if let Some(value) = known.psi {
            close(psi(first, second), value, 1e-9, &format!("PSI of {name}"));
        }
    }
}

#[test]
fn levene_equals_scipy() {
    let mut compared = 0;
    for (name, series, known) in described() {
        let present = series.present();
        let (first, second) = present.split_at(present.len() / 2);
        let third = present.len() / 3;
        let thirds = [&present[..third], &present[third..2 * third], &present[2 * third..]];
        for (groups, center, known) in [
            (&[first, second][..], Center::Median, known.levene_median),
            (&[first, second][..], Center::Mean, known.levene_mean),
            (&thirds[..], Center::Median, known.levene_three),
        ] {
            let Some([statistic, p]) = known else { continue };
            let ours = levene(groups, center).expect("there are enough values");
            if statistic > 1e15 {
                // Two values per group: all that is left within the groups is rounding.
                assert!(ours.p_value < 1e-9, "Levene of {name}");
                continue;
            }
            close(ours.statistic, statistic, 1e-6, &format!("Levene of {name}"));
            close(ours.p_value, p, 1e-3, &format!("p of Levene of {name}"));
            compared += 1;
        }
    }
    assert!(compared >= 600, "{compared}");
}

#[test]
fn adf_equals_statsmodels() {
    let mut compared = 0;
    for (name, series, known) in described() {
        let Some((statistic, p, lags, samples)) = known.adf else { continue };
        let ours = adf(&series.values()).unwrap_or_else(|| panic!("{name} has no answer"));
        assert_eq!((ours.lags, ours.samples), (lags, samples), "lags of {name}");
        close(ours.statistic, statistic, 1e-6, &format!("ADF of {name}"));
        close(ours.p_value, p, 1e-3, &format!("p of ADF of {name}"));
        compared += 1;
    }
    assert!(compared >= 200, "{compared}");
}

#[test]
fn lines_and_smoothing_equal_statsmodels() {
    for (name, series, known) in described() {
        let present = series.present();
        if let Some(points) = known.line {
            let line = Line::through(&present).expect("there are values");
            for (step, [mean, high]) in points.into_iter().enumerate() {
                close(line.ahead(step), mean, 1e-9, &format!("line of {name}"));
                let margin = line.margin(step, 0.9).expect("there are three values");
                close(line.ahead(step) + margin, high, 1e-9, &format!("band of {name}"));
            }
        }
        if let Some(level) = known.smoothed {
            let ours = Smoothed::with(&present, 0.3).expect("there are values");
            close(ours.level, level, 1e-9, &format!("smoothing of {name}"));
        }
    }
}

/// What decisions rest on.
#[derive(Deserialize)]
struct Decided {
    /// Of the last values, within a threshold: the p-value.
    equivalence: Vec<(usize, f64, f64)>,
    /// Window and weight, then the mean and twice the deviation.
    adaptive: Vec<(usize, f64, f64, f64)>,
    ks_p: Option<f64>,
    bins_p: Option<f64>,
    smoothed: Option<Searched>,
}

#[derive(Deserialize)]
struct Searched {
    share: f64,
    squares: f64,
    /// Where statsmodels' own search ends.
    own_share: f64,
    own_squares: f64,
}

fn decided() -> impl Iterator<Item = (String, Vec<f64>, Decided)> {
    let known: Vec<Decided> = read(include_str!("reference/decided.json"));
    let series = series();
    assert_eq!(known.len(), series.len());
    series.into_iter().zip(known).enumerate().map(|(index, (series, known))| {
        (format!("series {index} ({})", series.kind), series.present(), known)
    })
}

#[test]
fn the_test_that_gains_have_faded_equals_statsmodels() {
    let (mut compared, mut between) = (0, 0);
    for (name, values, known) in decided() {
        for (consecutive, threshold, p) in known.equivalence {
            let rule = Diminishing { threshold, consecutive, ..Diminishing::default() };
            let decision = diminishing(&values, rule);
            let ours = decision.about(Check::Equivalence).and_then(|one| one.p_value);
            let ours = ours.unwrap_or_else(|| panic!("{name} has no answer"));
            close(ours, p, 1e-9, &format!("equivalence of the last {consecutive} of {name}"));
            compared += 1;
            between += usize::from((1e-3..0.999).contains(&p));
        }
    }
    assert!(compared >= 2000 && between >= 1000, "{between} of {compared}");
}

#[test]
fn the_chance_of_a_drift_equals_scipy() {
    let (mut compared, mut drifted) = (0, 0);
    for (name, values, known) in decided() {
        let (first, second) = values.split_at(values.len() / 2);
        let (Some(ks), Some(bins)) = (known.ks_p, known.bins_p) else { continue };
        let distance = kolmogorov_smirnov(first, second);
        let ours = kolmogorov_smirnov_p_value(distance, first.len(), second.len());
        close(ours, ks, 1e-9, &format!("p of KS of {name}"));
        let ours = Bins::of(first, 10).p_value(first.len(), second);
        close(ours, bins, 1e-9, &format!("p of the bins of {name}"));
        compared += 1;
        drifted += usize::from(ks < 0.05 && bins < 0.05);
    }
    assert!(compared >= 200 && drifted >= 40, "{drifted} of {compared}");
}

#[test]
fn the_chance_of_a_distance_of_very_many_values_comes_close_to_scipy() {
    let known: Vec<(f64, usize, usize, f64)> = read(include_str!("reference/limits.json"));
    for (distance, left, right, p) in known {
        let ours = kolmogorov_smirnov_p_value(distance, left, right);
        close(ours, p, 2e-2, &format!("p of KS {distance} of {left} and {right}"));
        assert!(ours >= p - 1e-9, "{distance} of {left} and {right} would be found too easily");
    }
}

#[test]
fn adaptive_thresholds_equal_pandas_with_any_window_and_weight() {
    let mut compared = 0;
    for (name, values, known) in decided() {
        let predicted: Vec<f64> = values.iter().map(|value| value + 1.0).collect();
        let nothing = vec![1.0; values.len()];
        for (window, weight, mean, threshold) in known.adaptive {
            let rule = Following { window, weight, factor: 2.0 };
            // The same from values, and from how far predictions were off.
            let of_errors = adaptive_synergy_threshold(&predicted, &nothing, rule);
            for ours in [adaptive_threshold(&values, rule), of_errors] {
                let about = format!("{name}, the last {window} with weight {weight}");
                close(ours.mean, mean, 1e-9, &about);
                close(ours.threshold, threshold, 1e-9, &about);
                let Adaptive { samples, .. } = ours;
                assert_eq!(samples, window.min(values.len()), "{about}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 1600, "{compared}");
}

#[test]
fn the_share_that_smoothing_finds_is_the_best_there_is() {
    let (mut compared, mut own, mut early) = (0, 0, Vec::new());
    for (name, values, known) in decided() {
        let Some(known) = known.smoothed else { continue };
        let ours = Smoothed::best(&values).expect("there are values");
        let squares = ours.deviation.powi(2) * (ours.samples - 1) as f64;
        close(squares / known.squares, 1.0, 1e-9, &format!("squares of {name}"));
        close(ours.alpha, known.share, 1e-5, &format!("share of {name}"));
        compared += 1;
        // Statsmodels stops early where squares are small numbers, never at less.
        assert!(squares <= known.own_squares * (1.0 + 1e-9), "{name}");
        if (ours.alpha - known.own_share).abs() <= 1e-3 {
            own += 1;
        } else {
            early.push(format!("{name}: {} instead of {}", ours.alpha, known.own_share));
        }
    }
    println!("{own} of {compared} shares are those of statsmodels' search\n{}", early.join("\n"));
    assert!(compared >= 210 && early.len() <= 6, "docs/statistics.md says six: {early:?}");
}

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
    let known: Vec<Regression> = read(include_str!("reference/regressions.json"));
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

#[derive(Deserialize)]
struct Arima {
    index: usize,
    aic: Vec<(usize, usize, usize, f64)>,
    chosen: [usize; 3],
    forecast: Vec<[f64; 2]>,
    log_likelihood: f64,
    params: Vec<f64>,
    default: Vec<[f64; 2]>,
    fixed: Fixed,
}

#[derive(Deserialize)]
struct Fixed {
    order: [usize; 3],
    /// What the series was multiplied with.
    unit: f64,
    forecast: Vec<[f64; 2]>,
    log_likelihood: f64,
    params: Vec<f64>,
}

fn arima() -> Vec<Arima> {
    let known: Vec<Arima> = read(include_str!("reference/arima.json"));
    assert!(known.len() >= 200, "{} series", known.len());
    known
}

fn order([p, d, q]: [usize; 3]) -> Order {
    Order::new(p, d, q)
}

/// The largest relative distance of two forecasts, of their means and of their standard errors.
///
/// A mean below a thousandth of its own standard error is zero for all that is known: its distance is
/// taken against that thousandth.
fn distance(ours: &[(f64, f64)], theirs: &[[f64; 2]]) -> f64 {
    ours.iter()
        .zip(theirs)
        .map(|((mean, error), [their_mean, their_error])| {
            let means = (mean - their_mean).abs() / their_mean.abs().max(1e-3 * their_error);
            means.max((error - their_error).abs() / their_error)
        })
        .fold(0.0, f64::max)
}

#[test]
fn the_order_chosen_equals_the_one_statsmodels_chooses() {
    let series = series();
    let (mut equal, mut wrong) = (0, Vec::new());
    let known = arima();
    for item in &known {
        let values = series[item.index].values();
        let scale = deviation(&values);
        let scaled: Vec<f64> = values.iter().map(|value| value / scale).collect();
        let chosen = select(&scaled, &[], Grid::default()).expect("a model fits");
        if chosen.fit.order == order(item.chosen) {
            equal += 1;
        } else {
            let aic = |wanted: Order| {
                let ours = chosen.candidates.iter().find(|candidate| candidate.order == wanted);
                let theirs = item.aic.iter().find(|(p, d, q, _)| Order::new(*p, *d, *q) == wanted);
                (ours.map(|candidate| candidate.aic), theirs.map(|(_, _, _, aic)| *aic))
            };
            let (ours, theirs) = (chosen.fit.order, order(item.chosen));
            wrong.push(format!(
                "{} {}: ours {ours} {:?}, theirs {theirs} {:?}",
                item.index,
                series[item.index].kind,
                aic(ours),
                aic(theirs)
            ));
        }
    }
    let share = f64::from(equal) / known.len() as f64;
    println!("{share} of {} orders are equal\n{}", known.len(), wrong.join("\n"));
    assert!(share >= 0.95, "{share} of {} orders are equal:\n{}", known.len(), wrong.join("\n"));
}

/// Compares forecasts of the same order.
#[derive(Default)]
struct Comparison {
    compared: usize,
    /// Where statsmodels ended on a lower hill, of all its starts.
    higher: Vec<String>,
    far: Vec<String>,
}

/// What both found for one series.
struct Both<'a> {
    about: String,
    series: &'a [f64],
    ours: &'a Fit,
    forecast: &'a [(f64, f64)],
    theirs: &'a [[f64; 2]],
    params: &'a [f64],
    log_likelihood: f64,
}

impl Comparison {
    /// Forecasts are equal, from a likelihood that is not lower; or they come from two hills of one likelihood,
    /// of which ours is the higher.
    fn add(&mut self, both: &Both<'_>) {
        self.compared += 1;
        let off = distance(both.forecast, both.theirs);
        let gain = both.ours.log_likelihood - both.log_likelihood;
        let text = format!("{}: off by {off:.2e}, log-likelihood higher by {gain:.3e}", both.about);
        if off <= 1e-3 && gain > -1e-4 {
            return;
        }
        // The same likelihood on both sides, or there would be nothing to compare.
        let Order { p, d, q } = both.ours.order;
        let constant = usize::from(d == 0);
        let lags = &both.params[constant..];
        let given = Given {
            coefficients: &both.params[..constant],
            ar: &lags[..p],
            ma: &lags[p..p + q],
            variance: lags[p + q],
        };
        let same = log_likelihood_at(both.series, &[], d, given).is_some_and(|value| {
            (value - both.log_likelihood).abs() <= 1e-6 * value.abs().max(1.0)
        });
        if gain > 1e-6 && same {
            self.higher.push(text);
        } else {
            self.far.push(format!("{text}, same likelihood: {same}"));
        }
    }

    fn finish(&self, most_higher: usize) {
        let Self { compared, higher, far } = self;
        println!("{compared} compared, {} on a higher hill, {} off", higher.len(), far.len());
        println!("higher:\n{}\noff:\n{}", higher.join("\n"), far.join("\n"));
        assert!(*compared >= 200, "{compared}");
        assert!(far.is_empty(), "{} of {compared} differ:\n{}", far.len(), far.join("\n"));
        assert!(higher.len() <= most_higher, "docs/statistics.md says {most_higher}");
    }
}

#[test]
fn forecasts_equal_statsmodels_for_the_same_order() {
    let series = series();
    let (mut comparison, mut beyond_default) = (Comparison::default(), 0);
    for item in arima() {
        let values = series[item.index].values();
        let scale = deviation(&values);
        let scaled: Vec<f64> = values.iter().map(|value| value / scale).collect();
        let ours = fit(&scaled, &[], order(item.chosen)).expect("the model fits");
        let forecast: Vec<(f64, f64)> = ours
            .forecast(item.forecast.len(), &[])
            .into_iter()
            .map(|(mean, error)| (mean * scale, error * scale))
            .collect();
        comparison.add(&Both {
            about: format!("{} {} {}", item.index, series[item.index].kind, ours.order),
            series: &scaled,
            ours: &ours,
            forecast: &forecast,
            theirs: &item.forecast,
            params: &item.params,
            log_likelihood: item.log_likelihood,
        });
        beyond_default += usize::from(distance(&forecast, &item.default) > 1e-3);
    }
    println!("{beyond_default} differ from statsmodels' default, which stops early");
    comparison.finish(0);
}

#[test]
fn any_order_on_a_series_as_it_is_equals_statsmodels() {
    let series = series();
    let mut comparison = Comparison::default();
    for item in arima() {
        let Fixed { order: wanted, unit, forecast, log_likelihood, params } = &item.fixed;
        let values = series[item.index].values();
        let values: Vec<f64> = values.iter().map(|value| value * unit).collect();
        let ours = fit(&values, &[], order(*wanted)).expect("the model fits");
        comparison.add(&Both {
            about: format!("{} {} {}", item.index, series[item.index].kind, ours.order),
            series: &values,
            ours: &ours,
            forecast: &ours.forecast(forecast.len(), &[]),
            theirs: forecast,
            params,
            log_likelihood: *log_likelihood,
        });
    }
    comparison.finish(6);
}

#[derive(Deserialize)]
struct Resources {
    order: [usize; 3],
    y: Vec<f64>,
    x: Vec<Vec<f64>>,
    forecast: Vec<[f64; 2]>,
    log_likelihood: f64,
}

#[test]
fn forecasts_with_resources_equal_statsmodels() {
    let known: Vec<Resources> = read(include_str!("reference/resources.json"));
    for item in known {
        let length = item.y.len();
        let (past, future): (Vec<_>, Vec<_>) =
            item.x.iter().map(|x| (x[..length].to_vec(), x[length..].to_vec())).unzip();
        let ours = fit(&item.y, &past, order(item.order)).expect("the model fits");
        close(ours.log_likelihood, item.log_likelihood, 1e-6, &format!("{}", ours.order));
        let off = distance(&ours.forecast(item.forecast.len(), &future), &item.forecast);
        assert!(off <= 1e-3, "{}: {off}", ours.order);
    }
}
