//! What a value that somebody wrote down tells about the others that could stand in its place.

use ruff_python_ast::{Expr, ExprCall};

use menace_model::Value;

use crate::input::python;
use crate::input::shape::{Bounds, Field, Shape};

/// More keys are data, not a shape.
const MAX_FIELDS: usize = 12;

/// The shape that the value has.
pub(crate) fn shape(value: &Value) -> Shape {
    match value {
        Value::None => Shape::None,
        Value::Bool(_) => Shape::Bool,
        Value::Int(_) | Value::BigInt(_) => Shape::Int,
        Value::Float(_) => Shape::Float,
        Value::Str(_) => Shape::text(),
        Value::Bytes(_) => Shape::Bytes,
        Value::List(items) => Shape::list(of_all(items)),
        Value::Tuple(items) if items.is_empty() => Shape::TupleOf(Box::new(Shape::Any)),
        Value::Tuple(items) => Shape::Tuple(items.iter().map(shape).collect()),
        Value::Set(items) => Shape::Set(Box::new(of_all(items))),
        Value::FrozenSet(items) => Shape::FrozenSet(Box::new(of_all(items))),
        Value::Dict(pairs) => of_dict(pairs),
        Value::Repeat { value, .. } | Value::Shared { value, .. } | Value::After { value, .. } => {
            shape(value)
        }
        Value::Returns(value) => Shape::function(shape(value)),
        // Nothing is known but that this one will do.
        other => Shape::OneOf(vec![other.clone()]),
    }
}

fn of_all(items: &[Value]) -> Shape {
    Shape::union(items.iter().take(MAX_FIELDS).map(shape).collect())
}

fn of_dict(pairs: &[(Value, Value)]) -> Shape {
    let named: Option<Vec<Field>> = pairs
        .iter()
        .map(|(key, value)| match key {
            Value::Str(key) => {
                let name = key.as_str()?.to_owned();
                Some(Field { name, shape: shape(value), required: true })
            }
            _ => None,
        })
        .collect();
    match named {
        Some(fields) if !fields.is_empty() && fields.len() <= MAX_FIELDS => Shape::Record(fields),
        _ => {
            let keys = Shape::union(pairs.iter().take(4).map(|(key, _)| shape(key)).collect());
            let values = Shape::union(pairs.iter().take(4).map(|(_, it)| shape(it)).collect());
            Shape::Dict(Box::new(keys), Box::new(values))
        }
    }
}

/// Reads `Gt(0)`, `annotated_types.Interval(ge=1, lt=5)`, `Field(max_length=3)` into bounds.
pub(crate) fn bounds(source: &str, bounds: &mut Bounds) {
    let found = python::with_expression(source, |expr| {
        let Expr::Call(call) = expr else { return None };
        Some(named_numbers(call))
    });
    for (name, value) in found.unwrap_or_default() {
        let number = match &value {
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            _ => None,
        };
        #[expect(clippy::cast_sign_loss, reason = "negative ones were sorted out")]
        let length = number.filter(|number| *number >= 0.0).map(|number| number as u64);
        match &*name {
            "gt" => bounds.low = number.map(|number| number + 1.0).or(bounds.low),
            "ge" | "minimum" | "min" => bounds.low = number.or(bounds.low),
            "lt" => bounds.high = number.map(|number| number - 1.0).or(bounds.high),
            "le" | "maximum" | "max" => bounds.high = number.or(bounds.high),
            "min_length" | "minlen" => bounds.shortest = length.or(bounds.shortest),
            "max_length" | "maxlen" => bounds.longest = length.or(bounds.longest),
            "pattern" | "regex" => {
                if let Value::Str(text) = &value {
                    bounds.pattern = text.as_str().map(str::to_owned);
                }
            }
            _ => {}
        }
    }
}

/// Keyword arguments, and those that the name of the call stands for: `Gt(0)` is `gt=0`.
fn named_numbers(call: &ExprCall) -> Vec<(String, Value)> {
    let nothing = |_: &str| None;
    let Some(name) = python::dotted(&call.func) else { return Vec::new() };
    let name = name.rsplit('.').next().unwrap_or_default();
    let alone = match name {
        "Gt" => "gt",
        "Ge" => "ge",
        "Lt" => "lt",
        "Le" => "le",
        "MinLen" => "min_length",
        "MaxLen" => "max_length",
        _ => "",
    };
    let read = |expr: &Expr| python::of_expression(expr, &nothing);
    let first = call.arguments.args.first().and_then(read);
    let first = first.filter(|_| !alone.is_empty()).map(|value| (alone.to_owned(), value));
    let named = call
        .arguments
        .keywords
        .iter()
        .filter_map(|keyword| Some((keyword.arg.as_ref()?.to_string(), read(&keyword.value)?)));
    first.into_iter().chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_from_what_stands_in_annotated() {
        let mut found = Bounds::default();
        bounds("annotated_types.Gt(0)", &mut found);
        bounds("Field(le=10, max_length=5, pattern='[a-z]+')", &mut found);
        assert_eq!((found.low, found.high, found.longest), (Some(1.0), Some(10.0), Some(5)));
        assert_eq!(found.pattern.as_deref(), Some("[a-z]+"));
        let mut none = Bounds::default();
        bounds("'a comment'", &mut none);
        assert_eq!(none, Bounds::default());
    }

    #[test]
    fn a_value_tells_its_shape() {
        let value = Value::from_json(r#"{"a": [1, "x"], "b": null}"#).expect("JSON");
        let Shape::Record(fields) = shape(&value) else { panic!("a record") };
        assert_eq!(fields[0].shape, Shape::list(Shape::Union(vec![Shape::Int, Shape::text()])));
    }
}
