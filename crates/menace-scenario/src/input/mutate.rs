//! Mutations of values, with literals, numbers and patterns of the source.

use menace_model::{PyBigInt, PyString, SeededRng, SourceLiterals, Value};

use super::make::pattern;
use super::python;

/// Longer text is cut, so that repeated mutation does not grow it without end.
const MAX_MUTATED_TEXT_CHARS: usize = 4096;
const MAX_MUTATED_ITEMS: usize = 64;
const MAX_MUTATION_DEPTH: usize = 12;

/// The value with one mutation.
pub fn mutate_value(value: &Value, literals: &SourceLiterals, random: &mut SeededRng) -> Value {
    ValueMutator { literals, random }.mutate_value(value, 0)
}

struct ValueMutator<'a> {
    literals: &'a SourceLiterals,
    random: &'a mut SeededRng,
}

impl ValueMutator<'_> {
    fn mutate_value(&mut self, value: &Value, depth: usize) -> Value {
        if depth > MAX_MUTATION_DEPTH {
            return value.clone();
        }
        match value {
            Value::None => self.random_value(),
            Value::Bool(yes) => Value::Bool(!yes),
            Value::Int(number) => self.mutate_int(*number),
            Value::BigInt(number) => self.mutate_big_int(number),
            Value::Float(number) => self.mutate_float(*number),
            Value::Complex { re, im } => Value::Complex { re: *im, im: -*re },
            Value::Str(text) => self.mutate_text(text),
            Value::Bytes(bytes) => Value::Bytes(self.mutate_bytes(bytes)),
            Value::ByteArray(bytes) => Value::ByteArray(self.mutate_bytes(bytes)),
            Value::List(items) => Value::List(self.mutate_items(items, depth)),
            Value::Tuple(items) => Value::Tuple(self.mutate_one_item(items, depth)),
            Value::Set(items) => {
                let items = self.mutate_items(items, depth);
                Value::Set(items.into_iter().map(super::make::to_hashable).collect())
            }
            Value::FrozenSet(items) => {
                let items = self.mutate_items(items, depth);
                Value::FrozenSet(items.into_iter().map(super::make::to_hashable).collect())
            }
            Value::Dict(pairs) => Value::Dict(self.mutate_pairs(pairs, depth)),
            Value::New { class, args, kwargs } => {
                let (args, kwargs) = self.mutate_arguments(args, kwargs, depth);
                Value::New { class: class.clone(), args, kwargs }
            }
            Value::Method { on, name, args, kwargs } => {
                let on = Box::new(self.mutate_value(on, depth + 1));
                Value::Method { on, name: name.clone(), args: args.clone(), kwargs: kwargs.clone() }
            }
            Value::Repeat { value, times } => {
                let times = match self.random.next_below(3) {
                    0 => times / 2,
                    1 => times.saturating_mul(2).min(1 << 20),
                    _ => times.saturating_add(1),
                };
                Value::Repeat { value: value.clone(), times }
            }
            Value::Returns(inner) => Value::Returns(Box::new(self.mutate_value(inner, depth + 1))),
            Value::Yields(items) => Value::Yields(self.mutate_items(items, depth)),
            Value::Async(inner) => Value::Async(Box::new(self.mutate_value(inner, depth + 1))),
            Value::Stub { bases, members, args, kwargs } => {
                let mut members = members.clone();
                let index = self.random.next_below(members.len() as u64) as usize;
                if let Some((_, member)) = members.get_mut(index) {
                    *member = self.mutate_value(&member.clone(), depth + 1);
                }
                let (bases, args, kwargs) = (bases.clone(), args.clone(), kwargs.clone());
                Value::Stub { bases, members, args, kwargs }
            }
            Value::After { value, calls } => {
                let mut calls = calls.clone();
                match self.random.next_below(3) {
                    0 => {
                        calls.pop();
                    }
                    1 => {
                        let again = self.random.pick(&calls).cloned();
                        calls.extend(again);
                    }
                    _ => {
                        let value = Box::new(self.mutate_value(value, depth + 1));
                        return Value::After { value, calls };
                    }
                }
                Value::After { value: value.clone(), calls }
            }
            // Labels have to stay in order, names lead where they lead.
            Value::Shared { .. }
            | Value::SharedRef(_)
            | Value::Name(_)
            | Value::Raises(_)
            | Value::Argument(_)
            | Value::Ellipsis => value.clone(),
        }
    }

    fn random_value(&mut self) -> Value {
        match self.random.next_below(4) {
            0 => Value::Int(0),
            1 => Value::from(""),
            2 => self.pick_literal_text().map_or(Value::Bool(false), Value::from),
            _ => Value::List(Vec::new()),
        }
    }

    fn pick_literal_text(&mut self) -> Option<String> {
        if self.random.chance(0.3)
            && let Some(pattern) = self.random.pick(&self.literals.patterns).cloned()
            && let Some(text) = pattern::generate_match(&pattern, self.random)
        {
            return Some(text);
        }
        self.random.pick(&self.literals.strings).cloned()
    }

    fn pick_literal_number(&mut self) -> Option<Value> {
        let source = self.random.pick(&self.literals.numbers)?;
        python::parse_value(source, &|_| None)
    }

    fn mutate_int(&mut self, number: i64) -> Value {
        if self.random.chance(0.4)
            && let Some(literal) = self.pick_literal_number()
        {
            // At it, and just beside it.
            return match literal {
                Value::Int(literal) => {
                    Value::Int(literal.saturating_add(self.random.next_between(-1, 1)))
                }
                other => other,
            };
        }
        Value::Int(match self.random.next_below(7) {
            0 => number.saturating_add(1),
            1 => number.saturating_sub(1),
            2 => number.wrapping_neg(),
            3 => number.saturating_mul(2),
            4 => number / 2,
            5 => number ^ (1 << self.random.next_below(63)),
            _ => self.random.next_between(-1000, 1000),
        })
    }

    fn mutate_big_int(&mut self, number: &PyBigInt) -> Value {
        let digits = number.hex();
        let half = &digits[..digits.len().div_ceil(2)];
        let negative = number.is_negative() ^ self.random.chance(0.5);
        Value::integer_from_hex(negative, half).unwrap_or(Value::Int(0))
    }

    fn mutate_float(&mut self, number: f64) -> Value {
        if self.random.chance(0.4)
            && let Some(literal) = self.pick_literal_number()
        {
            return literal;
        }
        Value::Float(match self.random.next_below(8) {
            0 => number + 1.0,
            1 => -number,
            2 => number * 2.0,
            3 => number / 2.0,
            4 => number.trunc(),
            5 => f64::from_bits(number.to_bits() ^ (1 << self.random.next_below(63))),
            6 => number * 1e6,
            _ => 0.0,
        })
    }

    fn mutate_text(&mut self, text: &PyString) -> Value {
        let mut points: Vec<u32> = text.code_points().collect();
        let is_digit = |point: &u32| (0x30..0x3a).contains(point);
        if let Some(start) = points.iter().position(is_digit)
            && self.random.chance(0.15)
        {
            // A number in a text may be a count.
            let length = points[start..].iter().take_while(|point| is_digit(point)).count();
            points.splice(start..start + length, "99999999".chars().map(u32::from));
        } else if let Some(known) = self.literal_prefix(text)
            && self.random.chance(0.5)
            && let Some(literal) = self.pick_literal_text()
        {
            // Code that compares character by character or word by word needs another literal after
            // the matching part.
            points = known.chars().chain(literal.chars()).map(u32::from).collect();
        } else if self.random.chance(0.35)
            && let Some(literal) = self.pick_literal_text()
        {
            let literal: Vec<u32> = literal.chars().map(u32::from).collect();
            match self.random.next_below(3) {
                0 => points = literal,
                1 => {
                    let at = self.random.next_below(points.len() as u64 + 1) as usize;
                    points.splice(at..at, literal);
                }
                _ => points.extend(literal),
            }
        } else {
            self.edit_sequence(&mut points, |random| match random.next_below(8) {
                0 => 0x20,
                1 => 0x30 + random.next_below(10) as u32,
                2 => {
                    [0x22, 0x27, 0x5c, 0x2f, 0x3c, 0x25, 0x7b, 0x2c][random.next_below(8) as usize]
                }
                3 => [0x0, 0xa, 0xd, 0x9, 0xfeff, 0x202e, 0xd800, 0x1f600]
                    [random.next_below(8) as usize],
                _ => 0x61 + random.next_below(26) as u32,
            });
        }
        points.truncate(MAX_MUTATED_TEXT_CHARS);
        PyString::from_code_points(points).map_or(Value::from(""), Value::Str)
    }

    /// The longest beginning of the text that consists of literals, if any.
    fn literal_prefix<'t>(&self, text: &'t PyString) -> Option<&'t str> {
        let text = text.as_str()?;
        let mut rest = text;
        let literals = self.literals.strings.iter().filter(|literal| !literal.is_empty());
        while let Some(after) =
            literals.clone().find_map(|literal| rest.strip_prefix(literal.as_str()))
        {
            rest = after;
        }
        let known = &text[..text.len() - rest.len()];
        (!known.is_empty()).then_some(known)
    }

    fn mutate_bytes(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        if self.random.chance(0.3)
            && let Some(literal) = self.random.pick(&self.literals.bytes)
        {
            let at = self.random.next_below(bytes.len() as u64 + 1) as usize;
            bytes.splice(at..at, literal.iter().copied());
        } else {
            self.edit_sequence(&mut bytes, |random| random.next_below(256) as u8);
        }
        bytes.truncate(MAX_MUTATED_TEXT_CHARS);
        bytes
    }

    /// One edit of a sequence: insert, remove, replace, double, truncate, swap.
    fn edit_sequence<T: Clone>(
        &mut self,
        items: &mut Vec<T>,
        mut new: impl FnMut(&mut SeededRng) -> T,
    ) {
        let at = self.random.next_below(items.len() as u64) as usize;
        if items.is_empty() {
            items.push(new(self.random));
            return;
        }
        match self.random.next_below(7) {
            0 => items.insert(at, new(self.random)),
            1 => items.push(new(self.random)),
            2 => {
                items.remove(at);
            }
            3 => items[at] = new(self.random),
            4 => {
                let part = items[at..].to_vec();
                items.extend(part);
            }
            5 => items.truncate(at),
            _ => items.swap(0, at),
        }
    }

    fn mutate_items(&mut self, items: &[Value], depth: usize) -> Vec<Value> {
        let mut items = items.to_vec();
        if !items.is_empty() && self.random.chance(0.5) {
            return self.mutate_one_item(&items, depth);
        }
        let example = items.first().cloned().unwrap_or(Value::Int(0));
        self.edit_sequence(&mut items, |_| example.clone());
        items.truncate(MAX_MUTATED_ITEMS);
        items
    }

    /// Mutates one item; the number of items stays.
    fn mutate_one_item(&mut self, items: &[Value], depth: usize) -> Vec<Value> {
        let mut items = items.to_vec();
        let index = self.random.next_below(items.len() as u64) as usize;
        if let Some(item) = items.get_mut(index) {
            *item = self.mutate_value(&item.clone(), depth + 1);
        }
        items
    }

    fn mutate_pairs(&mut self, pairs: &[(Value, Value)], depth: usize) -> Vec<(Value, Value)> {
        let mut pairs = pairs.to_vec();
        let index = self.random.next_below(pairs.len() as u64) as usize;
        match (pairs.is_empty(), self.random.next_below(4)) {
            (false, 0) => {
                pairs.remove(index);
            }
            (false, 1 | 2) => {
                pairs[index].1 = self.mutate_value(&pairs[index].1.clone(), depth + 1);
            }
            _ => {
                let key = self.pick_literal_text().unwrap_or_else(|| "key".to_owned());
                let value = pairs.first().map_or(Value::Int(1), |(_, value)| value.clone());
                pairs.retain(|(known, _)| *known != Value::from(key.as_str()));
                pairs.push((Value::from(key), value));
            }
        }
        pairs
    }

    pub(crate) fn mutate_arguments(
        &mut self,
        args: &[Value],
        kwargs: &[(String, Value)],
        depth: usize,
    ) -> (Vec<Value>, Vec<(String, Value)>) {
        let (mut args, mut kwargs) = (args.to_vec(), kwargs.to_vec());
        let index = self.random.next_below((args.len() + kwargs.len()) as u64) as usize;
        if let Some(arg) = args.get_mut(index) {
            *arg = self.mutate_value(&arg.clone(), depth + 1);
        } else if let Some((_, value)) = kwargs.get_mut(index.saturating_sub(args.len())) {
            *value = self.mutate_value(&value.clone(), depth + 1);
        }
        (args, kwargs)
    }
}

