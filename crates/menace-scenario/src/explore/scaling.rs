//! How the CPU time of a section grows with its input.
//!
//! One call with a large input shows whether there is anything to measure. Only then several sizes
//! are measured, and steep growth is measured once more.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::{Outcome, PyReference, Value, Verdict};

use super::probe::{PlannedProbe, ProbePurpose};
use crate::input::{CallInput, GrowingInput};
use crate::judge::{
    GrowthSample, MIN_MEASURABLE_CPU_MS, SectionWeakness, WeaknessKind, may_be_steep,
    steep_growth_exponent,
};

pub(super) const SCALING_ROUNDS: usize = 5;
/// The sizes of the first calls.
const LARGE_SIZE: u64 = 1 << 12;
const LARGER_SIZE: u64 = 1 << 16;
/// The least of so many measurements counts.
const MEASUREMENTS_PER_SIZE: usize = 2;
const LAST_MEASUREMENTS_PER_SIZE: usize = 3;
/// Inputs that take this long are measured at smaller sizes, the others at larger ones. Of
/// quadratic growth, three sizes must be long enough for a measurement, and none so long that it
/// times out on a busy machine.
const MIN_MEASURED_CPU_MS: f64 = 26.0;
const LONG_CPU_MS: f64 = 100.0;
const MAX_MEASURED_CPU_MS: f64 = 400.0;

/// Inputs with attack texts of which several sizes are measured.
const MAX_MEASURED_ATTACKS: usize = 4;

/// A part of the input, and how it grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum GrowthKey {
    Part {
        /// Position among the positional arguments, then the keyword arguments.
        part: usize,
        /// Position among the growth patterns of this part.
        pattern: usize,
    },
    /// Position among the inputs with attack texts.
    Attack(usize),
}

#[derive(Debug, Default)]
pub(super) struct ScalingStage {
    input: Option<CallInput>,
    /// Inputs with texts that regular expressions search for long.
    attacks: Vec<GrowingInput>,
    samples: BTreeMap<GrowthKey, BTreeMap<u64, f64>>,
    /// Patterns that are not followed further: too slow already, or refused.
    finished: BTreeSet<GrowthKey>,
    measured: BTreeSet<GrowthKey>,
    /// Outcome of the largest size per pattern.
    largest: BTreeMap<GrowthKey, (u64, Outcome)>,
}

/// Has the input a part that can grow?
pub(super) fn can_grow(input: &CallInput) -> bool {
    !growth_keys(input).is_empty()
}

impl ScalingStage {
    /// Measures these inputs as well.
    pub(super) fn set_attacks(&mut self, attacks: Vec<GrowingInput>) {
        self.attacks = attacks;
    }

    pub(super) fn plan_round(
        &mut self,
        round: usize,
        best: Option<&CallInput>,
    ) -> Vec<PlannedProbe> {
        if self.input.is_none() {
            self.input = best.cloned();
        }
        let keys = self.keys();
        match round {
            0 => self.first_probes(&keys, LARGE_SIZE),
            1 => self.measurement_probes(&keys, LARGE_SIZE),
            2 => {
                let rest: Vec<GrowthKey> =
                    keys.into_iter().filter(|key| !self.measured.contains(key)).collect();
                self.first_probes(&rest, LARGER_SIZE)
            }
            3 => self.measurement_probes(&keys, LARGER_SIZE),
            _ => {
                let may_need_measurement =
                    |key: &GrowthKey| may_be_steep(&self.growth_samples(*key));
                let steep = keys.into_iter().filter(may_need_measurement);
                let turns = steep.map(|key| {
                    self.take_turns(key, &self.decisive_sizes(key), LAST_MEASUREMENTS_PER_SIZE)
                });
                turns.flatten().collect()
            }
        }
    }

    fn keys(&self) -> Vec<GrowthKey> {
        let mut keys = self.input.as_ref().map(growth_keys).unwrap_or_default();
        keys.extend((0..self.attacks.len()).map(GrowthKey::Attack));
        keys.retain(|key| !self.finished.contains(key));
        keys
    }

    fn growth_probe(&self, key: GrowthKey, size: u64) -> Option<PlannedProbe> {
        let grown = match key {
            GrowthKey::Part { part, pattern } => {
                grow_part(self.input.as_ref()?, part, pattern, size)?
            }
            GrowthKey::Attack(index) => self.attacks.get(index)?.at_size(size),
        };
        Some(PlannedProbe::new(grown, ProbePurpose::Scale { key, size }, 1))
    }

