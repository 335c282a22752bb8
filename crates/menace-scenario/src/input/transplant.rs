//! Inputs of one section with values of another section's call in them, so that a public section
//! passes these values on to an internal one.

use menace_model::{ParamKind, SignatureParam, Value};

use super::CallInput;
use super::repository_facts::RepositoryFacts;

/// The inputs with one of the values in one of their places: in place of an argument of the same
/// kind, or as an argument that was left out. Arguments of the receiver's constructor count.
pub fn transplant_values(
    facts: &RepositoryFacts<'_>,
    params: &[SignatureParam],
    bases: &[CallInput],
    values: &[Value],
) -> Vec<CallInput> {
    let mut made: Vec<CallInput> = Vec::new();
    for value in values {
        for base in bases {
            for place in places(facts, params, base, value) {
                let mut input = base.clone();
                if put(&mut input, &place, value) && !made.contains(&input) {
                    made.push(input);
                }
            }
        }
    }
    made
}

/// The plain values of a call that decide how it goes, the largest first.
pub fn transplantable_values<'v>(values: impl IntoIterator<Item = &'v Value>) -> Vec<Value> {
    let mut found = Vec::new();
    for value in values {
        collect(value, &mut found);
    }
    found.sort_by_key(|value| std::cmp::Reverse(format!("{value:?}").len()));
    found.dedup();
    found
}

fn collect(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::None | Value::Name(_) | Value::SharedRef(_) => {}
        Value::New { .. } | Value::Method { .. } | Value::Stub { .. } | Value::After { .. } => {
            value.each_child(&mut |child| collect(child, found));
        }
        _ => found.push(value.clone()),
    }
}

/// A place of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InputPlace {
    Argument(usize),
    Keyword(String),
    ReceiverArgument(usize),
    ReceiverKeyword(String),
}

fn places(
    facts: &RepositoryFacts<'_>,
    params: &[SignatureParam],
    base: &CallInput,
    value: &Value,
) -> Vec<InputPlace> {
    let mut found: Vec<InputPlace> = Vec::new();
    let fits = |old: &Value| is_same_kind(old, value);
    let of_args = base.args.iter().enumerate().filter(|(_, old)| fits(old));
    found.extend(of_args.map(|(at, _)| InputPlace::Argument(at)));
    let of_kwargs = base.kwargs.iter().filter(|(_, old)| fits(old));
    found.extend(of_kwargs.map(|(name, _)| InputPlace::Keyword(name.clone())));
    let left_out = names_left_out(params, &base.args, &base.kwargs);
    found.extend(left_out.map(InputPlace::Keyword));
    let receiver = base.receiver.as_ref().map(without_preparation);
    if let Some(Value::New { class, args, kwargs }) = receiver {
        let of_args = args.iter().enumerate().filter(|(_, old)| fits(old));
        found.extend(of_args.map(|(at, _)| InputPlace::ReceiverArgument(at)));
        let of_kwargs = kwargs.iter().filter(|(_, old)| fits(old));
        found.extend(of_kwargs.map(|(name, _)| InputPlace::ReceiverKeyword(name.clone())));
        let dotted = format!("{}.{}", class.module(), class.qualname());
        if let Some(maker) = facts.section_named(&dotted) {
            let left_out = names_left_out(&maker.section.params, args, kwargs);
            found.extend(left_out.map(InputPlace::ReceiverKeyword));
        }
    }
    found
}

/// Parameters without an argument, that take one by name.
fn names_left_out(
    params: &[SignatureParam],
    args: &[Value],
    kwargs: &[(String, Value)],
) -> impl Iterator<Item = String> {
    let named = params.iter().enumerate().filter(|(at, param)| {
        let takes = match param.kind {
            ParamKind::PositionalOrKeyword => *at >= args.len(),
            ParamKind::KeywordOnly => true,
            _ => false,
        };
        takes && kwargs.iter().all(|(name, _)| *name != param.name)
    });
    named.map(|(_, param)| param.name.clone()).collect::<Vec<_>>().into_iter()
}

fn put(input: &mut CallInput, place: &InputPlace, value: &Value) -> bool {
    let (args, kwargs) = match place {
        InputPlace::Argument(_) | InputPlace::Keyword(_) => (&mut input.args, &mut input.kwargs),
        _ => match input.receiver.as_mut().map(without_preparation_mut) {
            Some(Value::New { args, kwargs, .. }) => (args, kwargs),
            _ => return false,
        },
    };
    match place {
        InputPlace::Argument(at) | InputPlace::ReceiverArgument(at) => args[*at] = value.clone(),
        InputPlace::Keyword(name) | InputPlace::ReceiverKeyword(name) => {
            match kwargs.iter_mut().find(|(known, _)| known == name) {
                Some((_, old)) => *old = value.clone(),
                None => kwargs.push((name.clone(), value.clone())),
            }
        }
    }
    true
}

/// The object itself, without the calls that prepare it.
fn without_preparation(value: &Value) -> &Value {
    match value {
        Value::After { value, .. } | Value::Shared { value, .. } => without_preparation(value),
        value => value,
    }
}

fn without_preparation_mut(value: &mut Value) -> &mut Value {
    match value {
        Value::After { value, .. } | Value::Shared { value, .. } => without_preparation_mut(value),
        value => value,
    }
}

fn is_same_kind(old: &Value, new: &Value) -> bool {
    let kind = |value: &Value| match without_preparation(value) {
        Value::Repeat { value, .. } => std::mem::discriminant(without_preparation(value)),
        value => std::mem::discriminant(value),
    };
    kind(old) == kind(new)
}

#[cfg(test)]
mod tests {
    use menace_model::{CallFixtures, ClassIndex, InputIntent, NamedTypeIndex};

    use super::*;
    use crate::input::InputStrategy;

    #[test]
    fn values_go_to_places_of_their_kind_and_to_those_left_out() {
        let (classes, types) = (ClassIndex::default(), NamedTypeIndex::default());
        let facts = RepositoryFacts::new(&classes, &types);
        let param = |name: &str| SignatureParam {
            name: name.to_owned(),
            kind: ParamKind::PositionalOrKeyword,
            annotation: None,
            resolved: None,
            default: None,
        };
        let base = CallInput {
            receiver: None,
            args: vec![Value::from("old"), Value::Int(1)],
            kwargs: Vec::new(),
            fixtures: CallFixtures::default(),
            intent: InputIntent::Valid,
            strategy: InputStrategy::Signature,
        };
        let params = [param("text"), param("count"), param("more")];
        let values = transplantable_values(&[Value::from("new"), Value::None]);
        let made = transplant_values(&facts, &params, std::slice::from_ref(&base), &values);
        let first = CallInput { args: vec![Value::from("new"), Value::Int(1)], ..base.clone() };
        let kwargs = vec![("more".to_owned(), Value::from("new"))];
        assert_eq!(made, [first, CallInput { kwargs, ..base }]);
    }
}
