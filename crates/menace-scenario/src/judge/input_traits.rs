//! Traits of an input that explain an outcome better than a weakness of the section does.

use menace_model::{Call, Value};

/// Larger integers are no plausible count for a loop.
const MAX_COUNT: i64 = crate::input::MAX_PLAUSIBLE_COUNT;
const MAX_SMALL_INPUT_BYTES: u64 = 64 << 10;
const MAX_TINY_INPUT_BYTES: u64 = 1000;
/// Reading one of these never ends.
const ENDLESS_DEVICES: [&str; 4] = ["/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent observations")]
pub(super) struct InputTraits {
    pub has_text: bool,
    pub has_mapping: bool,
    pub has_surrogates: bool,
    /// NaN, infinity, or an integer beyond 64 bits: most arithmetic fails on these.
    pub has_extreme_number: bool,
    pub has_large_count: bool,
    pub has_cycle: bool,
    /// A path of a device that never ends.
    pub has_endless_device: bool,
    /// An object that is built by a call.
    pub has_object: bool,
    /// The result of a method of the repository, which may be `None`.
    pub has_returned_value: bool,
    /// A stub object or callable, which may not be what the section expects.
    pub has_invented_object: bool,
    /// A callable that raises: its exceptions are not the section's.
    pub has_raising_callable: bool,
    total_size: u64,
    largest_size: u64,
}

/// `Decimal('NaN')`, `Decimal('sNaN')`, `Decimal('Infinity')`.
fn is_non_finite_decimal(value: &Value) -> bool {
    let Value::New { class, args, .. } = value else { return false };
    let text = match args.first() {
        Some(Value::Str(text)) => text.as_str().unwrap_or_default().to_ascii_lowercase(),
        _ => return false,
    };
    class.module() == "decimal" && (text.contains("nan") || text.contains("inf"))
}

impl InputTraits {
    pub(super) fn from_call(call: &Call) -> Self {
        let mut traits = Self::default();
        for value in call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value)) {
            traits.total_size = traits.total_size.saturating_add(traits.inspect_value(value));
        }
        if let Some(receiver) = &call.receiver {
            let mut receiver_traits = Self::default();
            receiver_traits.inspect_value(receiver);
            traits.has_returned_value |= receiver_traits.has_returned_value;
            // The constructor arguments explain as much as the arguments of the method.
            traits.has_surrogates |= receiver_traits.has_surrogates;
            traits.has_extreme_number |= receiver_traits.has_extreme_number;
            traits.has_raising_callable |= receiver_traits.has_raising_callable;
            traits.has_endless_device |= receiver_traits.has_endless_device;
        }
        traits
    }

    /// Whether it is so small that thousands of items cannot come from it.
    pub(super) fn is_tiny(&self) -> bool {
        self.total_size <= MAX_TINY_INPUT_BYTES
            && self.largest_size <= MAX_TINY_INPUT_BYTES
            && !self.has_large_count
    }

    pub(super) fn is_small(&self) -> bool {
        self.total_size <= MAX_SMALL_INPUT_BYTES && !self.has_large_count
    }

    /// Records the traits of a value; returns its approximate size in bytes.
    fn inspect_value(&mut self, value: &Value) -> u64 {
        match value {
            Value::Str(text) => {
                self.has_text = true;
                self.has_surrogates |= text.as_str().is_none();
                let readable = text.as_str().unwrap_or_default();
                self.has_endless_device |=
                    ENDLESS_DEVICES.iter().any(|device| readable.contains(device));
                text.as_bytes().len() as u64
            }
            Value::Bytes(bytes) | Value::ByteArray(bytes) => {
                self.has_text = true;
                bytes.len() as u64
            }
            Value::Int(number) => {
                self.has_large_count |= number.unsigned_abs() > MAX_COUNT.unsigned_abs();
                self.largest_size = self.largest_size.max(number.unsigned_abs());
                8
            }
            Value::BigInt(_) => {
                self.has_extreme_number = true;
                self.has_large_count = true;
                8
            }
            Value::Float(number) => {
                self.has_extreme_number |= !number.is_finite();
                self.has_large_count |= number.abs() > MAX_COUNT as f64;
                8
            }
            Value::Complex { re, im } => {
                self.has_extreme_number |= !(re.is_finite() && im.is_finite());
                16
            }
            Value::SharedRef(_) => {
                self.has_cycle = true;
                8
            }
            Value::Repeat { value, times } => self.inspect_value(value).saturating_mul(*times),
            _ => {
                self.has_mapping |= matches!(value, Value::Dict(_));
                self.has_raising_callable |= matches!(value, Value::Raises(_));
                self.has_invented_object |= matches!(
                    value,
                    Value::Stub { .. }
                        | Value::Returns(_)
                        | Value::Raises(_)
                        | Value::Yields(_)
                        | Value::Argument(_)
                        | Value::Async(_)
                );
                self.has_object |= matches!(value, Value::New { .. } | Value::Method { .. });
                self.has_returned_value |= matches!(value, Value::Method { .. });
                self.has_extreme_number |= is_non_finite_decimal(value);
                let mut size: u64 = 8;
                value
                    .each_child(&mut |child| size = size.saturating_add(self.inspect_value(child)));
                size
            }
        }
    }
}
