//! Domains: which values a parameter takes by its annotation, docstring, default, guards and call
//! sites, and whether the input of a call lies inside of them.
//!
//! Invariant: without evidence an input is neither inside nor outside of a domain.

mod contains;
mod exceptions;
#[cfg(test)]
mod tests;

use menace_model::{
    Call, MethodCall, ParamHints, ParamKind, ParamUse, SectionId, SignatureParam, TypeExpr, Value,
};
use serde::{Deserialize, Serialize};

use crate::input::{
    MAX_PLAUSIBLE_COUNT, RepositoryFacts, SectionContext, ValueShape, annotation_shape,
    docstring_shape, literal_shape, parse_value,
};

use contains::contains;
pub use exceptions::{is_documented_exception, is_protocol_exception};

/// Parameters that are positions in a sequence which another parameter is.
const INDEX_WORDS: [&str; 13] = menace_model::words![
    pos position idx index loc location offset start end stop i lineno column
];

menace_model::named_enum! {
    /// What says which values a parameter takes, strongest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum DomainEvidence {
        Annotation = "annotation",
        Docstring = "docstring",
        Default = "default",
        /// An `isinstance` in the body.
        Guard = "guard",
        CallSite = "call_site",
    }
}

menace_model::named_enum! {
    /// Where a value lies, from inside to outside.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum DomainFit {
        Inside = "inside",
        /// Of the type, and so extreme that few callers pass it.
        Edge = "edge",
        /// Nothing says which values the parameter takes.
        Unknown = "unknown",
        Outside = "outside",
    }
}

/// One argument of a call, or of a constructor or method that prepares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedArgument {
    /// `tax`, or `tax of Cart()`.
    pub name: String,
    pub fit: DomainFit,
    pub evidence: Option<DomainEvidence>,
    /// Whether the argument belongs to the set-up, not to the call itself.
    pub in_set_up: bool,
    /// Whether it is an object or function that was made up.
    pub is_made_up: bool,
}

/// All arguments of a call and of its set-up, judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputDomain {
    pub arguments: Vec<JudgedArgument>,
}

impl InputDomain {
    /// Judges the input of a call of this section.
    pub fn of_call(facts: &RepositoryFacts<'_>, section: &SectionId, call: &Call) -> Self {
        let mut judge = DomainJudge { facts, arguments: Vec::new() };
        if let Some(context) = facts.section(section) {
            judge.judge_arguments(context, &call.args, &call.kwargs, "");
        } else {
            judge.judge_set_up(&call.args, &call.kwargs);
        }
        if let Some(receiver) = &call.receiver {
            judge.judge_value(receiver);
        }
        Self { arguments: judge.arguments }
    }

    /// The argument that is farthest outside, if there is one.
    pub fn worst(&self) -> Option<&JudgedArgument> {
        self.arguments.iter().max_by_key(|argument| argument.fit)
    }

    pub fn made_up(&self) -> Option<&JudgedArgument> {
        self.arguments.iter().find(|argument| argument.is_made_up)
    }
}

struct DomainJudge<'a, 'f> {
    facts: &'a RepositoryFacts<'f>,
    arguments: Vec<JudgedArgument>,
}