/// The arguments with one of them mutated.
pub(crate) fn mutate_call_arguments(
    args: &[Value],
    kwargs: &[(String, Value)],
    literals: &SourceLiterals,
    random: &mut SeededRng,
) -> (Vec<Value>, Vec<(String, Value)>) {
    ValueMutator { literals, random }.mutate_arguments(args, kwargs, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_model::Seed;

    #[test]
    fn literals_of_the_source_are_used() {
        let literals = SourceLiterals {
            strings: vec!["magic".to_owned()],
            bytes: vec![b"MZ".to_vec()],
            numbers: vec!["1337".to_owned()],
            patterns: vec!["x{3}".to_owned()],
            ..SourceLiterals::default()
        };
        let mut random = Seed(1).rng();
        let mut seen = |start: &Value| -> Vec<Value> {
            (0..400).map(|_| mutate_value(start, &literals, &mut random)).collect()
        };
        let texts = seen(&Value::from("abc"));
        assert!(texts.contains(&Value::from("magic")));
        assert!(texts.contains(&Value::from("xxx")));
        let numbers = seen(&Value::Int(5));
        for wanted in [1336, 1337, 1338, 4, 6, -5] {
            assert!(numbers.contains(&Value::Int(wanted)), "{wanted}");
        }
        let bytes = seen(&Value::Bytes(Vec::new()));
        assert!(bytes.contains(&Value::Bytes(b"MZ".to_vec())));
    }

    #[test]
    fn nested_values_are_mutated() {
        let literals = SourceLiterals::default();
        let start = Value::from_json(
            r#"{"a": [1, {"$shared": [{"$again": 1}], "label": 1}], "b": {"$again": 1},
                "c": {"$call": "datetime:date", "args": [2024, 1, 1]},
                "d": {"$after": {"$call": "io:StringIO"}, "calls": [{"method": "close"}]},
                "e": {"$stub": {"x": 1}}, "f": {"$tuple": [1, 2]}}"#,
        )
        .expect("JSON");
        let mut random = Seed(7).rng();
        let mut changed = 0;
        for _ in 0..300 {
            let new = mutate_value(&start, &literals, &mut random);
            changed += usize::from(new != start);
            assert!(serde_json::to_string(&new).is_ok());
        }
        assert!(changed > 200, "{changed}");
    }

    #[test]
    fn repeated_mutation_is_bounded() {
        let literals = SourceLiterals::default();
        let mut random = Seed(9).rng();
        let mut current = Value::List(vec![Value::from("ab")]);
        for _ in 0..3000 {
            current = mutate_value(&current, &literals, &mut random);
        }
        assert!(serde_json::to_string(&current).expect("JSON").len() < 400_000);
    }
}
