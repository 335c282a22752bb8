//! Forecasts a metric, with the method that the length of its history allows.
//!
//! None for an empty history; its mean below [`MIN_LINE_SAMPLES`] values; a line below
//! [`MIN_ARIMA_SAMPLES`]; above, the ARIMA model of the best order, or smoothing where no model
//! fits. Resources are used as regressors only where they explain more than they cost. The tracker
//! stores predictions. Invariant: every number is finite, and an interval contains its mean.

use serde::{Deserialize, Serialize};

use super::arima::{
    AIC_TIE_TOLERANCE, ArimaCandidate, ArimaFit, ArimaOrder, ArimaOrderGrid, select_order,
};
use super::correlation::autocorrelation_inflation;
use super::describe::{drop_missing, is_constant, is_usable, mean, sample_deviation};
use super::distribution::t_quantile;
use super::smoothing::ExponentialSmoothing;
use super::trend::TrendLine;

/// The fewest values for a line.
pub const MIN_LINE_SAMPLES: usize = 3;
/// The fewest values for an ARIMA model: with fewer, one of 27 orders always fits too well.
pub const MIN_ARIMA_SAMPLES: usize = 30;
/// The fewest values for a test whether the residuals of a line are correlated.
const MIN_DEPENDENCE_SAMPLES: usize = 12;
/// Values per estimated parameter that a model with resources needs at least.
const MIN_SAMPLES_PER_PARAMETER: usize = 5;

/// The method of a forecast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForecastMethod {
    /// The mean of very few values.
    Mean,
    /// All values were the same.
    Constant,
    /// A least squares line.
    Line,
    /// Simple exponential smoothing.
    Smoothing,
    /// An ARIMA model of this order.
    Arima(ArimaOrder),
}

/// One forecast value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ForecastPoint {
    /// The expected value.
    pub mean: f64,
    /// The ends of the interval; `None` where there are too few values for one.
    pub interval: Option<(f64, f64)>,
}

/// The forecast values, the next one first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricForecast {
    /// The method used.
    pub method: ForecastMethod,
    /// The values.
    pub points: Vec<ForecastPoint>,
    /// The share of actual values that the intervals should contain.
    pub confidence: f64,
    /// Values of the history that were used.
    pub samples: usize,
}

/// A series measured in the same cycles that may explain the metric: CPU, memory, disk, time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ResourceSeries {
    /// One value per value of the metric; `None` where it was not measured.
    pub past: Vec<Option<f64>>,
    /// Expected values of the resource, one per forecast step. The last one is repeated; if there
    /// are none, the last value of `past` is.
    pub future: Vec<f64>,
}

/// Horizon and confidence of a forecast.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ForecastOptions {
    /// How many values to forecast.
    pub horizon: usize,
    /// The share of actual values that the intervals should contain.
    pub confidence: f64,
    /// The orders to choose from.
    pub grid: ArimaOrderGrid,
}

impl Default for ForecastOptions {
    fn default() -> Self {
        Self { horizon: 1, confidence: 0.95, grid: ArimaOrderGrid::default() }
    }
}

/// A model that was chosen for one history, and can forecast repeatedly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ForecastModel {
    fitted: FittedForecast,
    samples: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum FittedForecast {
    Mean(f64),
    Constant(f64),
    /// With the factor by which its band is widened.
    Line(TrendLine, f64),
    Smoothing(ExponentialSmoothing),
    Arima {
        fit: Box<ArimaFit>,
        scale: f64,
        used: Vec<usize>,
    },
}

/// Forecasts a history; `None` if it has no values.
pub fn forecast(history: &[f64], options: ForecastOptions) -> Option<MetricForecast> {
    forecast_with(history, &[], options)
}

/// Forecasts a history with resources measured in the same cycles; `None` if it has no values.
///
/// A resource that does not vary, or whose past is not as long as the history, is left out.
pub fn forecast_with(
    history: &[f64],
    resources: &[ResourceSeries],
    options: ForecastOptions,
) -> Option<MetricForecast> {
    Some(ForecastModel::fit(history, resources, options.grid)?.forecast(resources, options))
}

