//! What the parameters of a generic class are once it is known what it is a class of.
//!
//! The order of the type variables is that in which its constructor names them: most often that of
//! their declaration, and with a single one always.

use menace_model::{Param, TypeExpr};

use super::{Guess, annotation};
use crate::input::facts::Facts;
use crate::input::shape::Shape;

/// Gives the parameters whose annotations name a type variable the shape that it stands for.
pub(crate) fn apply(
    facts: &Facts<'_>,
    class: &str,
    params: &[Param],
    args: &[Shape],
    guesses: &mut [Guess],
) {
    let mut variables: Vec<(String, Shape)> = Vec::new();
    for kind in params.iter().filter_map(|param| param.resolved.as_ref()) {
        each_name(kind, &mut |name| {
            let is_new = variables.iter().all(|(known, _)| known != name);
            if is_new
                && is_variable(facts, name)
                && let Some(shape) = args.get(variables.len())
            {
                variables.push((name.to_owned(), shape.clone()));
            }
        });
    }
    for guess in guesses {
        let param = params.iter().find(|param| param.name == guess.name);
        let Some(kind) = param.and_then(|param| param.resolved.as_ref()) else { continue };
        let mut is_generic = false;
        each_name(kind, &mut |name| {
            is_generic |= variables.iter().any(|(known, _)| known == name);
        });
        if is_generic {
            let shape = annotation::shape_with(facts, kind, Some(class), &variables);
            guess.shapes = vec![(shape, 1.0)];
            guess.is_certain = true;
        }
    }
}

/// `T = TypeVar("T")`, or the `T` of `class Box[T]`, which nothing else is known of.
fn is_variable(facts: &Facts<'_>, name: &str) -> bool {
    match facts.type_name(name) {
        Some(TypeExpr::Name(meaning)) => meaning == "typing.Any",
        Some(_) => false,
        None => {
            let is_short = name.len() <= 2 && name.starts_with(|it: char| it.is_ascii_uppercase());
            is_short && facts.class(name).is_none()
        }
    }
}

fn each_name(kind: &TypeExpr, found: &mut impl FnMut(&str)) {
    match kind {
        // The variables of `class Box[T]` are no names that lead anywhere.
        TypeExpr::Name(name) | TypeExpr::Other(name) => found(name),
        TypeExpr::Generic { base, args } => {
            each_name(base, found);
            for arg in args {
                each_name(arg, found);
            }
        }
        TypeExpr::Union(items) | TypeExpr::List(items) => {
            for item in items {
                each_name(item, found);
            }
        }
        TypeExpr::Unpack(inner) => each_name(inner, found),
        TypeExpr::Literal(_) | TypeExpr::Ellipsis | TypeExpr::None => {}
    }
}
