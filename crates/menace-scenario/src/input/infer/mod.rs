//! Infers the shapes of a section's parameters.
//!
//! An annotation decides. Without one, defaults, names, docstrings, uses and call sites vote.

pub(crate) mod annotation;
pub(crate) mod docstring_types;
mod library;
pub(crate) mod literal;
mod narrowing;
mod param_usage;
mod uses;
mod votes;

use menace_model::{ParamHints, ParamKind, SignatureParam, Value};

use self::param_usage::ParamUsage;
use self::votes::ShapeVotes;
use super::make::objects;
use super::python;
use super::repository_facts::{RepositoryFacts, SectionContext};
use super::shape::{RecordField, ValueShape};

/// Literals of call sites that are used as they are.
const MAX_CALLER_VALUES: usize = 8;

/// A parameter and its possible shapes.
#[derive(Debug, Clone)]
pub(crate) struct ParamGuess {
    pub name: String,
    pub kind: ParamKind,
    pub has_default: bool,
    /// It has a default, but calls without it failed.
    pub is_needed: bool,
    /// Never empty; the likeliest first.
    pub shapes: Vec<(ValueShape, f64)>,
    /// The shape is declared by an annotation.
    pub is_certain: bool,
}

impl ParamGuess {
    pub(crate) fn likeliest_shape(&self) -> &ValueShape {
        &self.shapes[0].0
    }

