//! How the time of a section grows with its input.
//!
//! One look at a larger input tells whether there is anything to measure at all; only then is it
//! measured, and what may be steep is measured once more.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::{Outcome, Verdict};

use super::probe::{Probe, Purpose};
use super::{Finding, grow};
use crate::input::Input;
use crate::judge::{Growth, MEASURABLE_MS, Weakness, WeaknessKind, growth, may_be_steep};

pub(super) const ROUNDS: usize = 5;
/// The sizes that are looked at.
const LARGE: u64 = 1 << 12;
const LARGER: u64 = 1 << 16;
/// Of what is measured, the least of so many measurements counts.
const MEASUREMENTS: usize = 2;
const LAST_MEASUREMENTS: usize = 3;
/// What takes so long already is measured with smaller inputs, the rest with larger ones: of a square, three sizes
/// are to be long enough for a measurement, and none so long that it is stopped on a busy machine.
const SOME_MS: f64 = 26.0;
const LONG_MS: f64 = 100.0;
const TOO_LONG_MS: f64 = 400.0;

/// A part of the input, and how it grows.
type Key = (usize, usize);

#[derive(Debug, Default)]
pub(super) struct Scaling {
    input: Option<Input>,
    samples: BTreeMap<Key, BTreeMap<u64, f64>>,
    /// Ways that need not be followed further: too slow already, or refused.
    ended: BTreeSet<Key>,
    measured: BTreeSet<Key>,
    /// What came of the largest that was tried.
    largest: BTreeMap<Key, (u64, Outcome)>,
}

/// Has it a part that can be made larger?
pub(super) fn can_grow(input: &Input) -> bool {
    !grow::parts(input).is_empty()
}

impl Scaling {
    pub(super) fn plan(&mut self, round: usize, best: Option<&Input>) -> Vec<Probe> {
        if self.input.is_none() {
            self.input = best.cloned();
        }
        let keys = self.keys();
        match round {
            0 => self.looks(&keys, LARGE),
            1 => self.measurements(&keys, LARGE),
            2 => {
                let rest: Vec<Key> =
                    keys.into_iter().filter(|key| !self.measured.contains(key)).collect();
                self.looks(&rest, LARGER)
            }
            3 => self.measurements(&keys, LARGER),
            _ => {
                let is_suspect = |key: &Key| may_be_steep(&self.growth_of(*key));
                let steep: Vec<Key> = keys.into_iter().filter(is_suspect).collect();
                let sizes = |key: &Key| self.decisive(*key);
                let all = steep.iter().flat_map(|key| {
                    sizes(key).into_iter().filter_map(|size| self.probe(*key, size))
                });
                all.flat_map(|probe| std::iter::repeat_n(probe, LAST_MEASUREMENTS)).collect()
            }
        }
    }

    fn keys(&self) -> Vec<Key> {
        let parts = self.input.as_ref().map(grow::parts).unwrap_or_default();
        let keys = parts.into_iter().flat_map(|(part, ways)| (0..ways).map(move |way| (part, way)));
        keys.filter(|key| !self.ended.contains(key)).collect()
    }

    fn probe(&self, (part, way): Key, size: u64) -> Option<Probe> {
        let grown = grow::grown(self.input.as_ref()?, part, way, size)?;
        Some(Probe::new(grown, Purpose::Scale { part, way, size }, 1))
    }

    fn looks(&self, keys: &[Key], size: u64) -> Vec<Probe> {
        keys.iter().filter_map(|key| self.probe(*key, size)).collect()
    }

    /// Three sizes of those that took a while at this one.
    fn measurements(&mut self, keys: &[Key], size: u64) -> Vec<Probe> {
        let mut probes = Vec::new();
        for key in keys {
            let took = self.samples.get(key).and_then(|samples| samples.get(&size)).copied();
            let Some(took) = took.filter(|took| *took >= MEASURABLE_MS) else { continue };
            self.measured.insert(*key);
            // What was stopped is no measurement; what came to its end is, and the only one at this size.
            if self.was_stopped(*key, size)
                && let Some(samples) = self.samples.get_mut(key)
            {
                samples.remove(&size);
            }
            let first = match took {
                took if took > TOO_LONG_MS => size / 16,
                took if took > LONG_MS => size / 4,
                took if took > SOME_MS => size / 2,
                _ => size,
            };
            for size in [first, 2 * first, 4 * first] {
                if let Some(probe) = self.probe(*key, size) {
                    probes.extend(std::iter::repeat_n(probe, MEASUREMENTS));
                }
            }
        }
        probes
    }

    fn was_stopped(&self, key: Key, size: u64) -> bool {
        let at_size = self.largest.get(&key).filter(|(largest, _)| *largest == size);
        at_size.is_some_and(|(_, outcome)| outcome.verdict == Verdict::TimedOut)
    }

