//! Forecasts many metrics and says how long it took, as one line of JSON.
//!
//! `forecast.py` beside this file runs it and compares it with statsmodels in the same run.

use std::hint::black_box;
use std::time::Instant;

use menace_track::predict::PredictorPanel;
use menace_track::stats::forecast::{ForecastMethod, ForecastOptions, forecast};
use menace_track::{METRICS as METRICS_OF_RUNS, RoiHistory, Tracker};

const METRIC_COUNT: u64 = 100;
const POINTS_PER_METRIC: usize = 1_000;

/// A series that `forecast.py` makes, too: shocks of a linear congruential generator, and an
/// autoregression whose strength depends on the metric.
fn series(metric: u64) -> Vec<f64> {
    let mut state = metric.wrapping_mul(7_919).wrapping_add(1);
    let strength = 0.1 + 0.8 * (metric % 10) as f64 / 10.0;
    let (mut value, mut before) = (0.0, 0.0);
    (0..POINTS_PER_METRIC)
        .map(|_| {
            let mut shock = -6.0;
            for _ in 0..12 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                shock += (state >> 11) as f64 / (1_u64 << 53) as f64;
            }
            value = strength * value + shock + 0.3 * before;
            before = shock;
            value
        })
        .collect()
}

fn main() {
    let histories: Vec<Vec<f64>> = (0..METRIC_COUNT).map(series).collect();
    let start = Instant::now();
    let mut modelled = 0;
    for history in &histories {
        let made = forecast(
            black_box(history),
            ForecastOptions { horizon: 5, ..ForecastOptions::default() },
        );
        modelled +=
            u32::from(made.is_some_and(|made| matches!(made.method, ForecastMethod::Arima(_))));
    }
    let seconds = start.elapsed().as_secs_f64();
    let cycle_ms = [POINTS_PER_METRIC / 4, POINTS_PER_METRIC]
        .map(|cycles| time_next_cycle_ms(&histories, cycles));
    println!(
        "{{\"metrics\":{METRIC_COUNT},\"points\":{POINTS_PER_METRIC},\"modelled\":{modelled},\
         \"seconds\":{seconds},\
         \"cycle_ms\":{cycle_ms:?}}}"
    );
}

/// Milliseconds that a run takes for the forecasts of one more cycle: ROI, and twenty metrics.
fn time_next_cycle_ms(histories: &[Vec<f64>], cycles: usize) -> f64 {
    const MEASURED_CYCLES: usize = 10;
    let panel = PredictorPanel::bundled();
    let names = METRICS_OF_RUNS.iter().take(20).map(|metric| metric.name);
    let mut tracker = Tracker::new(RoiHistory {
        roi_history: histories[0][..cycles].to_vec(),
        metrics_history: names
            .zip(&histories[1..])
            .map(|(name, history)| (name.to_owned(), history[..cycles].to_vec()))
            .collect(),
        ..RoiHistory::default()
    });
    let mut seconds = 0.0;
    for step in 0..MEASURED_CYCLES {
        let (mut history, models) = tracker.into_parts();
        history.roi_history.push(histories[0][step]);
        for (values, one) in history.metrics_history.values_mut().zip(&histories[1..]) {
            values.push(one[step]);
        }
        tracker = Tracker::with_models(history, models);
        let start = Instant::now();
        black_box(tracker.forecast_roi(ForecastOptions::default()));
        black_box(tracker.predict_all_metrics(&panel));
        seconds += start.elapsed().as_secs_f64();
    }
    seconds * 1e3 / MEASURED_CYCLES as f64
}