    /// Adds unlikely shapes, unless the shape is declared.
    pub(crate) fn add_alternatives(&mut self) {
        if self.is_certain || self.kind == ParamKind::VarKeyword {
            return;
        }
        let others = [
            ValueShape::any_text(),
            ValueShape::Int,
            ValueShape::list_of(ValueShape::Any),
            ValueShape::Dict(Box::new(ValueShape::any_text()), Box::new(ValueShape::Any)),
            ValueShape::OneOf(vec![objects::blank_object()]),
            ValueShape::Bytes,
            ValueShape::function_returning(ValueShape::Any),
            ValueShape::Float,
            ValueShape::None,
            ValueShape::list_of(ValueShape::any_text()),
            ValueShape::LibraryInstance("io.StringIO".to_owned()),
        ];
        self.shapes.retain(|(shape, _)| *shape != ValueShape::Any);
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

/// The likeliest shape for a name.
pub(crate) fn shape_by_name(facts: &RepositoryFacts<'_>, name: &str) -> Option<ValueShape> {
    votes::shape_for_name(facts, name)
}

/// Shapes of a value of that name with these members, with their weights.
pub(crate) fn shapes_with_members(
    facts: &RepositoryFacts<'_>,
    module: &str,
    name: &str,
    members: &[String],
) -> Vec<(ValueShape, f64)> {
    let seen = ParamUsage {
        methods: members.to_vec(),
        module: module.to_owned(),
        ..ParamUsage::default()
    };
    let mut votes = ShapeVotes::default();
    uses::vote_by_members(facts, &seen, name, &mut votes, 0);
    let ranked = votes.into_ranked();
    let top = ranked.first().map_or(1.0, |(_, weight)| *weight);
    ranked.into_iter().take(5).map(|(shape, weight)| (shape, 0.5 + weight / top)).collect()
}

/// All parameters of a section.
pub(crate) fn guess_params(
    facts: &RepositoryFacts<'_>,
    context: SectionContext<'_>,
    class: Option<&str>,
) -> Vec<ParamGuess> {
    (0..context.section.params.len())
        .map(|index| guess_param(facts, context, index, class))
        .collect()
}

/// Infers a parameter from its signature alone.
pub(crate) fn from_signature(
    facts: &RepositoryFacts<'_>,
    param: &SignatureParam,
    class: Option<&str>,
) -> ParamGuess {
    let module = class.and_then(|class| facts.class(class)).map_or("", |class| &class.module);
    let mut guess = build_guess(facts, param, None, (module, class), 0);
    // Without the source, no accepted keyword is known.
    if guess.kind == ParamKind::VarKeyword
        && !matches!(guess.likeliest_shape(), ValueShape::Record(_))
    {
        guess.shapes = vec![(ValueShape::Any, 1.0)];
    }
    guess
}

fn guess_param(
    facts: &RepositoryFacts<'_>,
    context: SectionContext<'_>,
    index: usize,
    class: Option<&str>,
) -> ParamGuess {
    let param = &context.section.params[index];
    let mut guess =
        build_guess(facts, param, param_hints(context, index), (context.module, class), 0);
    votes::refine_by_function_name(&mut guess, context.section.id.qualname());
    infer_keyword_options(facts, context, param_hints(context, index), &mut guess);
    guess
}

fn param_hints(context: SectionContext<'_>, index: usize) -> Option<&ParamHints> {
    let name = &context.section.params.get(index)?.name;
    let at = context.hints.params.get(index).filter(|hints| hints.name == *name);
    at.or_else(|| context.hints.params.iter().find(|hints| hints.name == *name))
}

fn build_guess(
    facts: &RepositoryFacts<'_>,
    param: &SignatureParam,
    hints: Option<&ParamHints>,
    around: ParamScope<'_>,
    depth: usize,
) -> ParamGuess {
    let class = around.1;
    let annotated = param
        .resolved
        .as_ref()
        .map(|kind| annotation::annotation_shape_in_class(facts, kind, class));
    let is_certain = annotated.as_ref().is_some_and(|shape| *shape != ValueShape::Any);
    let mut shapes = match annotated {
        Some(shape) if is_certain => {
            let usage = hints.map(|hints| ParamUsage::new(&hints.uses)).unwrap_or_default();
            let all = shape.alternatives().iter();
            let all = all.flat_map(|shape| narrowing::narrowed_shapes(facts, shape, &usage));
            let ranked = all.enumerate();
            ranked.map(|(rank, shape)| (shape, 1.0 / (1.0 + rank as f64))).collect()
        }
        _ => collect_votes(facts, param, hints, around, depth).into_ranked(),
    };
    if shapes.is_empty() {
        shapes.push((ValueShape::Any, 1.0));
    }
    ParamGuess {
        name: param.name.clone(),
        kind: param.kind,
        has_default: param.default.is_some(),
        is_needed: false,
        shapes,
        is_certain,
    }
}

/// The votes for a parameter of a callee, for parameters that are passed on to it.
fn collect_param_votes(
    facts: &RepositoryFacts<'_>,
    context: SectionContext<'_>,
    index: usize,
    depth: usize,
) -> ShapeVotes {
    let param = &context.section.params[index];
    if let Some(kind) = &param.resolved {
        let mut votes = ShapeVotes::default();
        votes.add_vote(annotation::annotation_shape(facts, kind), 3.0);
        if !votes.is_empty() {
            return votes;
        }
    }
    collect_votes(facts, param, param_hints(context, index), (context.module, None), depth)
}

/// Module and class of a parameter.
type ParamScope<'a> = (&'a str, Option<&'a str>);

fn collect_votes(
    facts: &RepositoryFacts<'_>,
    param: &SignatureParam,
    hints: Option<&ParamHints>,
    (module, class): ParamScope<'_>,
    depth: usize,
) -> ShapeVotes {
    let mut votes = ShapeVotes::default();
    let resolve = |name: &str| facts.reference(name);
    let mut usage = hints.map(|hints| ParamUsage::new(&hints.uses)).unwrap_or_default();
    module.clone_into(&mut usage.module);
    if let Some(hints) = hints {
        let passed: Vec<Value> = hints
            .passed_literals
            .iter()
            .filter_map(|source| python::parse_value(source, &resolve))
            .take(MAX_CALLER_VALUES)
            .collect();
        for (rank, value) in passed.iter().enumerate() {
            votes.add_vote(literal::literal_shape(value), 2.0 / (1.0 + rank as f64));
        }
        if !passed.is_empty() {
            votes.add_vote(ValueShape::OneOf(passed), 4.0);
        }
        let documented = hints
            .documented_type
            .as_ref()
            .and_then(|text| docstring_types::docstring_shape(facts, text));
        if let Some(shape) = documented {
            votes.add_vote(shape, 3.0);
        }
        uses::vote_by_usage(facts, &usage, &param.name, &mut votes, depth);
    }
    let default = param.default.as_ref().and_then(|source| python::parse_value(source, &resolve));
    match default {
        // A default of `None` says nothing about the type.
        Some(Value::None) => votes.add_vote(ValueShape::None, 0.4),
        Some(value) => votes.add_vote(literal::literal_shape(&value), 2.5),
        None => {}
    }
    if param.name == "other"
        && let Some(class) = class
    {
        votes.add_vote(ValueShape::Instance(class.to_owned()), 4.0);
    }
    let mut called: Vec<&str> = facts.classes_named_like(&param.name).to_vec();
    called.sort_by(|one, other| {
        facts.class_likelihood(module, other).total_cmp(&facts.class_likelihood(module, one))
    });
    called.truncate(2);
    for class in &called {
        votes.add_vote(
            ValueShape::Instance((*class).to_owned()),
            1.8 * facts.class_likelihood(module, class),
        );
    }
    votes::vote_by_name(facts, &param.name, &mut votes);
    votes.discount(facts, &usage.required_members());
    // Attributes are not all known, so a class may be discounted wrongly: a `tar_info` is a
    // `TarInfo`.
    let whole = crate::input::name_topics::split_words(&param.name).concat();
    for class in called {
        let own = class.rsplit('.').next().unwrap_or_default().to_lowercase();
        if own == whole && facts.class_likelihood(module, class) > 0.9 {
            votes.add_vote(ValueShape::Instance(class.to_owned()), 3.0);
        }
    }
    votes
}

/// More names are a table, not options.
const MAX_OPTION_NAMES: usize = 12;

/// Infers the shape of a `**` parameter: a record of the names that the body and the call sites
/// use. Any names, if none is known and the parameter is not passed on as `**`.
pub(super) fn infer_keyword_options(
    facts: &RepositoryFacts<'_>,
    context: SectionContext<'_>,
    hints: Option<&ParamHints>,
    guess: &mut ParamGuess,
) {
    let has_declared = guess.is_certain && matches!(guess.likeliest_shape(), ValueShape::Record(_));
    if guess.kind != ParamKind::VarKeyword || has_declared {
        return;
    }
    let usage = hints.map(|hints| ParamUsage::new(&hints.uses)).unwrap_or_default();
    let declared = guess.is_certain.then(|| guess.likeliest_shape().clone());
    let mut fields: Vec<RecordField> = Vec::new();
    let mut add = |name: &str, shape: ValueShape| {
        let is_own = context.section.params.iter().any(|param| param.name == name);
        if !is_own
            && fields.len() < MAX_OPTION_NAMES
            && fields.iter().all(|field| field.name != name)
        {
            fields.push(RecordField { name: name.to_owned(), shape, required: true });
        }
    };
    for key in &usage.keys {
        let shape = declared.clone().unwrap_or_else(|| uses::shape_at_key(facts, &usage, key));
        add(key, shape);
    }
    let resolve = |name: &str| facts.reference(name);
    for (name, source) in context.hints.call_sites.iter().flat_map(|site| &site.kwargs) {
        let Some(value) = python::parse_value(source, &resolve) else { continue };
        add(name, declared.clone().unwrap_or_else(|| literal::literal_shape(&value)));
    }
    let shape = if !fields.is_empty() {
        ValueShape::Record(fields)
    } else if !usage.passed_to.iter().any(|(_, argument)| argument == "**") {
        let any = Box::new(declared.unwrap_or(ValueShape::Any));
        ValueShape::Dict(Box::new(ValueShape::any_text()), any)
    } else {
        // The function that they are passed on to may not accept unknown names.
        ValueShape::Any
    };
    guess.shapes = vec![(shape, 1.0)];
}