    pub(super) fn note(&mut self, probe: &Probe, size: u64, outcome: &Outcome) {
        let Purpose::Scale { part, way, .. } = probe.purpose else { return };
        let key = (part, way);
        let metrics = &outcome.runtime_metrics;
        let cpu_ms = metrics.user_cpu_ms + metrics.system_cpu_ms;
        match outcome.verdict {
            Verdict::Returned | Verdict::Refused | Verdict::Raised => {}
            // So long that it had to be stopped: as good as a measurement of that much.
            Verdict::TimedOut => {
                if self.measured.contains(&key) {
                    self.ended.insert(key);
                }
            }
            _ => {
                self.ended.insert(key);
                return;
            }
        }
        if self.largest.get(&key).is_none_or(|(largest, _)| *largest <= size) {
            self.largest.insert(key, (size, outcome.clone()));
        }
        let samples = self.samples.entry(key).or_default();
        let least = samples.entry(size).or_insert(f64::INFINITY);
        *least = least.min(cpu_ms);
    }

    /// What was too steep, after everything was measured.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let steep = self.measured.iter().filter(|key| self.is_steep(**key));
        steep.filter_map(|key| self.finding(*key)).collect()
    }

    fn finding(&self, key: Key) -> Option<Finding> {
        let all = self.growth_of(key);
        let power = growth(&all)?;
        let (from, to) = (all.first()?, all.last()?);
        let evidence = format!(
            "time grows with the size to the power of {power:.1}: {:.0} ms for {}, {:.0} ms for {}",
            from.cpu_ms, from.size, to.cpu_ms, to.size
        );
        let weakness = Weakness { kind: WeaknessKind::Slow, evidence, place: None };
        let outcome = self.largest.get(&key)?.1.clone();
        Some(Finding { weakness, probe: self.probe(key, to.size)?, outcome })
    }

    fn is_steep(&self, key: Key) -> bool {
        growth(&self.growth_of(key)).is_some()
    }

    fn growth_of(&self, key: Key) -> Vec<Growth> {
        let samples = self.samples.get(&key).into_iter().flatten();
        samples.map(|(&size, &cpu_ms)| Growth { size, cpu_ms }).collect()
    }

    /// The sizes that decide: the last three.
    fn decisive(&self, key: Key) -> Vec<u64> {
        let samples = self.samples.get(&key);
        let sizes = samples.map(|samples| samples.keys().rev().take(3).copied().collect());
        sizes.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use menace_model::{Fixtures, Intent, Stage, Value};

    use super::*;
    use crate::input::Strategy;

    /// What is found of a section that takes so long for so many items, and is stopped after a second.
    fn found(time_ms: impl Fn(f64) -> f64) -> usize {
        let input = Input {
            receiver: None,
            args: vec![Value::List(vec![Value::Int(1)])],
            kwargs: Vec::new(),
            fixtures: Fixtures::default(),
            intent: Intent::Valid,
            strategy: Strategy::Signature,
        };
        let mut scaling = Scaling::default();
        for round in 0..ROUNDS {
            for probe in scaling.plan(round, Some(&input)) {
                let Purpose::Scale { size, .. } = probe.purpose else { panic!("{probe:?}") };
                let took = time_ms(size as f64);
                let verdict = if took > 1000.0 { Verdict::TimedOut } else { Verdict::Returned };
                let mut outcome = Outcome::of(verdict, Stage::Call);
                outcome.runtime_metrics.user_cpu_ms = took.min(1000.0);
                scaling.note(&probe, size, &outcome);
            }
        }
        scaling.findings().len()
    }

    /// What the largest input takes, on machines that are ever slower.
    const LARGE_MS: [f64; 15] = [
        5.0, 15.0, 25.0, 27.0, 59.0, 70.0, 99.0, 101.0, 200.0, 390.0, 410.0, 530.0, 900.0, 1100.0,
        3000.0,
    ];

    fn items(size: f64) -> f64 {
        size / LARGE as f64
    }

    #[test]
    fn a_square_is_found_however_fast_the_machine_is_and_a_line_is_not() {
        for large_ms in LARGE_MS {
            assert_eq!(found(|size| large_ms * items(size).powi(2)), 1, "{large_ms} ms");
            assert_eq!(found(|size| large_ms * items(size)), 0, "{large_ms} ms");
        }
    }

    #[test]
    fn a_machine_that_is_busy_for_a_while_hides_no_square_and_makes_none() {
        // Who is stopped only because of it leaves too few measurements.
        let is_stopped_for_it = |ms: f64| ms < 1000.0 && 1.5 * ms > 1000.0;
        for large_ms in LARGE_MS.into_iter().filter(|ms| !is_stopped_for_it(*ms)) {
            // Most sizes are measured five times: the first two, of one size, take half as long again.
            let disturbed = |way: i32, at: f64| {
                let times = std::cell::Cell::new(0);
                move |size: f64| {
                    let is_it = size.to_bits() == at.to_bits();
                    times.set(times.get() + u32::from(is_it));
                    let busy = if is_it && times.get() <= 2 { 1.5 } else { 1.0 };
                    busy * large_ms * items(size).powi(way)
                }
            };
            for power in 8..=14 {
                let at = f64::from(1 << power);
                assert_eq!(found(disturbed(2, at)), 1, "{large_ms} ms, {at} items");
                assert_eq!(found(disturbed(1, at)), 0, "{large_ms} ms, {at} items");
            }
        }
    }
}
