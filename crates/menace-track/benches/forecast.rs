//! Forecasts many metrics and says how long it took, as one line of JSON.
//!
//! `forecast.py` beside this file runs it and compares it with statsmodels in the same run.

use std::hint::black_box;
use std::time::Instant;

use menace_track::stats::arima::{Order, fit};
use menace_track::stats::forecast::{Method, Outlook, forecast};

const METRICS: u64 = 100;
const POINTS: usize = 1_000;

/// A series that `forecast.py` makes, too: shocks of a linear congruential generator, and an
/// autoregression whose strength depends on the metric.
fn series(metric: u64) -> Vec<f64> {
    let mut state = metric.wrapping_mul(7_919).wrapping_add(1);
    let strength = 0.1 + 0.8 * (metric % 10) as f64 / 10.0;
    let (mut value, mut before) = (0.0, 0.0);
    (0..POINTS)
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
    let histories: Vec<Vec<f64>> = (0..METRICS).map(series).collect();
    let start = Instant::now();
    let mut modelled = 0;
    for history in &histories {
        let made = forecast(black_box(history), Outlook { horizon: 5, ..Outlook::default() });
        modelled += u32::from(made.is_some_and(|made| matches!(made.method, Method::Arima(_))));
    }
    let seconds = start.elapsed().as_secs_f64();
    let observe_ns = [100, POINTS].map(|points| observing(&histories[3][..points]));
    println!(
        "{{\"metrics\":{METRICS},\"points\":{POINTS},\"modelled\":{modelled},\"seconds\":{seconds},\
         \"observe_ns\":{observe_ns:?}}}"
    );
}

/// Nanoseconds that a model of this history takes for one more value.
fn observing(history: &[f64]) -> f64 {
    const VALUES: u32 = 100_000;
    let Some(mut model) = fit(history, &[], Order::new(2, 1, 2)) else { return f64::NAN };
    let start = Instant::now();
    for step in 0..VALUES {
        model.observe(black_box(f64::from(step % 7)), &[]);
    }
    black_box(&model);
    start.elapsed().as_secs_f64() * 1e9 / f64::from(VALUES)
}
