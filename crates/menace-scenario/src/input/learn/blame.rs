//! Which parameter of which function a complaint is about.

use menace_model::{MethodCall, ParamKind, SectionId, Stage, Value};

use super::complaint::Complaint;
use crate::input::Input;
use crate::input::facts::{Facts, Told};
use crate::input::shape::Shape;

/// A parameter that got the wrong thing, or that should not be left out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Place {
    pub section: SectionId,
    pub param: String,
    pub was_left_out: bool,
    /// The value is an item of a container like this.
    pub inside: Option<Container>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    List,
    Tuple,
    Dict,
}

impl Container {
    pub(crate) fn of(self, item: Shape) -> Shape {
        let item = Box::new(item);
        match self {
            Self::List => Shape::List(item),
            Self::Tuple => Shape::TupleOf(item),
            Self::Dict => Shape::Dict(Box::new(Shape::text()), item),
        }
    }
}

/// A call of a function of the repository that was made for an input.
struct Made<'v, 'f> {
    told: Told<'f>,
    args: &'v [Value],
    kwargs: &'v [(String, Value)],
}

/// Who is to blame, the nearest first.
pub(crate) fn places(
    facts: &Facts<'_>,
    told: Told<'_>,
    class: Option<&str>,
    input: &Input,
    stage: Stage,
    complaint: &Complaint,
    message: &str,
) -> Vec<Place> {
    let mut calls = Vec::new();
    if matches!(stage, Stage::Call | Stage::Consume) {
        calls.push(Made { told, args: &input.args, kwargs: &input.kwargs });
    }
    if stage != Stage::Arguments
        && let Some(receiver) = &input.receiver
    {
        inside(facts, receiver, class, &mut calls);
    }
    if stage == Stage::Arguments {
        for value in input.args.iter().chain(input.kwargs.iter().map(|(_, value)| value)) {
            inside(facts, value, None, &mut calls);
        }
    }
    for made in &calls {
        let places = made.places(complaint, message);
        if !places.is_empty() {
            return places;
        }
    }
    Vec::new()
}

/// The calls that make a value.
fn inside<'v, 'f>(
    facts: &Facts<'f>,
    value: &'v Value,
    class: Option<&str>,
    calls: &mut Vec<Made<'v, 'f>>,
) {
    match value {
        Value::New { class: reference, args, kwargs } => {
            let dotted = format!("{}.{}", reference.module(), reference.qualname());
            if let Some(told) = facts.constructor(&dotted).or_else(|| facts.named(&dotted)) {
                calls.push(Made { told, args, kwargs });
            }
            for value in args.iter().chain(kwargs.iter().map(|(_, value)| value)) {
                inside(facts, value, None, calls);
            }
        }
        Value::After { value, calls: made } => {
            for MethodCall { name, args, kwargs } in made {
                let told = class.and_then(|class| facts.method(class, name));
                calls.extend(told.map(|told| Made { told, args, kwargs }));
            }
            inside(facts, value, class, calls);
        }
        Value::Method { on, args, .. } => {
            inside(facts, on, None, calls);
            for value in args {
                inside(facts, value, None, calls);
            }
        }
        Value::List(items) | Value::Tuple(items) => {
            for item in items.iter().take(1) {
                inside(facts, item, None, calls);
            }
        }
        _ => {}
    }
}

impl Made<'_, '_> {
    fn places(&self, complaint: &Complaint, message: &str) -> Vec<Place> {
        let given = self.given();
        let place = |param: &str, was_left_out: bool, inside: Option<Container>| Place {
            section: self.told.section.id.clone(),
            param: param.to_owned(),
            was_left_out,
            inside,
        };
        let named: Vec<&(&str, Option<&Value>)> =
            given.iter().filter(|(name, _)| mentions(message, name)).collect();
        let fits = |value: &Value| match &complaint.found {
            Some(found) => class_of(value).is_none_or(|class| class == *found),
            None => false,
        };
        if complaint.found.is_none() {
            // Only its name can tell which one is meant, unless there is no choice.
            let named =
                if named.is_empty() && given.len() == 1 { given.iter().collect() } else { named };
            return named.iter().map(|(name, value)| place(name, value.is_none(), None)).collect();
        }
        let mut places = Vec::new();
        for (name, value) in &given {
            match value {
                Some(value) if !complaint.is_item && fits(value) => {
                    places.push(place(name, false, None));
                }
                Some(value) => {
                    if let Some((container, item)) = first_item(value)
                        && fits(item)
                    {
                        places.push(place(name, false, Some(container)));
                    }
                }
                None if complaint.found.as_deref() == Some("NoneType") => {
                    places.push(place(name, true, None));
                }
                None => {}
            }
        }
        if places.len() > 1 && !named.is_empty() {
            places.retain(|place| named.iter().any(|(name, _)| *name == place.param));
        }
        places
    }

    /// Parameters and what they got; nothing for what was left out and is `None` then.
    fn given(&self) -> Vec<(&str, Option<&Value>)> {
        let mut positional = self.args.iter();
        let mut given = Vec::new();
        for param in &self.told.section.params {
            let by_name = || self.kwargs.iter().find(|(name, _)| *name == param.name);
            let value = match param.kind {
                ParamKind::PositionalOnly => positional.next(),
                ParamKind::PositionalOrKeyword => {
                    positional.next().or_else(|| by_name().map(|(_, value)| value))
                }
                ParamKind::VarPositional => positional.next(),
                ParamKind::KeywordOnly => by_name().map(|(_, value)| value),
                ParamKind::VarKeyword => None,
            };
            let is_none = param.default.as_deref() == Some("None");
            if value.is_some() || is_none {
                given.push((param.name.as_str(), value));
            }
        }
        given
    }
}

/// Does the message have the name as a word?
fn mentions(message: &str, name: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    name.len() > 1 && message.split(|char| !is_part(char)).any(|word| word == name)
}

fn first_item(value: &Value) -> Option<(Container, &Value)> {
    match value {
        Value::List(items) => items.first().map(|item| (Container::List, item)),
        Value::Tuple(items) => items.first().map(|item| (Container::Tuple, item)),
        Value::Dict(pairs) => pairs.first().map(|(_, item)| (Container::Dict, item)),
        Value::New { class, args, .. } if class.qualname() == "iter" => {
            args.first().and_then(first_item)
        }
        _ => None,
    }
}

/// The name of the value's class, as messages have it; none when only the guest knows.
fn class_of(value: &Value) -> Option<&str> {
    Some(match value {
        Value::None => "NoneType",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::BigInt(_) => "int",
        Value::Float(_) => "float",
        Value::Complex { .. } => "complex",
        Value::Str(_) => "str",
        Value::Bytes(_) => "bytes",
        Value::ByteArray(_) => "bytearray",
        Value::List(_) => "list",
        Value::Tuple(_) => "tuple",
        Value::Set(_) => "set",
        Value::FrozenSet(_) => "frozenset",
        Value::Dict(_) => "dict",
        Value::Ellipsis => "ellipsis",
        Value::Returns(_)
        | Value::Raises(_)
        | Value::Yields(_)
        | Value::Argument(_)
        | Value::Async(_) => "function",
        Value::Stub { .. } => "Stub",
        Value::New { class, .. } => {
            let name = class.qualname().rsplit('.').next()?;
            // A function's result is of a class that only the guest knows.
            return name.starts_with(char::is_uppercase).then_some(name);
        }
        Value::Repeat { value, .. } | Value::Shared { value, .. } | Value::After { value, .. } => {
            return class_of(value);
        }
        Value::Name(_) | Value::Method { .. } | Value::Again(_) => return None,
    })
}
