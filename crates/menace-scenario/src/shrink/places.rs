//! Every value of a call by its place: the receiver, the arguments, and what is inside of them.

use menace_model::{Call, MethodCall, Param, ParamKind, TypeExpr, Value};

use super::types;

/// Deeper values shrink with what holds them.
const DEPTH: usize = 6;
/// The most places: a call with more is made smaller from outside first.
const PLACES: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Receiver,
    Arg(usize),
    Kwarg(usize),
}

#[derive(Debug, Clone)]
pub(super) struct Place {
    slot: Slot,
    /// Positions of children, from the outside in.
    path: Vec<usize>,
    /// The declared type of what is there.
    pub declared: Option<TypeExpr>,
}

impl Place {
    /// The outer ones before the inner ones.
    pub(super) fn all(call: &Call, params: &[Param]) -> Vec<Self> {
        let mut places = Vec::new();
        let top = |slot, declared| Self { slot, path: Vec::new(), declared };
        for at in 0..call.args.len() {
            places.push(top(Slot::Arg(at), declared_at(params, at)));
        }
        for (at, (name, _)) in call.kwargs.iter().enumerate() {
            places.push(top(Slot::Kwarg(at), declared_as(params, name)));
        }
        if call.receiver.is_some() {
            places.push(top(Slot::Receiver, None));
        }
        let mut next = 0;
        while next < places.len() && places.len() < PLACES {
            let place = places[next].clone();
            next += 1;
            if place.path.len() >= DEPTH {
                continue;
            }
            let Some(value) = place.value(call) else { continue };
            let mut at = 0;
            value.each_child(&mut |_| {
                let declared = types::of_child(place.declared.as_ref(), value, at);
                let path = [&place.path[..], &[at]].concat();
                places.push(Self { slot: place.slot, path, declared });
                at += 1;
            });
        }
        places.truncate(PLACES);
        places
    }

    pub(super) fn value<'a>(&self, call: &'a Call) -> Option<&'a Value> {
        let mut value = match self.slot {
            Slot::Receiver => call.receiver.as_ref()?,
            Slot::Arg(at) => call.args.get(at)?,
            Slot::Kwarg(at) => &call.kwargs.get(at)?.1,
        };
        for at in &self.path {
            let mut children = Vec::new();
            value.each_child(&mut |child| children.push(child));
            value = children.get(*at)?;
        }
        Some(value)
    }

    /// Puts another value there; false when there is no such place.
    pub(super) fn replace(&self, call: &mut Call, new: Value) -> bool {
        let top = match self.slot {
            Slot::Receiver => call.receiver.as_mut(),
            Slot::Arg(at) => call.args.get_mut(at),
            Slot::Kwarg(at) => call.kwargs.get_mut(at).map(|(_, value)| value),
        };
        let Some(mut value) = top else { return false };
        for at in &self.path {
            let Some(child) = child_mut(value, *at) else { return false };
            value = child;
        }
        *value = new;
        true
    }
}

fn declared_at(params: &[Param], at: usize) -> Option<TypeExpr> {
    let positional = |param: &&Param| {
        matches!(param.kind, ParamKind::PositionalOnly | ParamKind::PositionalOrKeyword)
    };
    let rest = || params.iter().find(|param| param.kind == ParamKind::VarPositional);
    params.iter().filter(positional).nth(at).or_else(rest)?.resolved.clone()
}

fn declared_as(params: &[Param], name: &str) -> Option<TypeExpr> {
    let rest = || params.iter().find(|param| param.kind == ParamKind::VarKeyword);
    params.iter().find(|param| param.name == name).or_else(rest)?.resolved.clone()
}

/// The child at a position, in the order of [`Value::each_child`].
fn child_mut(value: &mut Value, at: usize) -> Option<&mut Value> {
    fn given<'a>(
        args: &'a mut [Value],
        kwargs: &'a mut [(String, Value)],
    ) -> impl Iterator<Item = &'a mut Value> {
        args.iter_mut().chain(kwargs.iter_mut().map(|(_, value)| value))
    }
    match value {
        Value::List(items)
        | Value::Tuple(items)
        | Value::Set(items)
        | Value::FrozenSet(items)
        | Value::Yields(items) => items.get_mut(at),
        Value::Dict(pairs) => {
            pairs.get_mut(at / 2).map(|(key, value)| if at.is_multiple_of(2) { key } else { value })
        }
        Value::New { args, kwargs, .. } => given(args, kwargs).nth(at),
        Value::Method { on, args, kwargs, .. } => match at {
            0 => Some(on),
            _ => given(args, kwargs).nth(at - 1),
        },
        Value::Stub { members, args, kwargs, .. } => {
            members.iter_mut().map(|(_, value)| value).chain(given(args, kwargs)).nth(at)
        }
        Value::After { value, .. } if at == 0 => Some(value),
        Value::After { calls, .. } => {
            let all = calls.iter_mut();
            all.flat_map(|MethodCall { args, kwargs, .. }| given(args, kwargs)).nth(at - 1)
        }
        Value::Repeat { value, .. }
        | Value::Shared { value, .. }
        | Value::Returns(value)
        | Value::Raises(value)
        | Value::Async(value) => (at == 0).then_some(value),
        _ => None,
    }
}