impl ForecastModel {
    fn fit(history: &[f64], resources: &[ResourceSeries], grid: ArimaOrderGrid) -> Option<Self> {
        let values = drop_missing(history);
        let samples = values.len();
        let last = *values.last()?;
        let way = if samples < MIN_LINE_SAMPLES {
            FittedForecast::Mean(mean(&values))
        } else if is_constant(&values) {
            FittedForecast::Constant(last)
        } else if samples < MIN_ARIMA_SAMPLES {
            let line = TrendLine::fit(history)?;
            FittedForecast::Line(line, band_widening(&line, history))
        } else {
            fit_arima(history, resources, grid)
                .or_else(|| ExponentialSmoothing::fit(history).map(FittedForecast::Smoothing))?
        };
        Some(Self { fitted: way, samples })
    }

    fn forecast(&self, resources: &[ResourceSeries], options: ForecastOptions) -> MetricForecast {
        let confidence = options.confidence.clamp(0.0, 1.0 - 1e-12);
        // Parameters are estimated, so the bounds are Student's, with the variance for the
        // remaining degrees of freedom.
        let bound = |estimated: usize| {
            let freedom = self.samples.saturating_sub(estimated).max(1) as f64;
            let widened = (self.samples as f64 / freedom).sqrt();
            t_quantile(f64::midpoint(1.0, confidence), freedom) * widened
        };
        let steps = 0..options.horizon;
        let around = |mean: f64, margin: f64| ForecastPoint {
            mean,
            interval: Some((mean - margin, mean + margin)),
        };
        let (method, points) = match &self.fitted {
            FittedForecast::Mean(mean) => {
                let point = ForecastPoint { mean: *mean, interval: None };
                (ForecastMethod::Mean, vec![point; options.horizon])
            }
            FittedForecast::Constant(value) => {
                (ForecastMethod::Constant, vec![around(*value, 0.0); options.horizon])
            }
            FittedForecast::Line(line, widened) => {
                let point = |step| {
                    let mean = line.predict(step);
                    let margin = line.interval_half_width(step, confidence);
                    margin.map_or(ForecastPoint { mean, interval: None }, |margin| {
                        around(mean, margin * widened)
                    })
                };
                (ForecastMethod::Line, steps.map(point).collect())
            }
            FittedForecast::Smoothing(smoothed) => {
                let margin = |step| bound(2) * smoothed.standard_error(step);
                let points = steps.map(|step| around(smoothed.level, margin(step))).collect();
                (ForecastMethod::Smoothing, points)
            }
            FittedForecast::Arima { fit, scale, used } => {
                let future: Vec<Vec<f64>> =
                    used.iter().map(|place| expected_future(&resources[*place])).collect();
                let bound = bound(fit.parameter_count());
                let points = fit
                    .forecast(options.horizon, &future)
                    .into_iter()
                    .map(|(mean, error)| around(mean * scale, bound * error * scale))
                    .collect();
                (ForecastMethod::Arima(fit.order), points)
            }
        };
        MetricForecast { method, points, confidence, samples: self.samples }
    }
}

/// The factor by which a line's band is widened because its residuals depend on each other.
fn band_widening(line: &TrendLine, history: &[f64]) -> f64 {
    if line.samples < MIN_DEPENDENCE_SAMPLES {
        return 1.0;
    }
    let on_line = |place: usize| line.slope.mul_add(place as f64, line.intercept);
    let rests: Vec<f64> =
        history.iter().enumerate().map(|(place, value)| value - on_line(place)).collect();
    autocorrelation_inflation(&rests)
}

/// The best model of the history in units of its own deviation: the filter's start is diffuse only
/// relative to values of about that size, and a forecast must not depend on the unit.
///
/// Resources are kept only if they explain more than they cost, on the same observations.
fn fit_arima(
    history: &[f64],
    resources: &[ResourceSeries],
    grid: ArimaOrderGrid,
) -> Option<FittedForecast> {
    let scale = sample_deviation(history);
    let scaled: Vec<f64> = history.iter().map(|value| value / scale).collect();
    let used: Vec<usize> = (0..resources.len())
        .filter(|place| {
            let past = &resources[*place].past;
            past.len() == history.len() && !is_constant(&known_values(past))
        })
        .collect();
    let columns: Vec<Vec<f64>> =
        used.iter().map(|place| fill_gaps(&resources[*place].past)).collect();
    let alone = best_arima(&scaled, &[], grid, scale);
    let samples = drop_missing(history).len();
    let with = Some(&columns).filter(|columns| !columns.is_empty());
    let with = with.and_then(|columns| best_arima(&scaled, columns, grid, scale));
    let with = with.filter(|(_, fit)| samples >= MIN_SAMPLES_PER_PARAMETER * fit.parameter_count());
    let judged = samples.saturating_sub(grid.d);
    match (alone, with) {
        (None, None) => None,
        (Some(one), Some(two)) if is_better(&two, &one, judged) => {
            Some(FittedForecast::Arima { fit: two.1, scale, used })
        }
        (None, Some((_, fit))) => Some(FittedForecast::Arima { fit, scale, used }),
        (Some((_, fit)), _) => Some(FittedForecast::Arima { fit, scale, used: Vec::new() }),
    }
}

