//! How large a call is: the order in which shrinking goes down, and the size that growth is
//! measured with.

use menace_model::{
    Call, CallConditions, CallFixtures, CallLimits, CallStep, FaultSpec, FaultTrigger, MethodCall,
    Value,
};

use super::scalars;

/// Compared field by field. The order is well-founded: shrinking ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct CallComplexity {
    /// Faults, concurrency, network, upstream, files: the context of a call.
    context_cost: u64,
    /// Number of values.
    values: u64,
    /// Total length of texts and containers.
    length: u64,
    /// Total cost of the values; simpler values cost less.
    value_cost: u128,
}

/// One fault costs more than the largest burst.
const FAULT_COST: u64 = 1 << 34;

impl CallComplexity {
    pub fn from_call(call: &Call) -> Self {
        let mut size = Self::default();
        size.add_conditions(&call.conditions);
        size.add_fixtures(&call.fixtures);
        size.context_cost = size.context_cost.saturating_add(count_narrowed_limits(&call.limits));
        let arguments = call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value));
        call.receiver.iter().chain(arguments).for_each(|value| size.add_value(value));
        size
    }

    fn add_context_cost(&mut self, weight: u64) {
        self.context_cost = self.context_cost.saturating_add(weight);
    }

    fn add_length(&mut self, by: u64) {
        self.length = self.length.saturating_add(by);
    }

    fn add_value_cost(&mut self, by: u128) {
        self.value_cost = self.value_cost.saturating_add(by);
    }

    fn add_conditions(&mut self, conditions: &CallConditions) {
        let CallConditions { network, faults, burst, upstream } = conditions;
        let figures = [network.latency_ms, network.jitter_ms, network.loss, network.duplication];
        let bad = figures.iter().filter(|figure| **figure > 0.0).count();
        let bad = bad + usize::from(network.bits_per_second.is_some()) + network.partition.len();
        self.add_context_cost(bad as u64 * FAULT_COST);
        for FaultSpec { trigger: when, .. } in faults {
            match when {
                FaultTrigger::Nth(nth) => {
                    self.add_context_cost(FAULT_COST);
                    self.add_value_cost(u128::from(*nth));
                }
                FaultTrigger::Rate(_) => self.add_context_cost(FAULT_COST + 1),
            }
        }
        if let Some(burst) = burst {
            self.add_context_cost(u64::from(burst.threads) + u64::from(burst.tasks));
        }
        if let Some(upstream) = upstream {
            let more = u64::from(upstream.answer_all) + u64::from(upstream.failure.is_some());
            self.add_context_cost(1 + more + upstream.mocks.len() as u64);
        }
    }

    fn add_fixtures(&mut self, fixtures: &CallFixtures) {
        self.add_context_cost((fixtures.files.len() + fixtures.environment.len()) as u64);
        for file in &fixtures.files {
            self.add_length(file.content.len() as u64);
        }
        for (_, value) in &fixtures.environment {
            self.add_length(value.len() as u64);
        }
    }

    fn add_value(&mut self, value: &Value) {
        self.values = self.values.saturating_add(1);
        match value {
            Value::None => {}
            Value::Bool(value) => self.add_value_cost(1 + u128::from(*value)),
            Value::Int(number) => self.add_value_cost(scalars::int_cost(*number)),
            Value::BigInt(number) => {
                self.add_length(number.hex().len() as u64);
                self.add_value_cost(scalars::big_int_cost(number));
            }
            Value::Float(number) => self.add_value_cost(scalars::float_cost(*number)),
            Value::Complex { re, im } => {
                self.add_value_cost(scalars::float_cost(*re));
                self.add_value_cost(scalars::float_cost(*im));
            }
            Value::Str(text) => {
                let points = text.code_points();
                let (length, cost) = points.fold((0_u64, 1_u128), |(length, cost), point| {
                    (length + 1, cost + scalars::char_cost(point))
                });
                self.add_length(length);
                self.add_value_cost(cost);
            }
            Value::Bytes(bytes) | Value::ByteArray(bytes) => {
                self.add_length(bytes.len() as u64);
                let cost = bytes.iter().map(|byte| scalars::char_cost(u32::from(*byte)));
                self.add_value_cost(1 + cost.sum::<u128>());
            }
            Value::Repeat { times, .. } => {
                self.add_length(*times);
                self.add_value_cost(1);
            }
            Value::After { calls, .. } => {
                self.values = self.values.saturating_add(calls.len() as u64);
                let argument_count = |call: &MethodCall| call.args.len() + call.kwargs.len();
                self.add_value_cost(
                    1 + calls.iter().map(|call| argument_count(call) as u128).sum::<u128>(),
                );
            }
            _ => self.add_value_cost(1),
        }
        value.each_child(&mut |child| self.add_value(child));
    }
}

/// Number of limits below their defaults. The timeout does not count: hangs are measured by it.
fn count_narrowed_limits(limits: &CallLimits) -> u64 {
    let usual = CallLimits::default();
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

/// The largest repetition or range in the arguments. A slow call grows by it.
pub fn largest_size(call: &Call) -> Option<u64> {
    let mut largest = None;
    let arguments = call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value));
    arguments.for_each(|value| find_largest_size(value, &mut largest));
    largest
}

fn find_largest_size(value: &Value, largest: &mut Option<u64>) {
    if let Some(size) = value_size(value) {
        *largest = (*largest).max(Some(size));
    }
    value.each_child(&mut |child| find_largest_size(child, largest));
}

fn value_size(value: &Value) -> Option<u64> {
    match value {
        Value::Repeat { times, .. } => Some(*times),
        Value::New { class, args, .. } if class.to_string() == "builtins:range" => {
            match &args[..] {
                [Value::Int(to)] => u64::try_from(*to).ok(),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The call with its largest repetition or range changed to `size`.
pub fn with_size(call: &Call, size: u64) -> Option<Call> {
    let largest = largest_size(call)?;
    let mut call = call.clone();
    let CallStep { args, kwargs, .. } = &mut call.step;
    let kwargs = kwargs.iter_mut().map(|(_, value)| value);
    args.iter_mut().chain(kwargs).for_each(|value| resize(value, largest, size));
    Some(call)
}

fn resize(value: &mut Value, from: u64, to: u64) {
    let grows = value_size(value) == Some(from);
    match value {
        Value::Repeat { times, value } => {
            if grows {
                *times = to;
            }
            resize(value, from, to);
        }
        Value::New { args, .. } if grows => *args = vec![Value::Int(to.cast_signed())],
        Value::New { args, kwargs, .. } => {
            let arguments = args.iter_mut().chain(kwargs.iter_mut().map(|(_, value)| value));
            arguments.for_each(|value| resize(value, from, to));
        }
        Value::Method { on, args, .. } => {
            resize(on, from, to);
            for value in args {
                resize(value, from, to);
            }
        }
        _ => {}
    }
}