    /// Probes of all sizes, in turns: a disturbance of the machine slows down one call of each
    /// size, and not all calls of one.
    fn take_turns(&self, key: GrowthKey, sizes: &[u64], turns: usize) -> Vec<PlannedProbe> {
        let turn = || sizes.iter().filter_map(|size| self.growth_probe(key, *size));
        (0..turns).flat_map(|_| turn()).collect()
    }

    fn first_probes(&self, keys: &[GrowthKey], size: u64) -> Vec<PlannedProbe> {
        keys.iter().filter_map(|key| self.growth_probe(*key, size)).collect()
    }

    /// Three sizes for each pattern that took long enough at this size.
    fn measurement_probes(&mut self, keys: &[GrowthKey], size: u64) -> Vec<PlannedProbe> {
        let mut probes = Vec::new();
        for key in &self.without_fast_attacks(keys, size) {
            let took = self.samples.get(key).and_then(|samples| samples.get(&size)).copied();
            let Some(took) = took.filter(|took| *took >= MIN_MEASURABLE_CPU_MS) else { continue };
            self.measured.insert(*key);
            // The time of a call that was stopped is no measurement.
            if self.was_stopped_at(*key, size)
                && let Some(samples) = self.samples.get_mut(key)
            {
                samples.remove(&size);
            }
            let first = match took {
                took if took > MAX_MEASURED_CPU_MS => size / 16,
                took if took > LONG_CPU_MS => size / 4,
                took if took > MIN_MEASURED_CPU_MS => size / 2,
                _ => size,
            };
            let sizes = [first, 2 * first, 4 * first];
            probes.extend(self.take_turns(*key, &sizes, MEASUREMENTS_PER_SIZE));
        }
        probes
    }

    /// The keys; of those with attack texts the slowest, at most [`MAX_MEASURED_ATTACKS`] in all
    /// rounds.
    fn without_fast_attacks(&self, keys: &[GrowthKey], size: u64) -> Vec<GrowthKey> {
        let is_attack = |key: &GrowthKey| matches!(key, GrowthKey::Attack(_));
        let (mut attacks, mut kept): (Vec<GrowthKey>, Vec<GrowthKey>) =
            keys.iter().copied().partition(is_attack);
        let cpu_ms = |key: &GrowthKey| {
            let samples = self.samples.get(key);
            samples.and_then(|samples| samples.get(&size)).copied().unwrap_or(0.0)
        };
        attacks.retain(|key| !self.measured.contains(key));
        attacks.sort_by(|one, other| cpu_ms(other).total_cmp(&cpu_ms(one)));
        let measured = self.measured.iter().filter(|key| is_attack(key)).count();
        kept.extend(attacks.into_iter().take(MAX_MEASURED_ATTACKS.saturating_sub(measured)));
        kept
    }

    fn was_stopped_at(&self, key: GrowthKey, size: u64) -> bool {
        let at_size = self.largest.get(&key).filter(|(largest, _)| *largest == size);
        at_size.is_some_and(|(_, outcome)| outcome.verdict == Verdict::TimedOut)
    }

