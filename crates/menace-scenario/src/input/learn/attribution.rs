//! Attributes an error hint to a parameter of a function.

use menace_model::{CallStage, MethodCall, ParamKind, SectionId, Value};

use super::error_hints::ErrorHint;
use super::value::{
    ContainerKind, class_of, expected_count, inner_items, mentions_name, quotes_value,
};
use crate::input::CallInput;
use crate::input::repository_facts::{RepositoryFacts, SectionContext};
use crate::input::shape::ValueShape;

/// A parameter that got a wrong value, or that must not be left out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AttributedParam {
    pub section: SectionId,
    pub param: String,
    pub was_left_out: bool,
    /// The wrong value is an item of a container of this kind.
    pub container: Option<ContainerKind>,
    /// Expected number of items.
    pub count: Option<usize>,
    /// Replaces the shapes of the hint.
    pub replacement_shape: Option<ValueShape>,
}

/// A call of a function of the repository that constructs a part of an input.
struct RepositoryCall<'v, 'f> {
    context: SectionContext<'f>,
    args: &'v [Value],
    kwargs: &'v [(String, Value)],
}

/// The parameters that a hint is about, of the innermost call that has some.
pub(crate) fn attribute_to_params(
    facts: &RepositoryFacts<'_>,
    context: SectionContext<'_>,
    class: Option<&str>,
    input: &CallInput,
    stage: CallStage,
    hint: &ErrorHint,
    message: &str,
) -> Vec<AttributedParam> {
    let mut calls = Vec::new();
    if matches!(stage, CallStage::Call | CallStage::Consume) {
        calls.push(RepositoryCall { context, args: &input.args, kwargs: &input.kwargs });
    }
    if stage != CallStage::Arguments
        && let Some(receiver) = &input.receiver
    {
        collect_calls(facts, receiver, class, &mut calls);
    }
    if stage == CallStage::Arguments {
        for value in input.args.iter().chain(input.kwargs.iter().map(|(_, value)| value)) {
            collect_calls(facts, value, None, &mut calls);
        }
    }
    let places = calls.iter().map(|made| made.attribute_to_own_params(hint, message));
    let nearest = places.into_iter().find(|places| !places.is_empty());
    nearest.unwrap_or_else(|| {
        let streams = calls.iter().map(|made| made.attribute_to_streams(hint));
        streams.into_iter().find(|places| !places.is_empty()).unwrap_or_default()
    })
}

/// The calls that construct a value.
fn collect_calls<'v, 'f>(
    facts: &RepositoryFacts<'f>,
    value: &'v Value,
    class: Option<&str>,
    calls: &mut Vec<RepositoryCall<'v, 'f>>,
) {
    match value {
        Value::New { class: reference, args, kwargs } => {
            let dotted = format!("{}.{}", reference.module(), reference.qualname());
            if let Some(context) =
                facts.constructor(&dotted).or_else(|| facts.section_named(&dotted))
            {
                calls.push(RepositoryCall { context, args, kwargs });
            }
            for value in args.iter().chain(kwargs.iter().map(|(_, value)| value)) {
                collect_calls(facts, value, None, calls);
            }
        }
        Value::After { value, calls: made } => {
            for MethodCall { name, args, kwargs } in made {
                let context = class.and_then(|class| facts.method(class, name));
                calls.extend(context.map(|context| RepositoryCall { context, args, kwargs }));
            }
            collect_calls(facts, value, class, calls);
        }
        Value::Method { on, args, .. } => {
            collect_calls(facts, on, None, calls);
            for value in args {
                collect_calls(facts, value, None, calls);
            }
        }
        Value::List(items) | Value::Tuple(items) => {
            for item in items.iter().take(1) {
                collect_calls(facts, item, None, calls);
            }
        }
        _ => {}
    }
}