/// A candidate order with its fitted model.
type ScoredArimaFit = (ArimaCandidate, Box<ArimaFit>);

/// Compares by Akaike's criterion, corrected for few observations (Hurvich, Tsai 1989): with the
/// plain one, four useless resources would be accepted for a quarter of all short histories.
/// Schwarz's criterion breaks ties.
fn is_better(one: &ScoredArimaFit, other: &ScoredArimaFit, observations: usize) -> bool {
    let corrected = |(candidate, fit): &ScoredArimaFit| {
        let (count, estimated) = (observations as f64, fit.parameter_count() as f64);
        let left = (count - estimated - 1.0).max(1.0);
        candidate.aic + 2.0 * estimated * (estimated + 1.0) / left
    };
    let (left, right) = (corrected(one), corrected(other));
    if (left - right).abs() <= AIC_TIE_TOLERANCE { one.0.bic < other.0.bic } else { left < right }
}

/// The model of the best order, if its forecasts are finite.
fn best_arima(
    scaled: &[f64],
    columns: &[Vec<f64>],
    grid: ArimaOrderGrid,
    scale: f64,
) -> Option<ScoredArimaFit> {
    let selection = select_order(scaled, columns, grid)?;
    let chosen = selection.candidates.iter().find(|one| one.order == selection.fit.order)?;
    let far = selection.fit.forecast(1, columns);
    far.iter()
        .all(|(mean, error)| is_usable(mean * scale) && is_usable(error * scale))
        .then(|| (*chosen, Box::new(selection.fit.clone())))
}

/// The column with gaps filled by the mean.
fn fill_gaps(column: &[Option<f64>]) -> Vec<f64> {
    let middle = mean(&known_values(column));
    let known = column.iter().map(|value| value.filter(|value| is_usable(*value)));
    known.map(|value| value.unwrap_or(middle)).collect()
}

fn known_values(column: &[Option<f64>]) -> Vec<f64> {
    column.iter().flatten().copied().collect()
}

fn expected_future(resource: &ResourceSeries) -> Vec<f64> {
    let known = drop_missing(&resource.future);
    if known.is_empty() {
        drop_missing(&known_values(&resource.past)).last().copied().into_iter().collect()
    } else {
        known
    }
}

/// A forecaster that chooses its model anew only when the history has changed.
#[derive(Debug, Clone, Default)]
pub struct CachingForecaster {
    cached: Option<CachedForecastModel>,
    models_chosen: usize,
    values_modelled: usize,
}

#[derive(Debug, Clone)]
struct CachedForecastModel {
    history: Vec<u64>,
    pasts: Vec<Vec<Option<u64>>>,
    grid: ArimaOrderGrid,
    model: Option<ForecastModel>,
}

impl CachingForecaster {
    /// Forecasts as [`forecast_with`] does.
    pub fn forecast(
        &mut self,
        history: &[f64],
        resources: &[ResourceSeries],
        options: ForecastOptions,
    ) -> Option<MetricForecast> {
        let bits = to_bits(history);
        let past_to_bits = |resource: &ResourceSeries| {
            resource.past.iter().map(|value| value.map(f64::to_bits)).collect()
        };
        let pasts: Vec<Vec<Option<u64>>> = resources.iter().map(past_to_bits).collect();
        let current = self.cached.as_ref().is_some_and(|known| {
            known.history == bits && known.pasts == pasts && known.grid == options.grid
        });
        if !current {
            self.models_chosen += 1;
            self.values_modelled += history.len();
            let model = ForecastModel::fit(history, resources, options.grid);
            self.cached =
                Some(CachedForecastModel { history: bits, pasts, grid: options.grid, model });
        }
        let model = self.cached.as_ref()?.model.as_ref()?;
        Some(model.forecast(resources, options))
    }

    /// How often a model was chosen.
    pub fn models_chosen(&self) -> usize {
        self.models_chosen
    }

