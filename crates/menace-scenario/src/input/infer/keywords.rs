//! What `**options` takes: the names that the body asks for, and those that callers give.

use menace_model::{ParamHints, ParamKind};

use super::seen::Seen;
use super::{Guess, literal, uses};
use crate::input::facts::{Facts, Told};
use crate::input::python;
use crate::input::shape::{Field, Shape};

/// More names than that are a table, and no options.
const MAX_NAMES: usize = 12;

/// Makes the shape of a `**` parameter, which is that of one value when it is annotated, that of all
/// of them: with the names that are known; with any, when none is and nobody else gets them.
pub(super) fn gathered(
    facts: &Facts<'_>,
    told: Told<'_>,
    hints: Option<&ParamHints>,
    guess: &mut Guess,
) {
    let has_declared = guess.is_certain && matches!(guess.best(), Shape::Record(_));
    if guess.kind != ParamKind::VarKeyword || has_declared {
        return;
    }
    let seen = hints.map(|hints| Seen::new(&hints.uses)).unwrap_or_default();
    let declared = guess.is_certain.then(|| guess.best().clone());
    let mut fields: Vec<Field> = Vec::new();
    let mut add = |name: &str, shape: Shape| {
        let is_own = told.section.params.iter().any(|param| param.name == name);
        if !is_own && fields.len() < MAX_NAMES && fields.iter().all(|field| field.name != name) {
            fields.push(Field { name: name.to_owned(), shape, required: true });
        }
    };
    for key in &seen.keys {
        let shape = declared.clone().unwrap_or_else(|| uses::at_key(facts, &seen, key));
        add(key, shape);
    }
    let resolve = |name: &str| facts.reference(name);
    for (name, source) in told.hints.sites.iter().flat_map(|site| &site.kwargs) {
        let Some(value) = python::value(source, &resolve) else { continue };
        add(name, declared.clone().unwrap_or_else(|| literal::shape(&value)));
    }
    let shape = if !fields.is_empty() {
        Shape::Record(fields)
    } else if !seen.passed.iter().any(|(_, argument)| argument == "**") {
        let any = Box::new(declared.unwrap_or(Shape::Any));
        Shape::Dict(Box::new(Shape::text()), any)
    } else {
        // Whoever they are passed on to would not know them.
        Shape::Any
    };
    guess.shapes = vec![(shape, 1.0)];
}