impl<'f> DomainJudge<'_, 'f> {
    fn judge_arguments(
        &mut self,
        context: SectionContext<'_>,
        args: &[Value],
        kwargs: &[(String, Value)],
        owner: &str,
    ) {
        let params = &context.section.params;
        let positional: Vec<&SignatureParam> = params
            .iter()
            .filter(|param| {
                matches!(param.kind, ParamKind::PositionalOnly | ParamKind::PositionalOrKeyword)
            })
            .collect();
        let variable = |kind| params.iter().find(|param| param.kind == kind);
        let placed = args.iter().enumerate().map(|(at, value)| {
            (positional.get(at).copied().or_else(|| variable(ParamKind::VarPositional)), value)
        });
        let named = kwargs.iter().map(|(name, value)| {
            let param = params.iter().find(|param| param.name == *name);
            (param.or_else(|| variable(ParamKind::VarKeyword)), value)
        });
        let all: Vec<_> = placed.chain(named).collect();
        let longest = all.iter().filter_map(|(_, value)| sequence_length(value)).max();
        for (param, value) in all {
            if let Some(param) = param {
                let (fit, evidence) = self.fit_of(context, param, value, longest);
                self.arguments.push(JudgedArgument {
                    name: format!("{}{owner}", param.name),
                    fit,
                    evidence,
                    in_set_up: !owner.is_empty(),
                    is_made_up: is_made_up(value),
                });
            }
            self.judge_value(value);
        }
    }

    /// Judges the arguments of the constructors and methods that make a value.
    fn judge_value(&mut self, value: &Value) {
        match value {
            Value::New { class, args, kwargs } => {
                let dotted = format!("{}.{}", class.module(), class.qualname());
                self.judge_maker(self.facts.section_named(&dotted), args, kwargs, &dotted);
            }
            Value::Method { on, name, args, kwargs } => {
                self.judge_value(on);
                self.judge_maker(self.method_of(on, name), args, kwargs, name);
            }
            Value::After { value, calls } => {
                self.judge_value(value);
                for MethodCall { name, args, kwargs } in calls {
                    self.judge_maker(self.method_of(value, name), args, kwargs, name);
                }
            }
            Value::Stub { .. } => self.arguments.push(JudgedArgument {
                name: "a stub".to_owned(),
                fit: DomainFit::Unknown,
                evidence: None,
                in_set_up: true,
                is_made_up: true,
            }),
            _ => value.each_child(&mut |child| self.judge_value(child)),
        }
    }

    fn judge_maker(
        &mut self,
        maker: Option<SectionContext<'_>>,
        args: &[Value],
        kwargs: &[(String, Value)],
        name: &str,
    ) {
        match maker {
            Some(context) => {
                let short = name.rsplit('.').next().unwrap_or(name);
                self.judge_arguments(context, args, kwargs, &format!(" of {short}()"));
            }
            None => self.judge_set_up(args, kwargs),
        }
    }

    fn judge_set_up(&mut self, args: &[Value], kwargs: &[(String, Value)]) {
        for value in args.iter().chain(kwargs.iter().map(|(_, value)| value)) {
            self.judge_value(value);
        }
    }

    fn method_of(&self, receiver: &Value, name: &str) -> Option<SectionContext<'f>> {
        let class = class_of(receiver)?;
        self.facts.method(&class, name)
    }

    fn fit_of(
        &self,
        context: SectionContext<'_>,
        param: &SignatureParam,
        value: &Value,
        longest: Option<u64>,
    ) -> (DomainFit, Option<DomainEvidence>) {
        let domain = ParamDomain::new(self.facts, context, param);
        let (fit, evidence) = domain.fit_of(self.facts, value);
        if fit == DomainFit::Outside {
            return (fit, evidence);
        }
        if is_index_beyond(&param.name, value, longest) {
            return (DomainFit::Outside, evidence);
        }
        if is_extreme(value) { (fit.max(DomainFit::Edge), evidence) } else { (fit, evidence) }
    }
}

/// The values that a parameter takes, as far as they are known.
struct ParamDomain {
    shapes: Vec<(DomainEvidence, ValueShape)>,
}

impl ParamDomain {
    fn new(
        facts: &RepositoryFacts<'_>,
        context: SectionContext<'_>,
        param: &SignatureParam,
    ) -> Self {
        let mut shapes = Vec::new();
        if let Some(declared) = &param.resolved {
            shapes.push((DomainEvidence::Annotation, annotation_shape(facts, declared)));
        }
        let hints = context.hints.params.iter().find(|hints| hints.name == param.name);
        let documented = hints.and_then(|hints| hints.documented_type.as_ref());
        if let Some(shape) = documented.and_then(|text| docstring_shape(facts, text)) {
            shapes.push((DomainEvidence::Docstring, shape));
        }
        let resolve = |name: &str| facts.reference(name);
        if let Some(default) = param.default.as_ref().and_then(|text| parse_value(text, &resolve)) {
            shapes.push((DomainEvidence::Default, literal_shape(&default)));
        }
        if let Some(hints) = hints {
            shapes.extend(guards(facts, hints));
            let passed = hints.passed_literals.iter();
            let passed = passed.filter_map(|text| parse_value(text, &resolve));
            shapes.extend(passed.map(|one| (DomainEvidence::CallSite, literal_shape(&one))));
        }
        shapes.retain(|(_, shape)| *shape.without_bounds() != ValueShape::Any);
        Self { shapes }
    }