    /// How many values models were chosen from in all.
    pub fn values_modelled(&self) -> usize {
        self.values_modelled
    }
}

fn to_bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(length: u32) -> Vec<f64> {
        (0..length).map(|step| (f64::from(step) * 0.7).sin() + f64::from(step % 3) * 0.2).collect()
    }

    #[test]
    fn the_method_follows_from_the_length() {
        let method =
            |history: &[f64]| forecast(history, ForecastOptions::default()).map(|made| made.method);
        assert_eq!(method(&[]), None);
        assert_eq!(method(&[f64::NAN]), None);
        assert_eq!(method(&[1.0]), Some(ForecastMethod::Mean));
        assert_eq!(method(&[2.0; 40]), Some(ForecastMethod::Constant));
        assert_eq!(method(&wave(8)), Some(ForecastMethod::Line));
        assert!(matches!(method(&wave(40)), Some(ForecastMethod::Arima(_))));
    }

    #[test]
    fn a_model_is_chosen_again_only_when_the_history_changes() {
        let mut forecaster = CachingForecaster::default();
        let mut history = wave(30);
        let once = forecaster.forecast(&history, &[], ForecastOptions::default());
        let again = forecaster.forecast(
            &history,
            &[],
            ForecastOptions { horizon: 3, ..ForecastOptions::default() },
        );
        assert_eq!(forecaster.models_chosen(), 1);
        assert_eq!(once.unwrap().points[0], again.unwrap().points[0]);
        history.push(0.4);
        forecaster.forecast(&history, &[], ForecastOptions::default());
        assert_eq!(forecaster.models_chosen(), 2);
    }

    #[test]
    fn a_forecast_does_not_depend_on_the_unit() {
        let small = wave(40);
        let large: Vec<f64> = small.iter().map(|value| value * 1e6).collect();
        let (small, large) = (
            forecast(&small, ForecastOptions::default()).unwrap(),
            forecast(&large, ForecastOptions::default()).unwrap(),
        );
        assert_eq!(small.method, large.method);
        assert!((small.points[0].mean * 1e6 / large.points[0].mean - 1.0).abs() < 1e-4);
    }

    #[test]
    fn a_resource_that_explains_the_metric_moves_its_forecast() {
        let cpu: Vec<f64> = (0..40_u32).map(|step| f64::from(step * 7 % 11)).collect();
        let metric: Vec<f64> =
            cpu.iter().zip(wave(40)).map(|(cpu, noise)| 3.0 * cpu + 0.01 * noise).collect();
        let ahead = |future: f64| {
            let resource = ResourceSeries {
                past: cpu.iter().copied().map(Some).collect(),
                future: vec![future],
            };
            forecast_with(&metric, &[resource], ForecastOptions::default()).unwrap().points[0].mean
        };
        assert!((ahead(10.0) - ahead(0.0) - 30.0).abs() < 0.5);
    }

    #[test]
    fn resources_are_not_believed_where_there_are_few_values_for_all_that_is_estimated() {
        let columns: Vec<Vec<f64>> = [7, 11, 13, 17]
            .map(|modulus| (0..31_u32).map(|step| f64::from(step * step % modulus)).collect())
            .to_vec();
        let history: Vec<f64> = wave(31)
            .iter()
            .enumerate()
            .map(|(row, noise)| noise * 0.1 + columns.iter().map(|one| one[row]).sum::<f64>())
            .collect();
        let resources: Vec<ResourceSeries> = columns
            .iter()
            .map(|past| ResourceSeries {
                past: past.iter().copied().map(Some).collect(),
                future: vec![9.0],
            })
            .collect();
        // Four coefficients, a constant and a variance: thirty values suffice for them, but not for
        // lags.
        let made = forecast_with(&history, &resources, ForecastOptions::default()).unwrap();
        let ForecastMethod::Arima(order) = made.method else { panic!("{made:?}") };
        let believed = made != forecast(&history, ForecastOptions::default()).unwrap();
        assert_eq!(
            believed,
            31 >= MIN_SAMPLES_PER_PARAMETER * (order.parameter_count() + 4),
            "{made:?}"
        );
    }

    #[test]
    fn a_resource_that_does_not_vary_is_left_out() {
        let idle = ResourceSeries { past: vec![Some(1.0); 40], future: vec![9.0] };
        let with = forecast_with(&wave(40), &[idle], ForecastOptions::default());
        assert_eq!(with, forecast(&wave(40), ForecastOptions::default()));
    }
}
