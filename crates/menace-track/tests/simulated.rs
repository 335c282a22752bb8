//! How often forecasts and decisions are right, on histories whose truth is known.
//!
//! Every history is drawn from a fixed seed, so that a share is the same in each run.

use menace_track::stats::arima::ArimaOrderGrid;
use menace_track::stats::forecast::{ForecastOptions, ResourceSeries, forecast_with};
use menace_track::stats::forecast_calibrator::{DriftLimits, ForecastCalibrator};
use menace_track::{ConvergenceRules, RoiHistory, Tracker};

/// Numbers that look like chance (Marsaglia 2003).
struct XorShiftRandom(u64);

impl XorShiftRandom {
    /// In (0, 1).
    fn next_share(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Of mean 0 and variance 1 (Box, Muller 1958).
    fn next_normal(&mut self) -> f64 {
        let (one, two) = (self.next_share(), self.next_share());
        (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos()
    }

    /// Each value keeps a share of the one before: none for noise, all of it for a random walk.
    fn series(&mut self, count: usize, share: f64) -> Vec<f64> {
        let mut value = 0.0;
        // A process that returns has forgotten its start by then.
        let values = (0..50 + count).map(|_| {
            value = share * value + self.next_normal();
            value
        });
        values.skip(50).collect()
    }
}

const RANDOM_SEED: u64 = 0x2545_f491_4f6c_dd1d;
const DRAWS_PER_CASE: usize = 200;
const NOISE_CARRYOVER: f64 = 0.0;
const RANDOM_WALK_CARRYOVER: f64 = 1.0;

/// How often the interval of the next value held it.
fn count_held_intervals(
    count: usize,
    draws: usize,
    mut draw: impl FnMut(&mut XorShiftRandom, usize) -> Vec<f64>,
    mut said: impl FnMut(&[f64], &mut XorShiftRandom) -> (f64, f64),
) -> f64 {
    let mut chance = XorShiftRandom(RANDOM_SEED);
    let held = (0..draws).filter(|_| {
        let values = draw(&mut chance, count + 1);
        let (low, high) = said(&values[..count], &mut chance);
        (low..=high).contains(&values[count])
    });
    held.count() as f64 / draws as f64
}

fn interval(history: &[f64], resources: &[ResourceSeries], grid: ArimaOrderGrid) -> (f64, f64) {
    let outlook = ForecastOptions { grid, ..ForecastOptions::default() };
    forecast_with(history, resources, outlook).unwrap().points[0].interval.unwrap()
}

#[test]
fn intervals_hold_as_many_values_as_they_promise_from_a_few_cycles_on() {
    for (count, draws) in [(8, 400), (12, 400), (16, 400), (24, 400), (40, 40)] {
        for share in [NOISE_CARRYOVER, 0.5, RANDOM_WALK_CARRYOVER] {
            let draw = |chance: &mut XorShiftRandom, count| chance.series(count, share);
            let held = count_held_intervals(count, draws, draw, |history, _| {
                interval(history, &[], ArimaOrderGrid::default())
            });
            assert!(held >= 0.85, "{held} of {count} values, of which {share} stays");
        }
    }
}

#[test]
fn resources_that_have_nothing_to_do_with_roi_change_neither_forecast_nor_interval() {
    let grid = ArimaOrderGrid { p: 1, d: 1, q: 1 };
    for count in [12, 24, 40, 60] {
        let draw = |chance: &mut XorShiftRandom, count| chance.series(count, 0.5);
        let mut same = 0;
        let held = count_held_intervals(count, DRAWS_PER_CASE, draw, |history, chance| {
            let unrelated = [(); 4].map(|()| ResourceSeries {
                past: chance.series(count, NOISE_CARRYOVER).into_iter().map(Some).collect(),
                future: chance.series(1, NOISE_CARRYOVER),
            });
            let said = interval(history, &unrelated, grid);
            same += usize::from(said == interval(history, &[], grid));
            said
        });
        assert!(held >= 0.85, "{held} of {count}");
        assert!(
            same >= DRAWS_PER_CASE * 85 / 100,
            "{same} of {DRAWS_PER_CASE} with {count} values"
        );
    }
}

/// How often five synergy metrics count as converged with the default settings;
/// `is_predicted` is whether there are predictions of them.
fn count_converged(
    count: usize,
    has_predictions: bool,
    mut draw: impl FnMut(&mut XorShiftRandom) -> Vec<f64>,
) -> usize {
    let mut chance = XorShiftRandom(RANDOM_SEED);
    let ended = (0..DRAWS_PER_CASE).filter(|_| {
        let mut history = RoiHistory { roi_deltas: vec![0.0; 4], ..RoiHistory::default() };
        for number in 0..5 {
            let name = format!("synergy_{number}");
            let values = draw(&mut chance);
            // As close as the mean of the last value and of those before it comes.
            let said = (3..count).map(|place| {
                let recent = &values[place.saturating_sub(10)..place];
                let mean = recent.iter().sum::<f64>() / recent.len() as f64;
                f64::midpoint(mean, values[place - 1])
            });
            if has_predictions {
                history.predicted_metrics.insert(name.clone(), said.collect());
                history.actual_metrics.insert(name.clone(), values[3..].to_vec());
            }
            history.metrics_history.insert(name, values);
        }
        Tracker::new(history).decide_convergence(&ConvergenceRules::default(), []).converged
    });
    ended.count()
}

#[test]
fn five_synergy_metrics_that_rest_end_a_run_and_five_that_move_do_not() {
    for (count, is_predicted) in [10, 15, 20, 40].into_iter().flat_map(|n| [(n, true), (n, false)])
    {
        let noise =
            count_converged(count, is_predicted, |chance| chance.series(count, NOISE_CARRYOVER));
        assert!(
            noise >= DRAWS_PER_CASE * 80 / 100,
            "noise: {noise} of {DRAWS_PER_CASE} with {count} values"
        );
        let walks = count_converged(count, is_predicted, |chance| {
            chance.series(count, RANDOM_WALK_CARRYOVER)
        });
        assert!(
            walks <= DRAWS_PER_CASE * 5 / 100,
            "walks: {walks} of {DRAWS_PER_CASE} with {count} values"
        );
        let trends = count_converged(count, is_predicted, |chance| {
            let noise = chance.series(count, NOISE_CARRYOVER);
            noise.iter().enumerate().map(|(step, value)| value + 0.5 * step as f64).collect()
        });
        assert!(
            trends <= DRAWS_PER_CASE * 5 / 100,
            "trends: {trends} of {DRAWS_PER_CASE} with {count} values"
        );
    }
}

/// How often drift is found, with and without one of forty features that has moved by 1.5
/// deviations.
#[test]
fn one_feature_of_forty_that_moved_is_found_and_none_is_where_none_did() {
    let names: Vec<String> = (0..40).map(|number| format!("feature {number}")).collect();
    let mut chance = XorShiftRandom(RANDOM_SEED);
    let mut alarms = 0;
    for (before, after, least) in [(20, 10, 35), (40, 20, 80), (80, 40, 95)] {
        let mut found = 0;
        for _ in 0..100 {
            let mut rows = |count: usize| -> Vec<Vec<f64>> {
                (0..count).map(|_| chance.series(40, NOISE_CARRYOVER)).collect()
            };
            let (known, mut new) = (rows(before), rows(after));
            let targets: Vec<f64> = known.iter().map(|row| row[0]).collect();
            let limits = DriftLimits::default();
            let mut calibrator =
                ForecastCalibrator::train(&names, &known, &targets, limits, "").unwrap();
            alarms += usize::from(calibrator.check_drift(&new, "").iter().any(|one| one.drifted));
            for row in &mut new {
                row[7] += 1.5;
            }
            found += usize::from(calibrator.check_drift(&new, "")[7].drifted);
        }
        assert!(found >= least, "{found} of 100 at {before}/{after}");
    }
    // A twentieth for both measures together.
    assert!(alarms <= 15, "{alarms} of 300");
}
