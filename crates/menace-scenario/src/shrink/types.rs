//! Which values a declared type admits, as far as shrinking has to know.

use std::mem::discriminant;

use menace_model::{TypeExpr, Value};

const SEQUENCE_TYPES: [&str; 8] = menace_model::words![
    list List Sequence Iterable Collection MutableSequence Container Iterator
];
const SET_TYPES: [&str; 6] = ["set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"];
const MAPPING_TYPES: [&str; 6] =
    ["dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "DefaultDict"];
const TUPLE_TYPES: [&str; 2] = ["tuple", "Tuple"];

/// The last part of a dotted name.
fn last_name_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn base_name(declared: &TypeExpr) -> &str {
    match declared {
        TypeExpr::Name(name) => last_name_part(name),
        TypeExpr::Generic { base, .. } => self::base_name(base),
        _ => "",
    }
}

/// Both are integers, both are lists, both are instances of one class.
pub(super) fn is_same_kind(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Int(_) | Value::BigInt(_), Value::Int(_) | Value::BigInt(_)) => true,
        (Value::New { class, .. }, Value::New { class: other, .. }) => class == other,
        (Value::Name(_) | Value::SharedRef(_) | Value::Method { .. }, _) => false,
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

/// Is the value certainly of the type?
pub(super) fn admits_value(declared: &TypeExpr, value: &Value) -> bool {
    if let TypeExpr::Union(members) = declared {
        return members.iter().any(|member| admits_value(member, value));
    }
    let name = base_name(declared);
    match value {
        Value::None => admits_none(declared),
        Value::Bool(_) => name == "bool",
        Value::Int(_) | Value::BigInt(_) => name == "int",
        Value::Float(_) => name == "float",
        Value::Str(_) => name == "str",
        Value::Bytes(_) => name == "bytes",
        Value::List(items) => SEQUENCE_TYPES.contains(&name) && admits_all(declared, items),
        Value::Set(items) | Value::FrozenSet(items) => {
            SET_TYPES.contains(&name) && admits_all(declared, items)
        }
        Value::Tuple(items) => {
            TUPLE_TYPES.contains(&name)
                && !has_fixed_length(declared)
                && admits_all(declared, items)
        }
        Value::Dict(pairs) => {
            let fits = |at: usize, value: &Value| match type_argument(declared, at) {
                Some(declared) => admits_value(declared, value),
                None => true,
            };
            MAPPING_TYPES.contains(&name)
                && pairs.iter().all(|(key, value)| fits(0, key) && fits(1, value))
        }
        _ => false,
    }
}

fn admits_all(declared: &TypeExpr, items: &[Value]) -> bool {
    match type_argument(declared, 0) {
        Some(declared) => items.iter().all(|item| admits_value(declared, item)),
        None => true,
    }
}

fn type_argument(declared: &TypeExpr, at: usize) -> Option<&TypeExpr> {
    match declared {
        TypeExpr::Generic { args, .. } => args.get(at),
        _ => None,
    }
}

/// `tuple[int, str]`, whose items cannot be removed.
pub(super) fn has_fixed_length(declared: &TypeExpr) -> bool {
    match declared {
        TypeExpr::Generic { args, .. } => {
            TUPLE_TYPES.contains(&base_name(declared)) && !args.contains(&TypeExpr::Ellipsis)
        }
        TypeExpr::Union(members) => members.iter().any(has_fixed_length),
        _ => false,
    }
}

/// Is it a dictionary type with keys of its own?
pub(super) fn is_named_dict_type(declared: &TypeExpr) -> bool {
    match declared {
        TypeExpr::Union(members) => members.iter().any(is_named_dict_type),
        TypeExpr::Name(name) => {
            let name = last_name_part(name);
            !MAPPING_TYPES.contains(&name) && !["Any", "object"].contains(&name)
        }
        _ => false,
    }
}

/// The declared type of a child of a value, by its position.
pub(super) fn child_type(
    declared: Option<&TypeExpr>,
    value: &Value,
    at: usize,
) -> Option<TypeExpr> {
    let declared = declared?;
    if let TypeExpr::Union(members) = declared {
        let fitting = members.iter().find(|member| is_declared_container(member, value))?;
        return child_type(Some(fitting), value, at);
    }
    // The inner value of a repetition, a label or preparation calls is of the type itself.
    if matches!(value, Value::Repeat { .. } | Value::Shared { .. })
        || at == 0 && matches!(value, Value::After { .. })
    {
        return Some(declared.clone());
    }
    if !is_declared_container(declared, value) {
        return None;
    }
    match value {
        Value::Dict(_) => type_argument(declared, at % 2).cloned(),
        Value::Tuple(_) if has_fixed_length(declared) => type_argument(declared, at).cloned(),
        _ => type_argument(declared, 0).cloned(),
    }
}

/// Is the value a container of the declared kind?
fn is_declared_container(declared: &TypeExpr, value: &Value) -> bool {
    let name = base_name(declared);
    match value {
        Value::List(_) => SEQUENCE_TYPES.contains(&name),
        Value::Tuple(_) => TUPLE_TYPES.contains(&name) || SEQUENCE_TYPES.contains(&name),
        Value::Set(_) | Value::FrozenSet(_) => {
            SET_TYPES.contains(&name) || SEQUENCE_TYPES.contains(&name)
        }
        Value::Dict(_) => MAPPING_TYPES.contains(&name),
        _ => false,
    }
}
