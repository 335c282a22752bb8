//! What a metric will be next, by the method that its history allows.
//!
//! None for an empty history; its mean below [`LINE_FROM`] values; a line below [`ARIMA_FROM`];
//! above, the ARIMA model of the best order, or smoothing where no model fits. What was measured
//! beside it counts only where it explains more than it costs. Remembering predictions belongs to
//! the tracker. Invariant: every number is finite, and an interval holds its mean.

use serde::{Deserialize, Serialize};

use super::arima::{Candidate, Fit, Grid, Order, TIE, select};
use super::correlation::dependence;
use super::describe::{constant, deviation, mean, present, usable};
use super::distribution::t_quantile;
use super::smoothing::Smoothed;
use super::trend::Line;

/// Values from which a line is drawn.
pub const LINE_FROM: usize = 3;
/// Values from which an ARIMA model is chosen: among 27 orders, one always flatters fewer of them.
pub const ARIMA_FROM: usize = 30;
/// Values from which it can be told whether a line's rests follow each other.
const DEPENDENCE_FROM: usize = 12;
/// Values per estimated number below which a model with resources is not believed.
const PER_PARAMETER: usize = 5;

/// How a forecast was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The mean of very few values.
    Mean,
    /// All values were the same.
    Constant,
    /// A line of least squares.
    Line,
    /// Simple exponential smoothing.
    Smoothing,
    /// An ARIMA model of this order.
    Arima(Order),
}

/// One value to come.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The expected value.
    pub mean: f64,
    /// The ends of the interval; none where there is too little to tell.
    pub interval: Option<(f64, f64)>,
}

/// The values to come, the next one first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// How it was made.
    pub method: Method,
    /// The values.
    pub points: Vec<Point>,
    /// The share of outcomes that the intervals should hold.
    pub confidence: f64,
    /// Values of the history that were used.
    pub samples: usize,
}

/// Something measured beside the metric that may explain it: CPU, memory, disk, time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Resource {
    /// One value per value of the metric.
    pub past: Vec<f64>,
    /// What is expected for the values to come; its last value goes on, or the last of the past.
    pub future: Vec<f64>,
}

/// How far and how sure to look.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    /// Values to forecast.
    pub horizon: usize,
    /// The share of outcomes that the intervals should hold.
    pub confidence: f64,
    /// The orders to choose from.
    pub grid: Grid,
}

impl Default for Outlook {
    fn default() -> Self {
        Self { horizon: 1, confidence: 0.95, grid: Grid::default() }
    }
}

/// A chosen way to forecast one history, ready to be asked again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Model {
    way: Way,
    samples: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Way {
    Mean(f64),
    Constant(f64),
    /// With the factor by which its band is widened.
    Line(Line, f64),
    Smoothing(Smoothed),
    Arima {
        fit: Box<Fit>,
        scale: f64,
        used: Vec<usize>,
    },
}

/// Forecasts a history; `None` if it has no values.
pub fn forecast(history: &[f64], outlook: Outlook) -> Option<Forecast> {
    forecast_with(history, &[], outlook)
}

/// Forecasts a history with what was measured beside it; `None` if it has no values.
///
/// A resource that does not vary, or whose past is not as long as the history, is left out.
pub fn forecast_with(
    history: &[f64],
    resources: &[Resource],
    outlook: Outlook,
) -> Option<Forecast> {
    Some(Model::of(history, resources, outlook.grid)?.ahead(resources, outlook))
}

impl Model {
    fn of(history: &[f64], resources: &[Resource], grid: Grid) -> Option<Self> {
        let values = present(history);
        let samples = values.len();
        let last = *values.last()?;
        let way = if samples < LINE_FROM {
            Way::Mean(mean(&values))
        } else if constant(&values) {
            Way::Constant(last)
        } else if samples < ARIMA_FROM {
            let line = Line::through(history)?;
            Way::Line(line, widened(&line, history))
        } else {
            arima(history, resources, grid)
                .or_else(|| Smoothed::best(history).map(Way::Smoothing))?
        };
        Some(Self { way, samples })
    }

