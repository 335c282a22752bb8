//! What the parameters of a section are, from everything that tells of them.
//!
//! An annotation decides. Without one, defaults, names, docstrings, uses and callers vote.

pub(crate) mod annotation;
pub(crate) mod documented;
mod functions;
pub(crate) mod generic;
mod keywords;
pub(crate) mod literal;
mod members;
mod names;
mod seen;
mod sharpen;
mod uses;
mod votes;

use menace_model::{Param, ParamHints, ParamKind, Value};

use self::seen::Seen;
use self::votes::Votes;
use super::facts::{Facts, Told};
use super::make::duck;
use super::python;
use super::shape::Shape;

/// Values of callers that are tried as they are.
const MAX_PASSED: usize = 8;

/// A parameter and what it may be.
#[derive(Debug, Clone)]
pub(crate) struct Guess {
    pub name: String,
    pub kind: ParamKind,
    pub has_default: bool,
    /// It can be left out, and experience says that it should not.
    pub is_needed: bool,
    /// Never empty; the likeliest first.
    pub shapes: Vec<(Shape, f64)>,
    /// An annotation said so.
    pub is_certain: bool,
}

impl Guess {
    pub(crate) fn best(&self) -> &Shape {
        &self.shapes[0].0
    }

    /// Adds what else it might be, when nobody said for certain.
    pub(crate) fn widen(&mut self) {
        if self.is_certain || self.kind == ParamKind::VarKeyword {
            return;
        }
        let others = [
            Shape::text(),
            Shape::Int,
            Shape::list(Shape::Any),
            Shape::Dict(Box::new(Shape::text()), Box::new(Shape::Any)),
            Shape::OneOf(vec![duck::blank()]),
            Shape::Bytes,
            Shape::function(Shape::Any),
            Shape::Float,
            Shape::None,
            Shape::list(Shape::text()),
            Shape::Known("io.StringIO".to_owned()),
        ];
        self.shapes.retain(|(shape, _)| *shape != Shape::Any);
        for (rank, shape) in others.into_iter().enumerate() {
            if self.shapes.iter().all(|(known, _)| *known != shape) {
                self.shapes.push((shape, 0.2 / (1.0 + 0.3 * rank as f64)));
            }
        }
    }

    pub(crate) fn is_variable(&self) -> bool {
        matches!(self.kind, ParamKind::VarPositional | ParamKind::VarKeyword)
    }
}

/// What the name alone makes likeliest.
pub(crate) fn by_name(facts: &Facts<'_>, name: &str) -> Option<Shape> {
    names::best(facts, name)
}

/// Shapes of something with that name that has these members, with their weights.
pub(crate) fn having(
    facts: &Facts<'_>,
    module: &str,
    name: &str,
    members: &[String],
) -> Vec<(Shape, f64)> {
    let seen = Seen { methods: members.to_vec(), module: module.to_owned(), ..Seen::default() };
    let mut votes = Votes::default();
    uses::by_members(facts, &seen, name, &mut votes, 0);
    let ranked = votes.ranked();
    let top = ranked.first().map_or(1.0, |(_, weight)| *weight);
    ranked.into_iter().take(5).map(|(shape, weight)| (shape, 0.5 + weight / top)).collect()
}

/// All parameters of a section.
pub(crate) fn guesses(facts: &Facts<'_>, told: Told<'_>, class: Option<&str>) -> Vec<Guess> {
    (0..told.section.params.len()).map(|index| guess(facts, told, index, class)).collect()
}

/// A parameter of which only the signature is known.
pub(crate) fn from_signature(facts: &Facts<'_>, param: &Param, class: Option<&str>) -> Guess {
    let module = class.and_then(|class| facts.class(class)).map_or("", |class| &class.module);
    let mut guess = finished(facts, param, None, (module, class), 0);
    // Without its source nobody knows a name that it takes.
    if guess.kind == ParamKind::VarKeyword && !matches!(guess.best(), Shape::Record(_)) {
        guess.shapes = vec![(Shape::Any, 1.0)];
    }
    guess
}

fn guess(facts: &Facts<'_>, told: Told<'_>, index: usize, class: Option<&str>) -> Guess {
    let param = &told.section.params[index];
    let mut guess = finished(facts, param, hints_of(told, index), (told.module, class), 0);
    names::by_function(&mut guess, told.section.id.qualname());
    keywords::gathered(facts, told, hints_of(told, index), &mut guess);
    guess
}