    pub(super) fn record_outcome(&mut self, probe: &PlannedProbe, size: u64, outcome: &Outcome) {
        let ProbePurpose::Scale { key, .. } = probe.purpose else { return };
        let metrics = &outcome.runtime_metrics;
        let cpu_ms = metrics.user_cpu_ms + metrics.system_cpu_ms;
        match outcome.verdict {
            Verdict::Returned | Verdict::Refused | Verdict::Raised => {}
            // The time until the timeout counts as a measurement.
            Verdict::TimedOut => {
                if self.measured.contains(&key) {
                    self.finished.insert(key);
                }
            }
            _ => {
                self.finished.insert(key);
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

    /// Steep growth, after all sizes were measured, with a call that shows it.
    pub(super) fn findings(&self) -> Vec<(SectionWeakness, PlannedProbe, &Outcome)> {
        let steep = self.measured.iter().filter(|key| self.is_steep(**key));
        steep.filter_map(|key| self.finding(*key)).collect()
    }

    fn finding(&self, key: GrowthKey) -> Option<(SectionWeakness, PlannedProbe, &Outcome)> {
        let all = self.growth_samples(key);
        let power = steep_growth_exponent(&all)?;
        let (from, to) = (all.first()?, all.last()?);
        let evidence = format!(
            "time grows with the size to the power of {power:.1}: {:.0} ms for {}, {:.0} ms for {}",
            from.cpu_ms, from.size, to.cpu_ms, to.size
        );
        let weakness = SectionWeakness { kind: WeaknessKind::Slow, evidence, place: None };
        Some((weakness, self.growth_probe(key, to.size)?, &self.largest.get(&key)?.1))
    }

    fn is_steep(&self, key: GrowthKey) -> bool {
        steep_growth_exponent(&self.growth_samples(key)).is_some()
    }

    fn growth_samples(&self, key: GrowthKey) -> Vec<GrowthSample> {
        let samples = self.samples.get(&key).into_iter().flatten();
        samples.map(|(&size, &cpu_ms)| GrowthSample { size, cpu_ms }).collect()
    }

    /// The last three sizes decide.
    fn decisive_sizes(&self, key: GrowthKey) -> Vec<u64> {
        let samples = self.samples.get(&key);
        let sizes = samples.map(|samples| samples.keys().rev().take(3).copied().collect());
        sizes.unwrap_or_default()
    }
}

/// How a part of an input grows. Which pattern is slow depends on the code: equal items, different
/// items, a near match that fails at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GrowthPattern {
    Letters,
    Words,
    Digits,
    AlmostMatching,
    Brackets,
    Blanks,
    Repeated,
    Numbers,
    Names,
    Entries,
}

const TEXT_PATTERNS: [GrowthPattern; 7] = [
    GrowthPattern::Letters,
    GrowthPattern::Words,
    GrowthPattern::AlmostMatching,
    GrowthPattern::Digits,
    GrowthPattern::Brackets,
    GrowthPattern::Blanks,
    GrowthPattern::Repeated,
];
const NUMBER_PATTERNS: [GrowthPattern; 1] = [GrowthPattern::Numbers];
const NAME_PATTERNS: [GrowthPattern; 1] = [GrowthPattern::Names];
const ITEM_PATTERNS: [GrowthPattern; 1] = [GrowthPattern::Repeated];
const ENTRY_PATTERNS: [GrowthPattern; 1] = [GrowthPattern::Entries];

/// The parts of an input that can grow, once for each of their patterns.
fn growth_keys(input: &CallInput) -> Vec<GrowthKey> {
    let values = input.args.iter().chain(input.kwargs.iter().map(|(_, value)| value));
    let keys = values.enumerate().flat_map(|(part, value)| {
        (0..growth_patterns(value).len()).map(move |pattern| GrowthKey::Part { part, pattern })
    });
    keys.collect()
}

/// The input with one part grown to about `size` items.
fn grow_part(input: &CallInput, part: usize, pattern: usize, size: u64) -> Option<CallInput> {
    let mut input = input.clone();
    let positional_count = input.args.len();
    let value = match part.checked_sub(positional_count) {
        None => input.args.get_mut(part)?,
        Some(keyword) => &mut input.kwargs.get_mut(keyword)?.1,
    };
    let pattern = *growth_patterns(value).get(pattern)?;
    *value = grow_value(value, pattern, size)?;
    Some(input)
}

fn growth_patterns(value: &Value) -> &'static [GrowthPattern] {
    match value {
        Value::Str(_) => &TEXT_PATTERNS,
        Value::Bytes(_) => &ITEM_PATTERNS,
        Value::List(items) | Value::Tuple(items) => match items.first() {
            None | Some(Value::Int(_) | Value::Float(_)) => &NUMBER_PATTERNS,
            Some(Value::Str(_)) => &NAME_PATTERNS,
            Some(_) => &ITEM_PATTERNS,
        },
        Value::Dict(_) => &ENTRY_PATTERNS,
        _ => &[],
    }
}

fn grow_value(value: &Value, pattern: GrowthPattern, size: u64) -> Option<Value> {
    let repeated = |text: &str| repeat_value(Value::from(text), size / text.len().max(1) as u64);
    Some(match pattern {
        GrowthPattern::Letters => repeated("a"),
        GrowthPattern::Words => repeated("ab cd, "),
        GrowthPattern::Digits => repeated("7"),
        GrowthPattern::Brackets => repeated("("),
        GrowthPattern::AlmostMatching => append_mismatch(repeated("a"), "!"),
        GrowthPattern::Blanks => append_mismatch(repeated(" "), "x"),
        GrowthPattern::Repeated => repeat_value(value.clone(), (size / length(value)).max(1)),
        GrowthPattern::Numbers => with_class_of(value, distinct_numbers(size)?)?,
        GrowthPattern::Names => with_class_of(value, distinct_names(size)?)?,
        GrowthPattern::Entries => {
            let pairs =
                call_class("builtins:zip", vec![distinct_names(size)?, distinct_numbers(size)?])?;
            call_class("builtins:dict", vec![pairs])?
        }
    })
}

/// The text with an end that does not match.
fn append_mismatch(text: Value, end: &str) -> Value {
    Value::Method {
        on: Box::new(text),
        name: "__add__".to_owned(),
        args: vec![Value::from(end)],
        kwargs: Vec::new(),
    }
}

fn length(value: &Value) -> u64 {
    let length = match value {
        Value::Str(text) => text.as_bytes().len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) | Value::Tuple(items) => items.len(),
        _ => 1,
    };
    length.max(1) as u64
}

