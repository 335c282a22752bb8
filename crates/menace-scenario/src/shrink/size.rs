//! How large a call is: the order in which shrinking goes down.

use menace_model::{Call, Conditions, Fault, Fixtures, Limits, MethodCall, Value, When};

use super::{numbers, text};

/// Compared from the first figure to the last; nothing can get smaller in it for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size {
    /// Faults, company, a bad network, answers, files: what has to be arranged around a call.
    trouble: u64,
    /// How many values there are.
    values: u64,
    /// How long they are.
    length: u64,
    /// How odd they are.
    oddness: u128,
}

/// One fault outweighs the largest company.
const FAULT: u64 = 1 << 34;

impl Size {
    pub fn of(call: &Call) -> Self {
        let mut size = Self::default();
        size.add_conditions(&call.conditions);
        size.add_fixtures(&call.fixtures);
        size.trouble = size.trouble.saturating_add(narrower(&call.limits));
        let given = call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value));
        call.receiver.iter().chain(given).for_each(|value| size.add(value));
        size
    }

    fn trouble(&mut self, weight: u64) {
        self.trouble = self.trouble.saturating_add(weight);
    }

    fn longer(&mut self, by: u64) {
        self.length = self.length.saturating_add(by);
    }

    fn odder(&mut self, by: u128) {
        self.oddness = self.oddness.saturating_add(by);
    }

    fn add_conditions(&mut self, conditions: &Conditions) {
        let Conditions { network, faults, burst, upstream } = conditions;
        let figures = [network.latency_ms, network.jitter_ms, network.loss, network.duplication];
        let bad = figures.iter().filter(|figure| **figure > 0.0).count();
        let bad = bad + usize::from(network.bits_per_second.is_some()) + network.partition.len();
        self.trouble(bad as u64 * FAULT);
        for Fault { when, .. } in faults {
            match when {
                When::Nth(nth) => {
                    self.trouble(FAULT);
                    self.odder(u128::from(*nth));
                }
                When::Rate(_) => self.trouble(FAULT + 1),
            }
        }
        if let Some(burst) = burst {
            self.trouble(u64::from(burst.threads) + u64::from(burst.tasks));
        }
        if let Some(upstream) = upstream {
            let more = u64::from(upstream.answer_all) + u64::from(upstream.failure.is_some());
            self.trouble(1 + more + upstream.mocks.len() as u64);
        }
    }

    fn add_fixtures(&mut self, fixtures: &Fixtures) {
        self.trouble((fixtures.files.len() + fixtures.environment.len()) as u64);
        for file in &fixtures.files {
            self.longer(file.content.len() as u64);
        }
        for (_, value) in &fixtures.environment {
            self.longer(value.len() as u64);
        }
    }

    fn add(&mut self, value: &Value) {
        self.values = self.values.saturating_add(1);
        match value {
            Value::None => {}
            Value::Bool(value) => self.odder(1 + u128::from(*value)),
            Value::Int(number) => self.odder(numbers::oddness(*number)),
            Value::BigInt(number) => {
                self.longer(number.hex().len() as u64);
                self.odder(numbers::big_oddness(number));
            }
            Value::Float(number) => self.odder(numbers::float_oddness(*number)),
            Value::Complex { re, im } => {
                self.odder(numbers::float_oddness(*re));
                self.odder(numbers::float_oddness(*im));
            }
            Value::Str(text) => {
                let points = text.code_points();
                let (length, oddness) = points.fold((0_u64, 1_u128), |(length, oddness), point| {
                    (length + 1, oddness + text::oddness(point))
                });
                self.longer(length);
                self.odder(oddness);
            }
            Value::Bytes(bytes) | Value::ByteArray(bytes) => {
                self.longer(bytes.len() as u64);
                let oddness = bytes.iter().map(|byte| text::oddness(u32::from(*byte)));
                self.odder(1 + oddness.sum::<u128>());
            }
            Value::Repeat { times, .. } => {
                self.longer(*times);
                self.odder(1);
            }
            Value::After { calls, .. } => {
                self.values = self.values.saturating_add(calls.len() as u64);
                let given = |call: &MethodCall| call.args.len() + call.kwargs.len();
                self.odder(1 + calls.iter().map(|call| given(call) as u128).sum::<u128>());
            }
            _ => self.odder(1),
        }
        value.each_child(&mut |child| self.add(child));
    }
}

/// How many limits leave less than usual. Time does not count: it is what hanging is measured by.
fn narrower(limits: &Limits) -> u64 {
    let usual = Limits::default();
    let less = |now: Option<u64>, usual: Option<u64>| {
        now.is_some_and(|now| usual.is_none_or(|usual| now < usual))
    };
    [
        less(limits.cpu_ms, usual.cpu_ms),
        limits.cpu_share.is_some(),
        less(limits.memory_bytes, usual.memory_bytes),
        less(limits.disk_bytes, usual.disk_bytes),
        limits.processes < usual.processes,
        limits.open_files < usual.open_files,
        limits.output_bytes < usual.output_bytes,
    ]
    .into_iter()
    .map(u64::from)
    .sum()
}
