//! Orders, forecasts and their errors.

use menace_track::stats::arima::{
    ArimaFit, ArimaOrder, ArimaOrderGrid, ArimaParams, fit, log_likelihood_at, select_order,
};
use menace_track::stats::describe::sample_deviation;
use serde::Deserialize;

use crate::{assert_close, read_fixture, read_series};

#[derive(Deserialize)]
struct ArimaFixture {
    index: usize,
    aic: Vec<(usize, usize, usize, f64)>,
    chosen: [usize; 3],
    forecast: Vec<[f64; 2]>,
    log_likelihood: f64,
    params: Vec<f64>,
    default: Vec<[f64; 2]>,
    fixed: FixedOrderFixture,
}

#[derive(Deserialize)]
struct FixedOrderFixture {
    order: [usize; 3],
    /// What the series was multiplied with.
    unit: f64,
    forecast: Vec<[f64; 2]>,
    log_likelihood: f64,
    params: Vec<f64>,
}

fn read_arima_fixtures() -> Vec<ArimaFixture> {
    let known: Vec<ArimaFixture> = read_fixture(include_str!("arima.json"));
    assert!(known.len() >= 200, "{} series", known.len());
    known
}

fn order([p, d, q]: [usize; 3]) -> ArimaOrder {
    ArimaOrder::new(p, d, q)
}

/// The largest relative distance of two forecasts, of their means and of their standard errors.
///
/// A mean below a thousandth of its own standard error is zero for all that is known: its distance
/// is taken against that thousandth.
fn forecast_distance(ours: &[(f64, f64)], theirs: &[[f64; 2]]) -> f64 {
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
    let series = read_series();
    let (mut equal, mut wrong) = (0, Vec::new());
    let known = read_arima_fixtures();
    for item in &known {
        let values = series[item.index].values();
        let scale = sample_deviation(&values);
        let scaled: Vec<f64> = values.iter().map(|value| value / scale).collect();
        let chosen = select_order(&scaled, &[], ArimaOrderGrid::default()).expect("a model fits");
        if chosen.fit.order == order(item.chosen) {
            equal += 1;
        } else {
            let aic = |wanted: ArimaOrder| {
                let ours = chosen.candidates.iter().find(|candidate| candidate.order == wanted);
                let theirs =
                    item.aic.iter().find(|(p, d, q, _)| ArimaOrder::new(*p, *d, *q) == wanted);
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
struct ForecastComparison {
    compared: usize,
    /// Where statsmodels ended on a lower hill, of all its starts.
    higher: Vec<String>,
    far: Vec<String>,
}

/// What both found for one series.
struct ForecastPair<'a> {
    about: String,
    series: &'a [f64],
    ours: &'a ArimaFit,
    forecast: &'a [(f64, f64)],
    theirs: &'a [[f64; 2]],
    params: &'a [f64],
    log_likelihood: f64,
}

impl ForecastComparison {
    /// Forecasts are equal, from a likelihood that is not lower; or they come from two hills of one
    /// likelihood, of which ours is the higher.
    fn add(&mut self, both: &ForecastPair<'_>) {
        self.compared += 1;
        let off = forecast_distance(both.forecast, both.theirs);
        let gain = both.ours.log_likelihood - both.log_likelihood;
        let text = format!("{}: off by {off:.2e}, log-likelihood higher by {gain:.3e}", both.about);
        if off <= 1e-3 && gain > -1e-4 {
            return;
        }
        // The same likelihood on both sides, or there would be nothing to compare.
        let ArimaOrder { p, d, q } = both.ours.order;
        let constant = usize::from(d == 0);
        let lags = &both.params[constant..];
        let given = ArimaParams {
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
    let series = read_series();
    let (mut comparison, mut beyond_default) = (ForecastComparison::default(), 0);
    for item in read_arima_fixtures() {
        let values = series[item.index].values();
        let scale = sample_deviation(&values);
        let scaled: Vec<f64> = values.iter().map(|value| value / scale).collect();
        let ours = fit(&scaled, &[], order(item.chosen)).expect("the model fits");
        let forecast: Vec<(f64, f64)> = ours
            .forecast(item.forecast.len(), &[])
            .into_iter()
            .map(|(mean, error)| (mean * scale, error * scale))
            .collect();
        comparison.add(&ForecastPair {
            about: format!("{} {} {}", item.index, series[item.index].kind, ours.order),
            series: &scaled,
            ours: &ours,
            forecast: &forecast,
            theirs: &item.forecast,
            params: &item.params,
            log_likelihood: item.log_likelihood,
        });
        beyond_default += usize::from(forecast_distance(&forecast, &item.default) > 1e-3);
    }
    println!("{beyond_default} differ from statsmodels' default, which stops early");
    comparison.finish(0);
}

#[test]
fn any_order_on_a_series_as_it_is_equals_statsmodels() {
    let series = read_series();
    let mut comparison = ForecastComparison::default();
    for item in read_arima_fixtures() {
        let FixedOrderFixture { order: wanted, unit, forecast, log_likelihood, params } =
            &item.fixed;
        let values = series[item.index].values();
        let values: Vec<f64> = values.iter().map(|value| value * unit).collect();
        let ours = fit(&values, &[], order(*wanted)).expect("the model fits");
        comparison.add(&ForecastPair {
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
struct ResourcesFixture {
    order: [usize; 3],
    y: Vec<f64>,
    x: Vec<Vec<f64>>,
    forecast: Vec<[f64; 2]>,
    log_likelihood: f64,
}

#[test]
fn forecasts_with_resources_equal_statsmodels() {
    let known: Vec<ResourcesFixture> = read_fixture(include_str!("resources.json"));
    for item in known {
        let length = item.y.len();
        let (past, future): (Vec<_>, Vec<_>) =
            item.x.iter().map(|x| (x[..length].to_vec(), x[length..].to_vec())).unzip();
        let ours = fit(&item.y, &past, order(item.order)).expect("the model fits");
        assert_close(ours.log_likelihood, item.log_likelihood, 1e-6, &format!("{}", ours.order));
        let off = forecast_distance(&ours.forecast(item.forecast.len(), &future), &item.forecast);
        assert!(off <= 1e-3, "{}: {off}", ours.order);
    }
}