fn repeat_value(value: Value, times: u64) -> Value {
    Value::Repeat { value: Box::new(value), times }
}

fn distinct_numbers(size: u64) -> Option<Value> {
    call_class("builtins:range", vec![Value::Int(i64::try_from(size).ok()?)])
}

fn distinct_names(size: u64) -> Option<Value> {
    let text = Value::Name("builtins:str".parse().ok()?);
    call_class("builtins:map", vec![text, distinct_numbers(size)?])
}

fn with_class_of(like: &Value, items: Value) -> Option<Value> {
    let class = if matches!(like, Value::Tuple(_)) { "builtins:tuple" } else { "builtins:list" };
    call_class(class, vec![items])
}

fn call_class(class: &str, args: Vec<Value>) -> Option<Value> {
    let class: PyReference = class.parse().ok()?;
    Some(Value::New { class, args, kwargs: Vec::new() })
}

#[cfg(test)]
mod tests {
    use menace_model::{CallFixtures, CallStage, InputIntent, Value};

    use super::*;
    use crate::input::InputStrategy;

    /// Number of findings for a section that takes `time_ms` for a size and is stopped after a
    /// second.
    fn count_findings(time_ms: impl Fn(f64) -> f64) -> usize {
        let input = CallInput {
            receiver: None,
            args: vec![Value::List(vec![Value::Int(1)])],
            kwargs: Vec::new(),
            fixtures: CallFixtures::default(),
            intent: InputIntent::Valid,
            strategy: InputStrategy::Signature,
        };
        let mut scaling = ScalingStage::default();
        for round in 0..SCALING_ROUNDS {
            for probe in scaling.plan_round(round, Some(&input)) {
                let ProbePurpose::Scale { size, .. } = probe.purpose else { panic!("{probe:?}") };
                let took = time_ms(size as f64);
                let verdict = if took > 1000.0 { Verdict::TimedOut } else { Verdict::Returned };
                let mut outcome = Outcome::new(verdict, CallStage::Call);
                outcome.runtime_metrics.user_cpu_ms = took.min(1000.0);
                scaling.record_outcome(&probe, size, &outcome);
            }
        }
        scaling.findings().len()
    }

    /// CPU time of the largest input, on ever slower machines.
    const LARGE_SIZE_CPU_MS: [f64; 15] = [
        5.0, 15.0, 25.0, 27.0, 59.0, 70.0, 99.0, 101.0, 200.0, 390.0, 410.0, 530.0, 900.0, 1100.0,
        3000.0,
    ];

    fn items(size: f64) -> f64 {
        size / LARGE_SIZE as f64
    }

    #[test]
    fn quadratic_growth_is_found_on_any_machine_and_linear_growth_is_not() {
        for large_ms in LARGE_SIZE_CPU_MS {
            assert_eq!(count_findings(|size| large_ms * items(size).powi(2)), 1, "{large_ms} ms");
            assert_eq!(count_findings(|size| large_ms * items(size)), 0, "{large_ms} ms");
        }
    }

    #[test]
    fn a_disturbed_measurement_neither_hides_nor_fakes_quadratic_growth() {
        // A call that only times out because of the disturbance leaves too few measurements.
        let times_out_when_disturbed = |ms: f64| ms < 1000.0 && 1.5 * ms > 1000.0;
        for large_ms in LARGE_SIZE_CPU_MS.into_iter().filter(|ms| !times_out_when_disturbed(*ms)) {
            // Most sizes are measured five times. The first two measurements of one size take half
            // as long again.
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
                assert_eq!(count_findings(disturbed(2, at)), 1, "{large_ms} ms, {at} items");
                assert_eq!(count_findings(disturbed(1, at)), 0, "{large_ms} ms, {at} items");
            }
        }
    }
}