    fn ahead(&self, resources: &[Resource], outlook: Outlook) -> Forecast {
        let confidence = outlook.confidence.clamp(0.0, 1.0 - 1e-12);
        // Estimated numbers are not known ones: Student's bounds, and the variance of what is left.
        let bound = |estimated: usize| {
            let freedom = self.samples.saturating_sub(estimated).max(1) as f64;
            let widened = (self.samples as f64 / freedom).sqrt();
            t_quantile(f64::midpoint(1.0, confidence), freedom) * widened
        };
        let steps = 0..outlook.horizon;
        let around =
            |mean: f64, margin: f64| Point { mean, interval: Some((mean - margin, mean + margin)) };
        let (method, points) = match &self.way {
            Way::Mean(mean) => {
                (Method::Mean, steps.map(|_| Point { mean: *mean, interval: None }).collect())
            }
            Way::Constant(value) => {
                (Method::Constant, steps.map(|_| around(*value, 0.0)).collect())
            }
            Way::Line(line, widened) => {
                let point = |step| {
                    let mean = line.ahead(step);
                    let margin = line.margin(step, confidence).map(|margin| margin * widened);
                    Point { mean, interval: margin.map(|margin| (mean - margin, mean + margin)) }
                };
                (Method::Line, steps.map(point).collect())
            }
            Way::Smoothing(smoothed) => (
                Method::Smoothing,
                steps.map(|step| around(smoothed.level, bound(2) * smoothed.error(step))).collect(),
            ),
            Way::Arima { fit, scale, used } => {
                let future: Vec<Vec<f64>> =
                    used.iter().map(|place| expected(&resources[*place])).collect();
                let bound = bound(fit.parameters());
                let points = fit
                    .forecast(outlook.horizon, &future)
                    .into_iter()
                    .map(|(mean, error)| around(mean * scale, bound * error * scale))
                    .collect();
                (Method::Arima(fit.order), points)
            }
        };
        Forecast { method, points, confidence, samples: self.samples }
    }
}

/// How much wider the band of a line has to be because its rests follow each other.
fn widened(line: &Line, history: &[f64]) -> f64 {
    if line.samples < DEPENDENCE_FROM {
        return 1.0;
    }
    let on_line = |place: usize| line.slope.mul_add(place as f64, line.intercept);
    let rests: Vec<f64> =
        history.iter().enumerate().map(|(place, value)| value - on_line(place)).collect();
    dependence(&rests)
}

/// The best model of the history in units of its own deviation: the start of the filter is diffuse
/// only against values of about that size, and a forecast must not depend on the unit.
///
/// Resources stay in it only if they explain more than they cost, on the same observations.
fn arima(history: &[f64], resources: &[Resource], grid: Grid) -> Option<Way> {
    let scale = deviation(history);
    let scaled: Vec<f64> = history.iter().map(|value| value / scale).collect();
    let used: Vec<usize> = (0..resources.len())
        .filter(|place| {
            let past = &resources[*place].past;
            past.len() == history.len() && !constant(past)
        })
        .collect();
    let columns: Vec<Vec<f64>> = used.iter().map(|place| filled(&resources[*place].past)).collect();
    let alone = best(&scaled, &[], grid, scale);
    let samples = present(history).len();
    let with = Some(&columns).filter(|columns| !columns.is_empty());
    let with = with.and_then(|columns| best(&scaled, columns, grid, scale));
    let with = with.filter(|(_, fit)| samples >= PER_PARAMETER * fit.parameters());
    let judged = samples.saturating_sub(grid.d);
    match (alone, with) {
        (None, None) => None,
        (Some(one), Some(two)) if is_better(&two, &one, judged) => {
            Some(Way::Arima { fit: two.1, scale, used })
        }
        (None, Some((_, fit))) => Some(Way::Arima { fit, scale, used }),
        (Some((_, fit)), _) => Some(Way::Arima { fit, scale, used: Vec::new() }),
    }
}

/// An order as it was judged, and its model.
type Judged = (Candidate, Box<Fit>);

/// By Akaike's criterion, corrected for few observations (Hurvich, Tsai 1989): four resources that explain
/// nothing would pass the plain one in a quarter of all short histories. Schwarz's breaks ties.
fn is_better(one: &Judged, other: &Judged, observations: usize) -> bool {
    let corrected = |(candidate, fit): &Judged| {
        let (count, estimated) = (observations as f64, fit.parameters() as f64);
        let left = (count - estimated - 1.0).max(1.0);
        candidate.aic + 2.0 * estimated * (estimated + 1.0) / left
    };
    let (left, right) = (corrected(one), corrected(other));
    if (left - right).abs() <= TIE { one.0.bic < other.0.bic } else { left < right }
}

/// The model of the best order, if its forecasts are numbers.
fn best(scaled: &[f64], columns: &[Vec<f64>], grid: Grid, scale: f64) -> Option<Judged> {
    let selection = select(scaled, columns, grid)?;
    let chosen = selection.candidates.iter().find(|one| one.order == selection.fit.order)?;
    let far = selection.fit.forecast(1, columns);
    far.iter()
        .all(|(mean, error)| usable(mean * scale) && usable(error * scale))
        .then(|| (*chosen, Box::new(selection.fit.clone())))
}

