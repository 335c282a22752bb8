//! Which classes have what is done with a value.

use std::collections::HashSet;
use std::sync::OnceLock;

use crate::input::facts::Facts;
use crate::input::shape::{PathWhat, Shape};

/// A class of Python's own and what its instances have.
#[derive(Debug)]
pub(crate) struct Members {
    pub class: &'static str,
    pub names: HashSet<&'static str>,
}

/// In the order of how often they are met.
pub(crate) fn all() -> &'static [Members] {
    static ALL: OnceLock<Vec<Members>> = OnceLock::new();
    ALL.get_or_init(|| {
        let lines = include_str!("../data/members.txt").lines();
        lines
            .filter_map(|line| {
                let mut words = line.split(' ');
                let class = words.next()?;
                Some(Members { class, names: words.collect() })
            })
            .collect()
    })
}

fn of_class(class: &str) -> Option<&'static Members> {
    all().iter().find(|members| members.class == class)
}

/// How much of what is wanted the shape has, from 0 to 1; none when that is not known.
pub(crate) fn coverage(facts: &Facts<'_>, shape: &Shape, wanted: &[String]) -> Option<f64> {
    if wanted.is_empty() {
        return None;
    }
    let class = match shape.bare() {
        Shape::Str(_) | Shape::Path { is_text: true, .. } => "builtins.str",
        Shape::Bytes => "builtins.bytes",
        Shape::Int => "builtins.int",
        Shape::Bool => "builtins.bool",
        Shape::Float => "builtins.float",
        Shape::List(_) => "builtins.list",
        Shape::Tuple(_) | Shape::TupleOf(_) => "builtins.tuple",
        Shape::Dict(..) | Shape::Record(_) => "builtins.dict",
        Shape::Set(_) => "builtins.set",
        Shape::FrozenSet(_) => "builtins.frozenset",
        Shape::Path { is_text: false, .. } => "pathlib.Path",
        Shape::Iterator(_) => "types.GeneratorType",
        Shape::None => return Some(0.0),
        Shape::Function { .. } => {
            let has = |name: &&String| name.starts_with("__") && *name != "__iter__";
            return Some(wanted.iter().filter(has).count() as f64 / wanted.len() as f64);
        }
        Shape::Instance(name) => return of_repository(facts, name, wanted),
        Shape::Known(name) => name.as_str(),
        Shape::Union(shapes) => {
            let each = shapes.iter().filter_map(|shape| coverage(facts, shape, wanted));
            return each.reduce(f64::max);
        }
        _ => return None,
    };
    let members = of_class(class)?;
    let has = wanted.iter().filter(|name| members.names.contains(name.as_str())).count();
    Some(has as f64 / wanted.len() as f64)
}

/// Methods are known; attributes may be set anywhere.
fn of_repository(facts: &Facts<'_>, name: &str, wanted: &[String]) -> Option<f64> {
    let class = facts.class(name)?;
    let has = |name: &&String| {
        class.methods.iter().any(|method| method.name == **name)
            || class.fields.iter().any(|field| field.name == **name)
            || class.members.contains(name)
    };
    let has = wanted.iter().filter(has).count();
    Some(has as f64 / wanted.len() as f64)
}

/// The shape of an instance of a class in the table.
pub(crate) fn shape_of(class: &str) -> Shape {
    match class {
        "builtins.str" => Shape::text(),
        "builtins.bytes" => Shape::Bytes,
        "builtins.int" => Shape::Int,
        "builtins.float" => Shape::Float,
        "builtins.bool" => Shape::Bool,
        "builtins.list" => Shape::list(Shape::Any),
        "builtins.tuple" => Shape::TupleOf(Box::new(Shape::Any)),
        "builtins.dict" => Shape::Dict(Box::new(Shape::text()), Box::new(Shape::Any)),
        "builtins.set" => Shape::Set(Box::new(Shape::Any)),
        "builtins.frozenset" => Shape::FrozenSet(Box::new(Shape::Any)),
        "pathlib.Path" => Shape::Path { what: PathWhat::File, is_text: false },
        "types.GeneratorType" => Shape::Iterator(Box::new(Shape::Any)),
        other => Shape::Known(other.strip_prefix("builtins.").unwrap_or(other).to_owned()),
    }
}
