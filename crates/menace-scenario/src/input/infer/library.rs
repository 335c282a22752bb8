//! Shapes from the standard library: of parameters of its functions, and of values with members of
//! its classes.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use super::annotation;
use crate::input::repository_facts::RepositoryFacts;
use crate::input::shape::{PathKind, ValueShape};

#[derive(Debug, Default)]
struct StdlibSignature {
    positional: Vec<&'static str>,
    named: Vec<(&'static str, &'static str)>,
}

fn stdlib_signatures() -> &'static HashMap<&'static str, StdlibSignature> {
    static STDLIB_SIGNATURES: OnceLock<HashMap<&'static str, StdlibSignature>> = OnceLock::new();
    STDLIB_SIGNATURES.get_or_init(|| {
        let lines = include_str!("../data/functions.txt").lines();
        let lines = lines.filter(|line| !line.starts_with('#'));
        let mut table = HashMap::new();
        for (names, kinds) in lines.filter_map(|line| line.split_once(": ")) {
            for name in names.split_whitespace() {
                let mut takes = StdlibSignature::default();
                for kind in kinds.split(';').map(str::trim) {
                    match kind.strip_prefix('=').and_then(|kind| kind.split_once(' ')) {
                        Some((name, kind)) => takes.named.push((name, kind)),
                        None => takes.positional.push(kind),
                    }
                }
                table.insert(name, takes);
            }
        }
        table
    })
}

/// The shapes of an argument of a library function: by position, keyword, `*` or `**`.
pub(crate) fn argument_shapes(
    facts: &RepositoryFacts<'_>,
    function: &str,
    argument: &str,
) -> Vec<ValueShape> {
    let function = function.strip_prefix("builtins.").unwrap_or(function);
    let table = stdlib_signatures();
    let method = || {
        let (_, name) = function.rsplit_once('.')?;
        table.get(format!("*.{name}").as_str())
    };
    let Some(takes) = table.get(function).or_else(method) else { return Vec::new() };
    let kind = if let Ok(position) = argument.parse::<usize>() {
        // Further positional arguments are like the last one.
        takes.positional.get(position).or(takes.positional.last()).copied()
    } else {
        let named = takes.named.iter().find(|(name, _)| *name == argument);
        named.map(|(_, kind)| *kind)
    };
    match kind {
        None | Some("-") => Vec::new(),
        Some(kinds) => {
            kinds.split('/').map(|kind| annotation::shape_of_kind(facts, kind.trim())).collect()
        }
    }
}

/// A built-in class and the members of its instances.
#[derive(Debug)]
pub(crate) struct BuiltinMembers {
    pub class: &'static str,
    pub names: HashSet<&'static str>,
}

/// The most frequent classes first.
pub(crate) fn builtin_classes() -> &'static [BuiltinMembers] {
    static BUILTIN_CLASSES: OnceLock<Vec<BuiltinMembers>> = OnceLock::new();
    BUILTIN_CLASSES.get_or_init(|| {
        let lines = include_str!("../data/members.txt").lines();
        lines
            .filter_map(|line| {
                let mut words = line.split(' ');
                let class = words.next()?;
                Some(BuiltinMembers { class, names: words.collect() })
            })
            .collect()
    })
}

fn builtin_class(class: &str) -> Option<&'static BuiltinMembers> {
    builtin_classes().iter().find(|members| members.class == class)
}

/// The share of `wanted` members that the shape has, from 0 to 1; none when its members are
/// unknown.
pub(crate) fn member_coverage(
    facts: &RepositoryFacts<'_>,
    shape: &ValueShape,
    wanted: &[String],
) -> Option<f64> {
    if wanted.is_empty() {
        return None;
    }
    let class = match shape.without_bounds() {
        ValueShape::Str(_) | ValueShape::Path { is_text: true, .. } => "builtins.str",
        ValueShape::Bytes => "builtins.bytes",
        ValueShape::Int => "builtins.int",
        ValueShape::Bool => "builtins.bool",
        ValueShape::Float => "builtins.float",
        ValueShape::List(_) => "builtins.list",
        ValueShape::Tuple(_) | ValueShape::TupleOf(_) => "builtins.tuple",
        ValueShape::Dict(..) | ValueShape::Record(_) => "builtins.dict",
        ValueShape::Set(_) => "builtins.set",
        ValueShape::FrozenSet(_) => "builtins.frozenset",
        ValueShape::Path { is_text: false, .. } => "pathlib.Path",
        ValueShape::Iterator(_) => "types.GeneratorType",
        ValueShape::None => return Some(0.0),
        ValueShape::Function { .. } => {
            let has = |name: &&String| name.starts_with("__") && *name != "__iter__";
            return Some(wanted.iter().filter(has).count() as f64 / wanted.len() as f64);
        }
        ValueShape::Instance(name) => return repository_class_coverage(facts, name, wanted),
        ValueShape::LibraryInstance(name) => name.as_str(),
        ValueShape::Union(shapes) => {
            let each = shapes.iter().filter_map(|shape| member_coverage(facts, shape, wanted));
            return each.reduce(f64::max);
        }
        _ => return None,
    };
    let members = builtin_class(class)?;
    let has = wanted.iter().filter(|name| members.names.contains(name.as_str())).count();
    Some(has as f64 / wanted.len() as f64)
}

/// Only declared members count: attributes may be assigned anywhere.
fn repository_class_coverage(
    facts: &RepositoryFacts<'_>,
    name: &str,
    wanted: &[String],
) -> Option<f64> {
    let class = facts.class(name)?;
    let has = |name: &&String| {
        class.methods.iter().any(|method| method.name == **name)
            || class.fields.iter().any(|field| field.name == **name)
            || class.members.contains(name)
    };
    let has = wanted.iter().filter(has).count();
    Some(has as f64 / wanted.len() as f64)
}

/// The shape of an instance of a built-in class.
pub(crate) fn shape_of(class: &str) -> ValueShape {
    match class {
        "builtins.str" => ValueShape::any_text(),
        "builtins.bytes" => ValueShape::Bytes,
        "builtins.int" => ValueShape::Int,
        "builtins.float" => ValueShape::Float,
        "builtins.bool" => ValueShape::Bool,
        "builtins.list" => ValueShape::list_of(ValueShape::Any),
        "builtins.tuple" => ValueShape::TupleOf(Box::new(ValueShape::Any)),
        "builtins.dict" => {
            ValueShape::Dict(Box::new(ValueShape::any_text()), Box::new(ValueShape::Any))
        }
        "builtins.set" => ValueShape::Set(Box::new(ValueShape::Any)),
        "builtins.frozenset" => ValueShape::FrozenSet(Box::new(ValueShape::Any)),
        "pathlib.Path" => ValueShape::Path { kind: PathKind::File, is_text: false },
        "types.GeneratorType" => ValueShape::Iterator(Box::new(ValueShape::Any)),
        other => {
            ValueShape::LibraryInstance(other.strip_prefix("builtins.").unwrap_or(other).to_owned())
        }
    }
}
