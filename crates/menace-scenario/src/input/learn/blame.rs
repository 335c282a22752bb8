//! Which parameter of which function a complaint is about.

use menace_model::{MethodCall, ParamKind, SectionId, Stage, Value};

use super::complaint::Complaint;
use super::value::{Container, class_of, items, mentions, quotes, wanted_count};
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
    /// So many items would do.
    pub count: Option<usize>,
    /// This would do, not what the complaint says.
    pub instead: Option<Shape>,
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
    let places = calls.iter().map(|made| made.places(complaint, message));
    let nearest = places.into_iter().find(|places| !places.is_empty());
    nearest.unwrap_or_else(|| {
        let streams = calls.iter().map(|made| made.streams(complaint));
        streams.into_iter().find(|places| !places.is_empty()).unwrap_or_default()
    })
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
            count: None,
            instead: None,
        };
        let named: Vec<&(&str, Option<&Value>)> =
            given.iter().filter(|(name, _)| mentions(message, name)).collect();
        let fits = |value: &Value| match &complaint.found {
            Some(found) => class_of(value).is_none_or(|class| class == *found),
            None => false,
        };
        if let Some((expected, got)) = complaint.count {
            return given
                .iter()
                .filter_map(|(name, value)| {
                    let (count, inside) = wanted_count((*value)?, expected, got)?;
                    Some(Place { count: Some(count), ..place(name, false, inside) })
                })
                .collect();
        }
        if complaint.wants_more {
            let params = self.told.section.params.iter();
            let more = params.filter(|param| param.kind == ParamKind::VarPositional);
            return more.map(|param| place(&param.name, true, None)).collect();
        }
        if complaint.found.is_none() {
            // Only its name can tell which one is meant, unless there is no choice.
            let quoted: Vec<_> = given
                .iter()
                .filter(|(_, value)| value.is_some_and(|value| quotes(message, value)))
                .collect();
            let named = match (named.is_empty(), quoted.is_empty(), given.len()) {
                (false, _, _) => named,
                (true, false, _) => quoted,
                (true, true, 1) => given.iter().collect(),
                _ => Vec::new(),
            };
            return named.iter().map(|(name, value)| place(name, value.is_none(), None)).collect();
        }
        let mut places = Vec::new();
        for (name, value) in &given {
            match value {
                Some(value) if !complaint.is_item && fits(value) => {
                    places.push(place(name, false, None));
                }
                Some(value) => {
                    let fitting = items(value).into_iter().filter(|(_, item)| fits(item));
                    places.extend(fitting.map(|(inside, _)| place(name, false, Some(inside))));
                }
                None => {}
            }
        }
        if places.is_empty() && complaint.found.as_deref() == Some("NoneType") {
            // Of many that were left out, nobody knows which one was missed.
            let left_out = given.iter().filter(|(_, value)| value.is_none());
            places = left_out.map(|(name, _)| place(name, true, None)).collect();
            if places.len() > 1 {
                places.retain(|place| mentions(message, &place.param));
            }
            return places;
        }
        let quoted = |param: &str| {
            let value = given.iter().find(|(name, _)| *name == param).and_then(|(_, it)| *it);
            value.is_some_and(|value| quotes(message, value))
        };
        let is_named = |param: &str| named.iter().any(|(name, _)| *name == param);
        let tests: [&dyn Fn(&str) -> bool; 2] = [&is_named, &quoted];
        for is_meant in tests {
            if places.len() > 1 && places.iter().any(|place| is_meant(&place.param)) {
                places.retain(|place| is_meant(&place.param));
            }
        }
        places
    }

    /// Files of which text is read where bytes are wanted, and the other way round.
    fn streams(&self, complaint: &Complaint) -> Vec<Place> {
        let is = |shape: &Shape| complaint.shapes.first() == Some(shape);
        let (bad, good) = match complaint.found.as_deref() {
            Some("str") if is(&Shape::Bytes) => ("StringIO", "io.BytesIO"),
            Some("bytes") if is(&Shape::text()) => ("BytesIO", "io.StringIO"),
            _ => return Vec::new(),
        };
        let given = self.given();
        let bad = given.iter().filter(|(_, value)| value.and_then(class_of) == Some(bad));
        bad.map(|(name, _)| Place {
            section: self.told.section.id.clone(),
            param: (*name).to_owned(),
            was_left_out: false,
            inside: None,
            count: None,
            instead: Some(Shape::Known(good.to_owned())),
        })
        .collect()
    }

    /// Parameters and what they got; nothing for what was left out and is `None` then.
    fn given(&self) -> Vec<(&str, Option<&Value>)> {
        let mut positional = self.args.iter();
        let mut given = Vec::new();
        for param in &self.told.section.params {
            let by_name = || self.kwargs.iter().find(|(name, _)| *name == param.name);
            let value = match param.kind {
                ParamKind::PositionalOnly | ParamKind::VarPositional => positional.next(),
                ParamKind::PositionalOrKeyword => {
                    positional.next().or_else(|| by_name().map(|(_, value)| value))
                }
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

/// Parameters whose values the message has as they are written.
pub(crate) fn quoted<'f>(told: Told<'f>, input: &Input, message: &str) -> Vec<&'f str> {
    let made = Made { told, args: &input.args, kwargs: &input.kwargs };
    let given = made.given().into_iter();
    let quoted = given.filter(|(_, value)| value.is_some_and(|value| quotes(message, value)));
    let names = quoted.map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
    let params = told.section.params.iter().map(|param| param.name.as_str());
    params.filter(|param| names.iter().any(|name| name == param)).collect()
}
