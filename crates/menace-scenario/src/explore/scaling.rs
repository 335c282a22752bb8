//! How the time of a section grows with its input.

use std::collections::BTreeMap;

use menace_model::{Outcome, Verdict};

use super::probe::{Probe, Purpose};
use super::{Finding, grow};
use crate::input::Input;
use crate::judge::{Growth, Weakness, WeaknessKind, growth};

/// Each round goes on where the one before could still measure nothing.
pub(super) const ROUNDS: usize = 3;
/// The sizes of each round; the last two of one are measured again in the next.
const SIZES: [[u64; 3]; ROUNDS] =
    [[1 << 9, 1 << 10, 1 << 11], [1 << 12, 1 << 13, 1 << 14], [1 << 15, 1 << 16, 1 << 17]];
/// The least of so many measurements counts.
const MEASUREMENTS: usize = 2;
/// A call that takes longer is not made larger still.
const LONG_MS: f64 = 150.0;

#[derive(Debug, Default)]
pub(super) struct Scaling {
    samples: BTreeMap<(usize, usize), BTreeMap<u64, f64>>,
    /// Ways that need not be followed further: too slow already, or refused.
    ended: Vec<(usize, usize)>,
}

impl Scaling {
    pub(super) fn plan(&mut self, round: usize, best: Option<&Input>) -> Vec<Probe> {
        let Some(input) = best else { return Vec::new() };
        let mut probes = Vec::new();
        for (part, ways) in grow::parts(input) {
            for way in (0..ways).filter(|way| !self.ended.contains(&(part, *way))) {
                for size in SIZES[round] {
                    let Some(grown) = grow::grown(input, part, way, size) else { continue };
                    let purpose = Purpose::Scale { part, way, size };
                    let probe = Probe::new(grown, purpose, 1);
                    probes.extend(std::iter::repeat_n(probe, MEASUREMENTS));
                }
            }
        }
        probes
    }

    /// A finding as soon as the growth is known to be too steep.
    pub(super) fn note(&mut self, probe: &Probe, size: u64, outcome: &Outcome) -> Option<Finding> {
        let Purpose::Scale { part, way, .. } = probe.purpose else { return None };
        let key = (part, way);
        let metrics = &outcome.runtime_metrics;
        let cpu_ms = metrics.user_cpu_ms + metrics.system_cpu_ms;
        match outcome.verdict {
            Verdict::Returned | Verdict::Refused | Verdict::Raised => {}
            // So long that it had to be stopped: as good as a measurement of that much.
            Verdict::TimedOut => self.ended.push(key),
            _ => {
                self.ended.push(key);
                return None;
            }
        }
        if cpu_ms > LONG_MS {
            self.ended.push(key);
        }
        let samples = self.samples.entry(key).or_default();
        let least = samples.entry(size).or_insert(f64::INFINITY);
        *least = least.min(cpu_ms);
        let all: Vec<Growth> =
            samples.iter().map(|(&size, &cpu_ms)| Growth { size, cpu_ms }).collect();
        let power = growth(&all)?;
        let (from, to) = (all.first()?, all.last()?);
        let evidence = format!(
            "time grows with the size to the power of {power:.1}: {:.0} ms for {}, {:.0} ms for {}",
            from.cpu_ms, from.size, to.cpu_ms, to.size
        );
        let weakness = Weakness { kind: WeaknessKind::Slow, evidence, place: None };
        Some(Finding { weakness, probe: probe.clone() })
    }
}