/// A column without gaps: what is missing becomes the mean.
fn filled(column: &[f64]) -> Vec<f64> {
    let middle = mean(column);
    column.iter().map(|value| if usable(*value) { *value } else { middle }).collect()
}

fn expected(resource: &Resource) -> Vec<f64> {
    let known = present(&resource.future);
    if known.is_empty() {
        present(&resource.past).last().copied().into_iter().collect()
    } else {
        known
    }
}

/// A forecaster that chooses its model anew only when the history has changed.
#[derive(Debug, Clone, Default)]
pub struct Forecaster {
    known: Option<Known>,
    chosen: usize,
    values: usize,
}

#[derive(Debug, Clone)]
struct Known {
    history: Vec<u64>,
    pasts: Vec<Vec<u64>>,
    grid: Grid,
    model: Option<Model>,
}

impl Forecaster {
    /// Forecasts as [`forecast_with`] does.
    pub fn forecast(
        &mut self,
        history: &[f64],
        resources: &[Resource],
        outlook: Outlook,
    ) -> Option<Forecast> {
        let bits = bits(history);
        let pasts: Vec<Vec<u64>> =
            resources.iter().map(|resource| self::bits(&resource.past)).collect();
        let current = self.known.as_ref().is_some_and(|known| {
            known.history == bits && known.pasts == pasts && known.grid == outlook.grid
        });
        if !current {
            self.chosen += 1;
            self.values += history.len();
            let model = Model::of(history, resources, outlook.grid);
            self.known = Some(Known { history: bits, pasts, grid: outlook.grid, model });
        }
        let model = self.known.as_ref()?.model.as_ref()?;
        Some(model.ahead(resources, outlook))
    }

    /// How often a model had to be chosen.
    pub fn chosen(&self) -> usize {
        self.chosen
    }

    /// How many values these were chosen from, all together.
    pub fn values(&self) -> usize {
        self.values
    }
}

fn bits(values: &[f64]) -> Vec<u64> {
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
            |history: &[f64]| forecast(history, Outlook::default()).map(|made| made.method);
        assert_eq!(method(&[]), None);
        assert_eq!(method(&[f64::NAN]), None);
        assert_eq!(method(&[1.0]), Some(Method::Mean));
        assert_eq!(method(&[2.0; 40]), Some(Method::Constant));
        assert_eq!(method(&wave(8)), Some(Method::Line));
        assert!(matches!(method(&wave(40)), Some(Method::Arima(_))));
    }

    #[test]
    fn a_model_is_chosen_again_only_when_the_history_changes() {
        let mut forecaster = Forecaster::default();
        let mut history = wave(30);
        let once = forecaster.forecast(&history, &[], Outlook::default());
        let again =
            forecaster.forecast(&history, &[], Outlook { horizon: 3, ..Outlook::default() });
        assert_eq!(forecaster.chosen(), 1);
        assert_eq!(once.unwrap().points[0], again.unwrap().points[0]);
        history.push(0.4);
        forecaster.forecast(&history, &[], Outlook::default());
        assert_eq!(forecaster.chosen(), 2);
    }

    #[test]
    fn a_forecast_does_not_depend_on_the_unit() {
        let small = wave(40);
        let large: Vec<f64> = small.iter().map(|value| value * 1e6).collect();
        let (small, large) = (
            forecast(&small, Outlook::default()).unwrap(),
            forecast(&large, Outlook::default()).unwrap(),
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
            let resource = Resource { past: cpu.clone(), future: vec![future] };
            forecast_with(&metric, &[resource], Outlook::default()).unwrap().points[0].mean
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
        let resources: Vec<Resource> =
            columns.iter().map(|past| Resource { past: past.clone(), future: vec![9.0] }).collect();
        // Four coefficients, a constant and a variance: thirty values would do, but not with lags.
        let made = forecast_with(&history, &resources, Outlook::default()).unwrap();
        let Method::Arima(order) = made.method else { panic!("{made:?}") };
        let believed = made != forecast(&history, Outlook::default()).unwrap();
        assert_eq!(believed, 31 >= PER_PARAMETER * (order.parameters() + 4), "{made:?}");
    }

    #[test]
    fn a_resource_that_does_not_vary_is_left_out() {
        let idle = Resource { past: vec![1.0; 40], future: vec![9.0] };
        let with = forecast_with(&wave(40), &[idle], Outlook::default());
        assert_eq!(with, forecast(&wave(40), Outlook::default()));
    }
}