    fn fit_of(
        &self,
        facts: &RepositoryFacts<'_>,
        value: &Value,
    ) -> (DomainFit, Option<DomainEvidence>) {
        let mut known = None;
        for (evidence, shape) in &self.shapes {
            let is_declared =
                matches!(evidence, DomainEvidence::Annotation | DomainEvidence::Docstring);
            match contains(facts, shape, value) {
                Some(true) => return (DomainFit::Inside, Some(*evidence)),
                Some(false) if is_declared => {
                    let takes_default = matches!(value, Value::None)
                        && self.shapes.iter().any(|(_, shape)| *shape == ValueShape::None);
                    let fit = if takes_default { DomainFit::Inside } else { DomainFit::Outside };
                    return (fit, Some(*evidence));
                }
                // A default of `None` says nothing about other values.
                Some(false) if *shape != ValueShape::None => known = known.or(Some(*evidence)),
                None if is_declared => return (DomainFit::Unknown, Some(*evidence)),
                Some(false) | None => {}
            }
        }
        match known {
            Some(evidence) => (DomainFit::Outside, Some(evidence)),
            None => (DomainFit::Unknown, None),
        }
    }
}

/// The classes that the body checks for.
fn guards<'h>(
    facts: &RepositoryFacts<'_>,
    hints: &'h ParamHints,
) -> impl Iterator<Item = (DomainEvidence, ValueShape)> + use<'h> {
    let classes = hints.uses.iter().flat_map(|used| match used {
        ParamUse::IsInstance(classes) => classes.as_slice(),
        _ => &[],
    });
    let shapes: Vec<_> = classes
        .map(|class| {
            (DomainEvidence::Guard, annotation_shape(facts, &TypeExpr::Name(class.clone())))
        })
        .collect();
    shapes.into_iter()
}

/// Dotted name of the class of an object that is constructed.
fn class_of(value: &Value) -> Option<String> {
    match value {
        Value::New { class, .. } => Some(format!("{}.{}", class.module(), class.qualname())),
        Value::After { value, .. } | Value::Shared { value, .. } => class_of(value),
        _ => None,
    }
}

fn is_made_up(value: &Value) -> bool {
    match value {
        Value::Stub { .. }
        | Value::Returns(_)
        | Value::Raises(_)
        | Value::Yields(_)
        | Value::Argument(_)
        | Value::Async(_) => true,
        Value::Shared { value, .. } | Value::After { value, .. } => is_made_up(value),
        Value::New { class, .. } => matches!(class.module(), "sqlite3" | "unittest.mock"),
        _ => false,
    }
}

/// Numbers that no caller counts to, and text that no file holds.
fn is_extreme(value: &Value) -> bool {
    match value {
        Value::Int(number) => number.unsigned_abs() > MAX_PLAUSIBLE_COUNT.unsigned_abs(),
        Value::BigInt(_) => true,
        Value::Float(number) => !number.is_finite() || number.abs() > 1e15,
        Value::Complex { re, im } => !(re.is_finite() && im.is_finite()),
        Value::Str(text) => text.as_str().is_none(),
        _ => {
            let mut found = false;
            value.each_child(&mut |child| found |= is_extreme(child));
            found
        }
    }
}

fn sequence_length(value: &Value) -> Option<u64> {
    match value {
        Value::Str(text) => {
            Some(text.as_str().map_or(text.as_bytes().len(), |it| it.chars().count()) as u64)
        }
        Value::Bytes(bytes) | Value::ByteArray(bytes) => Some(bytes.len() as u64),
        Value::List(items) | Value::Tuple(items) => Some(items.len() as u64),
        Value::Repeat { value, times } => sequence_length(value)?.checked_mul(*times),
        _ => None,
    }
}

/// Whether it is a position that none of the sequences beside it has.
fn is_index_beyond(param: &str, value: &Value, longest: Option<u64>) -> bool {
    let is_index = param.split('_').any(|word| INDEX_WORDS.contains(&word));
    match (value, longest) {
        (Value::Int(position), Some(length)) if is_index => {
            *position < 0 && position.unsigned_abs() > length
                || *position > 0 && position.unsigned_abs() > length
                || length == 0
        }
        (Value::BigInt(_), Some(_)) => is_index,
        _ => false,
    }
}