fn hints_of(told: Told<'_>, index: usize) -> Option<&ParamHints> {
    let name = &told.section.params.get(index)?.name;
    let at = told.hints.params.get(index).filter(|hints| hints.name == *name);
    at.or_else(|| told.hints.params.iter().find(|hints| hints.name == *name))
}

fn finished(
    facts: &Facts<'_>,
    param: &Param,
    hints: Option<&ParamHints>,
    around: Around<'_>,
    depth: usize,
) -> Guess {
    let class = around.1;
    let annotated = param.resolved.as_ref().map(|kind| annotation::shape_in(facts, kind, class));
    let is_certain = annotated.as_ref().is_some_and(|shape| *shape != Shape::Any);
    let mut shapes = match annotated {
        Some(shape) if is_certain => {
            let seen = hints.map(|hints| Seen::new(&hints.uses)).unwrap_or_default();
            let all = shape.alternatives().iter();
            let all = all.flat_map(|shape| sharpen::sharpened(facts, shape, &seen));
            let ranked = all.enumerate();
            ranked.map(|(rank, shape)| (shape, 1.0 / (1.0 + rank as f64))).collect()
        }
        _ => votes(facts, param, hints, around, depth).ranked(),
    };
    if shapes.is_empty() {
        shapes.push((Shape::Any, 1.0));
    }
    Guess {
        name: param.name.clone(),
        kind: param.kind,
        has_default: param.default.is_some(),
        is_needed: false,
        shapes,
        is_certain,
    }
}

/// What speaks for which shape of a parameter; used for those that pass theirs on to it.
fn param_votes(facts: &Facts<'_>, told: Told<'_>, index: usize, depth: usize) -> Votes {
    let param = &told.section.params[index];
    if let Some(kind) = &param.resolved {
        let mut votes = Votes::default();
        votes.add(annotation::shape(facts, kind), 3.0);
        if !votes.is_empty() {
            return votes;
        }
    }
    votes(facts, param, hints_of(told, index), (told.module, None), depth)
}

/// The module and the class that a parameter belongs to.
type Around<'a> = (&'a str, Option<&'a str>);

fn votes(
    facts: &Facts<'_>,
    param: &Param,
    hints: Option<&ParamHints>,
    (module, class): Around<'_>,
    depth: usize,
) -> Votes {
    let mut votes = Votes::default();
    let resolve = |name: &str| facts.reference(name);
    let mut seen = hints.map(|hints| Seen::new(&hints.uses)).unwrap_or_default();
    module.clone_into(&mut seen.module);
    if let Some(hints) = hints {
        let passed: Vec<Value> = hints
            .passed
            .iter()
            .filter_map(|source| python::value(source, &resolve))
            .take(MAX_PASSED)
            .collect();
        for (rank, value) in passed.iter().enumerate() {
            votes.add(literal::shape(value), 2.0 / (1.0 + rank as f64));
        }
        if !passed.is_empty() {
            votes.add(Shape::OneOf(passed), 4.0);
        }
        let documented = hints.documented.as_ref().and_then(|text| documented::shape(facts, text));
        if let Some(shape) = documented {
            votes.add(shape, 3.0);
        }
        uses::vote(facts, &seen, &param.name, &mut votes, depth);
    }
    let default = param.default.as_ref().and_then(|source| python::value(source, &resolve));
    match default {
        // That it may be missing tells nothing about what it is.
        Some(Value::None) => votes.add(Shape::None, 0.4),
        Some(value) => votes.add(literal::shape(&value), 2.5),
        None => {}
    }
    if param.name == "other"
        && let Some(class) = class
    {
        votes.add(Shape::Instance(class.to_owned()), 4.0);
    }
    let mut called: Vec<&str> = facts.classes_called(&param.name).to_vec();
    called.sort_by(|one, other| {
        facts.nearness(module, other).total_cmp(&facts.nearness(module, one))
    });
    called.truncate(2);
    for class in &called {
        votes.add(Shape::Instance((*class).to_owned()), 1.8 * facts.nearness(module, class));
    }
    names::vote(facts, &param.name, &mut votes);
    votes.discount(facts, &seen.wanted());
    // Which attributes it has nobody knows; that a `tar_info` is a `TarInfo` is more than a hint.
    let whole = crate::input::topic::words(&param.name).concat();
    for class in called {
        let own = class.rsplit('.').next().unwrap_or_default().to_lowercase();
        if own == whole && facts.nearness(module, class) > 0.9 {
            votes.add(Shape::Instance(class.to_owned()), 3.0);
        }
    }
    votes
}