impl RepositoryCall<'_, '_> {
    fn attribute_to_own_params(&self, hint: &ErrorHint, message: &str) -> Vec<AttributedParam> {
        let arguments = self.given_arguments();
        let place =
            |param: &str, was_left_out: bool, inside: Option<ContainerKind>| AttributedParam {
                section: self.context.section.id.clone(),
                param: param.to_owned(),
                was_left_out,
                container: inside,
                count: None,
                replacement_shape: None,
            };
        let named: Vec<&(&str, Option<&Value>)> =
            arguments.iter().filter(|(name, _)| mentions_name(message, name)).collect();
        let fits = |value: &Value| match &hint.found_class {
            Some(found) => class_of(value).is_none_or(|class| class == *found),
            None => false,
        };
        if let Some((expected, got)) = hint.count {
            return arguments
                .iter()
                .filter_map(|(name, value)| {
                    let (count, inside) = expected_count((*value)?, expected, got)?;
                    Some(AttributedParam { count: Some(count), ..place(name, false, inside) })
                })
                .collect();
        }
        if hint.needs_more_arguments {
            let params = self.context.section.params.iter();
            let more = params.filter(|param| param.kind == ParamKind::VarPositional);
            return more.map(|param| place(&param.name, true, None)).collect();
        }
        if hint.found_class.is_none() {
            // Without a class, the message must name or quote the argument, unless there is only
            // one.
            let quoted: Vec<_> = arguments
                .iter()
                .filter(|(_, value)| value.is_some_and(|value| quotes_value(message, value)))
                .collect();
            let named = match (named.is_empty(), quoted.is_empty(), arguments.len()) {
                (false, _, _) => named,
                (true, false, _) => quoted,
                (true, true, 1) => arguments.iter().collect(),
                _ => Vec::new(),
            };
            return named.iter().map(|(name, value)| place(name, value.is_none(), None)).collect();
        }
        let mut places = Vec::new();
        for (name, value) in &arguments {
            match value {
                Some(value) if !hint.is_item && fits(value) => {
                    places.push(place(name, false, None));
                }
                Some(value) => {
                    let fitting = inner_items(value).into_iter().filter(|(_, item)| fits(item));
                    places.extend(fitting.map(|(inside, _)| place(name, false, Some(inside))));
                }
                None => {}
            }
        }
        if places.is_empty() && hint.found_class.as_deref() == Some("NoneType") {
            // Of several arguments that were left out, the message must name the missing one.
            let left_out = arguments.iter().filter(|(_, value)| value.is_none());
            places = left_out.map(|(name, _)| place(name, true, None)).collect();
            if places.len() > 1 {
                places.retain(|place| mentions_name(message, &place.param));
            }
            return places;
        }
        let quoted = |param: &str| {
            let value = arguments.iter().find(|(name, _)| *name == param).and_then(|(_, it)| *it);
            value.is_some_and(|value| quotes_value(message, value))
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

    /// Text streams that are read where bytes are expected, and the other way round.
    fn attribute_to_streams(&self, hint: &ErrorHint) -> Vec<AttributedParam> {
        let is = |shape: &ValueShape| hint.shapes.first() == Some(shape);
        let (bad, good) = match hint.found_class.as_deref() {
            Some("str") if is(&ValueShape::Bytes) => ("StringIO", "io.BytesIO"),
            Some("bytes") if is(&ValueShape::any_text()) => ("BytesIO", "io.StringIO"),
            _ => return Vec::new(),
        };
        let arguments = self.given_arguments();
        let bad = arguments.iter().filter(|(_, value)| value.and_then(class_of) == Some(bad));
        bad.map(|(name, _)| AttributedParam {
            section: self.context.section.id.clone(),
            param: (*name).to_owned(),
            was_left_out: false,
            container: None,
            count: None,
            replacement_shape: Some(ValueShape::LibraryInstance(good.to_owned())),
        })
        .collect()
    }

    /// Parameters and their arguments; none for a parameter that was left out and defaults to
    /// `None`.
    fn given_arguments(&self) -> Vec<(&str, Option<&Value>)> {
        let mut positional = self.args.iter();
        let mut arguments = Vec::new();
        for param in &self.context.section.params {
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
                arguments.push((param.name.as_str(), value));
            }
        }
        arguments
    }
}

/// Parameters whose values the message quotes.
pub(crate) fn params_quoted_in<'f>(
    context: SectionContext<'f>,
    input: &CallInput,
    message: &str,
) -> Vec<&'f str> {
    let made = RepositoryCall { context, args: &input.args, kwargs: &input.kwargs };
    let arguments = made.given_arguments().into_iter();
    let quoted =
        arguments.filter(|(_, value)| value.is_some_and(|value| quotes_value(message, value)));
    let names = quoted.map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
    let params = context.section.params.iter().map(|param| param.name.as_str());
    params.filter(|param| names.iter().any(|name| name == param)).collect()
}
