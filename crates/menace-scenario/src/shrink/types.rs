//! What a declared type says about a value, as far as shrinking has to know.

use std::mem::discriminant;

use menace_model::{TypeExpr, Value};

const SEQUENCES: [&str; 8] = [
    "list",
    "List",
    "Sequence",
    "Iterable",
    "Collection",
    "MutableSequence",
    "Container",
    "Iterator",
];
const SETS: [&str; 6] = ["set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"];
const MAPPINGS: [&str; 6] =
    ["dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "DefaultDict"];
const TUPLES: [&str; 2] = ["tuple", "Tuple"];

/// The last part of a dotted name.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn base(declared: &TypeExpr) -> &str {
    match declared {
        TypeExpr::Name(name) => last(name),
        TypeExpr::Generic { base, .. } => self::base(base),
        _ => "",
    }
}

/// Both are integers, both are lists, both are instances of one class.
pub(super) fn is_same_kind(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Int(_) | Value::BigInt(_), Value::Int(_) | Value::BigInt(_)) => true,
        (Value::New { class, .. }, Value::New { class: other, .. }) => class == other,
        (Value::Name(_) | Value::Again(_) | Value::Method { .. }, _) => false,
        _ => discriminant(one) == discriminant(other),
    }
}

pub(super) fn admits_none(declared: &TypeExpr) -> bool {
    match declared {
        TypeExpr::None => true,
        TypeExpr::Union(members) => members.iter().any(admits_none),
        _ => false,
    }
}

/// Is the value surely of the type?
pub(super) fn admits(declared: &TypeExpr, value: &Value) -> bool {
    if let TypeExpr::Union(members) = declared {
        return members.iter().any(|member| admits(member, value));
    }
    let name = base(declared);
    match value {
        Value::None => admits_none(declared),
        Value::Bool(_) => name == "bool",
        Value::Int(_) | Value::BigInt(_) => name == "int",
        Value::Float(_) => name == "float",
        Value::Str(_) => name == "str",
        Value::Bytes(_) => name == "bytes",
        Value::List(items) => SEQUENCES.contains(&name) && all_admitted(declared, items),
        Value::Set(items) | Value::FrozenSet(items) => {
            SETS.contains(&name) && all_admitted(declared, items)
        }
        Value::Tuple(items) => {
            TUPLES.contains(&name) && !has_fixed_length(declared) && all_admitted(declared, items)
        }
        Value::Dict(pairs) => {
            let fits = |at: usize, value: &Value| match part(declared, at) {
                Some(declared) => admits(declared, value),
                None => true,
            };
            MAPPINGS.contains(&name)
                && pairs.iter().all(|(key, value)| fits(0, key) && fits(1, value))
        }
        _ => false,
    }
}

fn all_admitted(declared: &TypeExpr, items: &[Value]) -> bool {
    match part(declared, 0) {
        Some(declared) => items.iter().all(|item| admits(declared, item)),
        None => true,
    }
}

fn part(declared: &TypeExpr, at: usize) -> Option<&TypeExpr> {
    match declared {
        TypeExpr::Generic { args, .. } => args.get(at),
        _ => None,
    }
}

/// `tuple[int, str]`, whose items cannot be taken away.
pub(super) fn has_fixed_length(declared: &TypeExpr) -> bool {
    match declared {
        TypeExpr::Generic { args, .. } => {
            TUPLES.contains(&base(declared)) && !args.contains(&TypeExpr::Ellipsis)
        }
        TypeExpr::Union(members) => members.iter().any(has_fixed_length),
        _ => false,
    }
}

/// A name that is no mapping's: a dictionary of that type has keys of its own.
pub(super) fn names_its_keys(declared: &TypeExpr) -> bool {
    match declared {
        TypeExpr::Union(members) => members.iter().any(names_its_keys),
        TypeExpr::Name(name) => {
            let name = last(name);
            !MAPPINGS.contains(&name) && !["Any", "object"].contains(&name)
        }
        _ => false,
    }
}

/// The declared type of the child of a value, by its position.
pub(super) fn of_child(declared: Option<&TypeExpr>, value: &Value, at: usize) -> Option<TypeExpr> {
    let declared = declared?;
    if let TypeExpr::Union(members) = declared {
        let fitting = members.iter().find(|member| holds(member, value))?;
        return of_child(Some(fitting), value, at);
    }
    // What is repeated, labelled or called on first is of the type itself.
    if matches!(value, Value::Repeat { .. } | Value::Shared { .. })
        || at == 0 && matches!(value, Value::After { .. })
    {
        return Some(declared.clone());
    }
    if !holds(declared, value) {
        return None;
    }
    match value {
        Value::Dict(_) => part(declared, at % 2).cloned(),
        Value::Tuple(_) if has_fixed_length(declared) => part(declared, at).cloned(),
        _ => part(declared, 0).cloned(),
    }
}

/// A container of the kind that is declared.
fn holds(declared: &TypeExpr, value: &Value) -> bool {
    let name = base(declared);
    match value {
        Value::List(_) => SEQUENCES.contains(&name),
        Value::Tuple(_) => TUPLES.contains(&name) || SEQUENCES.contains(&name),
        Value::Set(_) | Value::FrozenSet(_) => SETS.contains(&name) || SEQUENCES.contains(&name),
        Value::Dict(_) => MAPPINGS.contains(&name),
        _ => false,
    }
}
