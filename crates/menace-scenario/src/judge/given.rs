//! What the input of a call holds that explains more than the section does.

use menace_model::{Call, Value};

/// Integers up to here are a count that a loop may go through.
const COUNTABLE: i64 = crate::input::LARGEST_COUNT;
/// More than this is no small input.
const SMALL: u64 = 64 << 10;
const TINY: u64 = 1000;
/// Reading one of these has no end, for anybody.
const ENDLESS: [&str; 4] = ["/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent observations")]
pub(super) struct Given {
    pub text: bool,
    pub mapping: bool,
    pub surrogates: bool,
    /// NaN, infinity, or an integer beyond 64 bits: nearly all arithmetic fails on these.
    pub extreme_number: bool,
    pub large_count: bool,
    pub cycle: bool,
    /// The name of a device that never runs dry.
    pub endless: bool,
    /// Something that is built by calling, whose behaviour is its own.
    pub object: bool,
    /// What a method of the repository returned: it may be nothing.
    pub returned: bool,
    /// A callable or an object that was made up: nobody knows whether it is what is wanted.
    pub made_up: bool,
    /// A callable that raises: whatever comes of it is not the section's own.
    pub raises: bool,
    size: u64,
    largest: u64,
}

/// `Decimal('NaN')`, `Decimal('sNaN')`, `Decimal('Infinity')`.
fn is_no_number(value: &Value) -> bool {
    let Value::New { class, args, .. } = value else { return false };
    let text = match args.first() {
        Some(Value::Str(text)) => text.as_str().unwrap_or_default().to_ascii_lowercase(),
        _ => return false,
    };
    class.module() == "decimal" && (text.contains("nan") || text.contains("inf"))
}

impl Given {
    pub(super) fn of(call: &Call) -> Self {
        let mut given = Self::default();
        for value in call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value)) {
            given.size = given.size.saturating_add(given.look_at(value));
        }
        if let Some(receiver) = &call.receiver {
            let mut on = Self::default();
            on.look_at(receiver);
            given.returned |= on.returned;
            // What the instance was made of explains as much as what the method is given.
            given.surrogates |= on.surrogates;
            given.extreme_number |= on.extreme_number;
            given.raises |= on.raises;
            given.endless |= on.endless;
        }
        given
    }

    /// So little that nobody makes thousands of items of it.
    pub(super) fn is_tiny(&self) -> bool {
        self.size <= TINY && self.largest <= TINY && !self.large_count
    }

    pub(super) fn is_small(&self) -> bool {
        self.size <= SMALL && !self.large_count
    }

    /// Notes what is in there; returns how much it is, about in bytes.
    fn look_at(&mut self, value: &Value) -> u64 {
        match value {
            Value::Str(text) => {
                self.text = true;
                self.surrogates |= text.as_str().is_none();
                let readable = text.as_str().unwrap_or_default();
                self.endless |= ENDLESS.iter().any(|device| readable.contains(device));
                text.as_bytes().len() as u64
            }
            Value::Bytes(bytes) | Value::ByteArray(bytes) => {
                self.text = true;
                bytes.len() as u64
            }
            Value::Int(number) => {
                self.large_count |= number.unsigned_abs() > COUNTABLE.unsigned_abs();
                self.largest = self.largest.max(number.unsigned_abs());
                8
            }
            Value::BigInt(_) => {
                self.extreme_number = true;
                self.large_count = true;
                8
            }
            Value::Float(number) => {
                self.extreme_number |= !number.is_finite();
                self.large_count |= number.abs() > COUNTABLE as f64;
                8
            }
            Value::Complex { re, im } => {
                self.extreme_number |= !(re.is_finite() && im.is_finite());
                16
            }
            Value::Again(_) => {
                self.cycle = true;
                8
            }
            Value::Repeat { value, times } => self.look_at(value).saturating_mul(*times),
            _ => {
                self.mapping |= matches!(value, Value::Dict(_));
                self.raises |= matches!(value, Value::Raises(_));
                self.made_up |= matches!(
                    value,
                    Value::Stub { .. }
                        | Value::Returns(_)
                        | Value::Raises(_)
                        | Value::Yields(_)
                        | Value::Argument(_)
                        | Value::Async(_)
                );
                self.object |= matches!(value, Value::New { .. } | Value::Method { .. });
                self.returned |= matches!(value, Value::Method { .. });
                self.extreme_number |= is_no_number(value);
                let mut size: u64 = 8;
                value.each_child(&mut |child| size = size.saturating_add(self.look_at(child)));
                size
            }
        }
    }
}
