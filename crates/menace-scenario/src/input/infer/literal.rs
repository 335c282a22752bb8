//! The shape of a literal in the source, for other values in its place.

use ruff_python_ast::{Expr, ExprCall};

use menace_model::Value;

use crate::input::python;
use crate::input::shape::{RecordField, ValueBounds, ValueShape};

/// A dict with more keys is data, not a record.
const MAX_RECORD_FIELDS: usize = 12;

pub(crate) fn literal_shape(value: &Value) -> ValueShape {
    match value {
        Value::None => ValueShape::None,
        Value::Bool(_) => ValueShape::Bool,
        Value::Int(_) | Value::BigInt(_) => ValueShape::Int,
        Value::Float(_) => ValueShape::Float,
        Value::Str(_) => ValueShape::any_text(),
        Value::Bytes(_) => ValueShape::Bytes,
        Value::List(items) => ValueShape::list_of(common_shape(items)),
        Value::Tuple(items) if items.is_empty() => ValueShape::TupleOf(Box::new(ValueShape::Any)),
        Value::Tuple(items) => ValueShape::Tuple(items.iter().map(literal_shape).collect()),
        Value::Set(items) => ValueShape::Set(Box::new(common_shape(items))),
        Value::FrozenSet(items) => ValueShape::FrozenSet(Box::new(common_shape(items))),
        Value::Dict(pairs) => dict_shape(pairs),
        Value::Repeat { value, .. } | Value::Shared { value, .. } | Value::After { value, .. } => {
            literal_shape(value)
        }
        Value::Returns(value) => ValueShape::function_returning(literal_shape(value)),
        // Only this value is known to fit.
        other => ValueShape::OneOf(vec![other.clone()]),
    }
}

fn common_shape(items: &[Value]) -> ValueShape {
    ValueShape::union_of(items.iter().take(MAX_RECORD_FIELDS).map(literal_shape).collect())
}

fn dict_shape(pairs: &[(Value, Value)]) -> ValueShape {
    let named: Option<Vec<RecordField>> = pairs
        .iter()
        .map(|(key, value)| match key {
            Value::Str(key) => {
                let name = key.as_str()?.to_owned();
                Some(RecordField { name, shape: literal_shape(value), required: true })
            }
            _ => None,
        })
        .collect();
    match named {
        Some(fields) if !fields.is_empty() && fields.len() <= MAX_RECORD_FIELDS => {
            ValueShape::Record(fields)
        }
        _ => {
            let keys = ValueShape::union_of(
                pairs.iter().take(4).map(|(key, _)| literal_shape(key)).collect(),
            );
            let values = ValueShape::union_of(
                pairs.iter().take(4).map(|(_, it)| literal_shape(it)).collect(),
            );
            ValueShape::Dict(Box::new(keys), Box::new(values))
        }
    }
}

/// Reads `Gt(0)`, `annotated_types.Interval(ge=1, lt=5)`, `Field(max_length=3)` into bounds.
pub(crate) fn read_bounds(source: &str, bounds: &mut ValueBounds) {
    let found = python::parse_expression_with(source, |expr| {
        let Expr::Call(call) = expr else { return None };
        Some(bound_arguments(call))
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
            "min_length" | "minlen" => bounds.min_length = length.or(bounds.min_length),
            "max_length" | "maxlen" => bounds.max_length = length.or(bounds.max_length),
            "pattern" | "regex" => {
                if let Value::Str(text) = &value {
                    bounds.pattern = text.as_str().map(str::to_owned);
                }
            }
            _ => {}
        }
    }
}

/// Keyword arguments, and the one that the name of the call implies: `Gt(0)` is `gt=0`.
fn bound_arguments(call: &ExprCall) -> Vec<(String, Value)> {
    let nothing = |_: &str| None;
    let Some(name) = python::dotted_name(&call.func) else { return Vec::new() };
    let name = name.rsplit('.').next().unwrap_or_default();
    let positional_bound = match name {
        "Gt" => "gt",
        "Ge" => "ge",
        "Lt" => "lt",
        "Le" => "le",
        "MinLen" => "min_length",
        "MaxLen" => "max_length",
        _ => "",
    };
    let read = |expr: &Expr| python::value_of_expression(expr, &nothing);
    let first = call.arguments.args.first().and_then(read);
    let first = first
        .filter(|_| !positional_bound.is_empty())
        .map(|value| (positional_bound.to_owned(), value));
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
    fn bounds_are_read_from_annotated() {
        let mut found = ValueBounds::default();
        read_bounds("annotated_types.Gt(0)", &mut found);
        read_bounds("Field(le=10, max_length=5, pattern='[a-z]+')", &mut found);
        assert_eq!((found.low, found.high, found.max_length), (Some(1.0), Some(10.0), Some(5)));
        assert_eq!(found.pattern.as_deref(), Some("[a-z]+"));
        let mut none = ValueBounds::default();
        read_bounds("'a comment'", &mut none);
        assert_eq!(none, ValueBounds::default());
    }

    #[test]
    fn a_literal_has_a_shape() {
        let value = Value::from_json(r#"{"a": [1, "x"], "b": null}"#).expect("JSON");
        let ValueShape::Record(fields) = literal_shape(&value) else { panic!("a record") };
        assert_eq!(
            fields[0].shape,
            ValueShape::list_of(ValueShape::Union(vec![ValueShape::Int, ValueShape::any_text()]))
        );
    }
}
