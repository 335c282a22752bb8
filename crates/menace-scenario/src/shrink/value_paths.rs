//! Paths to all values of a call: receiver, arguments, and the values inside of them.

use menace_model::{Call, MethodCall, ParamKind, SignatureParam, TypeExpr, Value};

use super::types;

/// Deeper values only shrink together with their containers.
const MAX_PATH_DEPTH: usize = 6;
/// A call with more values is made smaller from the outside first.
const MAX_VALUE_PATHS: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallValueSlot {
    Receiver,
    Arg(usize),
    Kwarg(usize),
}

#[derive(Debug, Clone)]
pub(super) struct CallValuePath {
    slot: CallValueSlot,
    /// Positions of children, from the outside in.
    path: Vec<usize>,
    pub declared: Option<TypeExpr>,
}

impl CallValuePath {
    /// All paths, outer values before inner ones.
    pub(super) fn all_paths(call: &Call, params: &[SignatureParam]) -> Vec<Self> {
        let mut places = Vec::new();
        let top = |slot, declared| Self { slot, path: Vec::new(), declared };
        for at in 0..call.args.len() {
            places.push(top(CallValueSlot::Arg(at), declared_type_at(params, at)));
        }
        for (at, (name, _)) in call.kwargs.iter().enumerate() {
            places.push(top(CallValueSlot::Kwarg(at), declared_type_of(params, name)));
        }
        if call.receiver.is_some() {
            places.push(top(CallValueSlot::Receiver, None));
        }
        let mut next = 0;
        while next < places.len() && places.len() < MAX_VALUE_PATHS {
            let place = places[next].clone();
            next += 1;
            if place.path.len() >= MAX_PATH_DEPTH {
                continue;
            }
            let Some(value) = place.get_value(call) else { continue };
            let mut at = 0;
            value.each_child(&mut |_| {
                let declared = types::child_type(place.declared.as_ref(), value, at);
                let path = [&place.path[..], &[at]].concat();
                places.push(Self { slot: place.slot, path, declared });
                at += 1;
            });
        }
        places.truncate(MAX_VALUE_PATHS);
        places
    }

    pub(super) fn get_value<'a>(&self, call: &'a Call) -> Option<&'a Value> {
        let mut value = match self.slot {
            CallValueSlot::Receiver => call.receiver.as_ref()?,
            CallValueSlot::Arg(at) => call.args.get(at)?,
            CallValueSlot::Kwarg(at) => &call.kwargs.get(at)?.1,
        };
        for at in &self.path {
            let mut children = Vec::new();
            value.each_child(&mut |child| children.push(child));
            value = children.get(*at)?;
        }
        Some(value)
    }

    /// Replaces the value; false when the path does not exist.
    pub(super) fn replace_value(&self, call: &mut Call, new: Value) -> bool {
        let top = match self.slot {
            CallValueSlot::Receiver => call.receiver.as_mut(),
            CallValueSlot::Arg(at) => call.args.get_mut(at),
            CallValueSlot::Kwarg(at) => call.kwargs.get_mut(at).map(|(_, value)| value),
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

fn declared_type_at(params: &[SignatureParam], at: usize) -> Option<TypeExpr> {
    let positional = |param: &&SignatureParam| {
        matches!(param.kind, ParamKind::PositionalOnly | ParamKind::PositionalOrKeyword)
    };
    let rest = || params.iter().find(|param| param.kind == ParamKind::VarPositional);
    params.iter().filter(positional).nth(at).or_else(rest)?.resolved.clone()
}

fn declared_type_of(params: &[SignatureParam], name: &str) -> Option<TypeExpr> {
    let rest = || params.iter().find(|param| param.kind == ParamKind::VarKeyword);
    params.iter().find(|param| param.name == name).or_else(rest)?.resolved.clone()
}

/// The child at a position, in the order of [`Value::each_child`].
fn child_mut(value: &mut Value, at: usize) -> Option<&mut Value> {
    fn nth_argument<'a>(
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
        Value::New { args, kwargs, .. } => nth_argument(args, kwargs).nth(at),
        Value::Method { on, args, kwargs, .. } => match at {
            0 => Some(on),
            _ => nth_argument(args, kwargs).nth(at - 1),
        },
        Value::Stub { members, args, kwargs, .. } => {
            members.iter_mut().map(|(_, value)| value).chain(nth_argument(args, kwargs)).nth(at)
        }
        Value::After { value, .. } if at == 0 => Some(value),
        Value::After { calls, .. } => {
            let all = calls.iter_mut();
            all.flat_map(|MethodCall { args, kwargs, .. }| nth_argument(args, kwargs)).nth(at - 1)
        }
        Value::Repeat { value, .. }
        | Value::Shared { value, .. }
        | Value::Returns(value)
        | Value::Raises(value)
        | Value::Async(value) => (at == 0).then_some(value),
        _ => None,
    }
}
