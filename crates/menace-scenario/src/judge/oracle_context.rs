//! What earlier calls revealed about a section: accepted call shapes and baseline outcomes.

use std::collections::HashSet;

use menace_model::{Call, Outcome, Section, Value, Verdict};

use super::{JudgeInput, SectionWeakness, find_weakness, raised_on_purpose};

#[derive(Debug)]
pub struct OracleContext<'a> {
    section: &'a Section,
    params: Vec<String>,
    /// Every parameter has a declared type.
    is_annotated: bool,
    /// Shapes of calls that were answered; with declared types also the same shapes with an empty
    /// container.
    accepted: HashSet<CallShape>,
    /// Shapes of inputs of the declared types.
    declared: HashSet<CallShape>,
    /// A generator yielded items and ended.
    generator_ended: bool,
    /// Whether only a failing call is known: then inputs of the declared types count as accepted.
    trusts_annotations: bool,
}

impl<'a> OracleContext<'a> {
    pub fn new(section: &'a Section) -> Self {
        Self {
            section,
            params: section.params.iter().map(|param| param.name.clone()).collect(),
            is_annotated: section.params.iter().all(|param| param.resolved.is_some()),
            accepted: HashSet::new(),
            declared: HashSet::new(),
            generator_ended: false,
            trusts_annotations: false,
        }
    }

    /// The context for the rerun of a known failure: its input counts as accepted.
    pub fn from_failing_call(section: &'a Section, call: &Call) -> Self {
        Self {
            accepted: HashSet::from([CallShape::from_call(call)]),
            generator_ended: true,
            trusts_annotations: true,
            ..Self::new(section)
        }
    }

    pub fn section(&self) -> &'a Section {
        self.section
    }

    /// Records a call with arguments of the declared types.
    pub fn record_declared(&mut self, call: &Call) {
        self.declared.insert(CallShape::from_call(call));
    }

    /// Records an outcome; `is_baseline` if the call had no faults.
    pub fn record_outcome(&mut self, call: &Call, outcome: &Outcome, is_baseline: bool) {
        if is_baseline && matches!(outcome.verdict, Verdict::Returned | Verdict::Refused) {
            self.accepted.insert(CallShape::from_call(call));
            if self.is_annotated {
                self.accepted.extend(CallShape::with_empty_containers(call));
            }
        }
        let items = outcome.value.as_ref().filter(|value| !value.more);
        self.generator_ended |= items.and_then(|value| value.items).is_some_and(|items| items > 0);
    }

    /// The weakness that this call shows; `baseline` is the outcome without faults.
    pub fn find_weakness(
        &self,
        call: &Call,
        outcome: &Outcome,
        baseline: Option<&BaselineOutcome>,
    ) -> Option<SectionWeakness> {
        find_weakness(&self.judge_input(call, outcome, baseline))
    }

    fn judge_input<'w>(
        &'w self,
        call: &'w Call,
        outcome: &'w Outcome,
        baseline: Option<&'w BaselineOutcome>,
    ) -> JudgeInput<'w> {
        let shape = CallShape::from_call(call);
        let is_declared = self.trusts_annotations || self.declared.contains(&shape);
        // A missing key means that the input is not what the section expects, whatever its type.
        let misses_key = || outcome.exception.as_ref().is_some_and(|one| one.kind == "KeyError");
        let is_accepted = self.accepted.contains(&shape)
            || self.trusts_annotations && self.is_annotated && !misses_key();
        JudgeInput {
            section: self.section.id.qualname(),
            params: &self.params,
            call,
            outcome,
            baseline,
            is_shape_accepted: is_accepted && (is_declared || !self.is_annotated),
            is_fully_annotated: self.is_annotated && is_declared,
            has_ended_before: self.generator_ended,
        }
    }
}

const MAX_SHAPE_DEPTH: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CallShape(String);

impl CallShape {
    pub(super) fn from_call(call: &Call) -> Self {
        Self(
            arguments(call)
                .map(|(keyword, value)| keyword + &describe_type(value, 0) + ",")
                .collect(),
        )
    }

    /// The shapes of the call with one of its lists or sets empty, which is of the same type.
    pub(super) fn with_empty_containers(call: &Call) -> impl Iterator<Item = Self> {
        let names: Vec<String> = arguments(call)
            .map(|(keyword, value)| keyword + &describe_type(value, 0) + ",")
            .collect();
        let emptied = arguments(call).enumerate().filter_map(|(at, (keyword, value))| {
            let empty = match value {
                Value::List(items) if !items.is_empty() => "[]",
                Value::Set(items) if !items.is_empty() => "{}",
                Value::FrozenSet(items) if !items.is_empty() => "f{}",
                _ => return None,
            };
            Some((at, keyword + empty + ","))
        });
        let emptied: Vec<_> = emptied.collect();
        emptied.into_iter().map(move |(at, empty)| {
            let mut names = names.clone();
            names[at] = empty;
            Self(names.concat())
        })
    }
}

fn arguments(call: &Call) -> impl Iterator<Item = (String, &Value)> {
    let named = call.kwargs.iter().map(|(keyword, value)| (format!("{keyword}="), value));
    call.args.iter().map(|value| (String::new(), value)).chain(named)
}

fn describe_type(value: &Value, depth: usize) -> String {
    let inside = |open: &str, items: &[Value], close: &str| {
        if depth >= MAX_SHAPE_DEPTH {
            return format!("{open}…{close}");
        }
        let mut names: Vec<String> =
            items.iter().map(|item| describe_type(item, depth + 1)).collect();
        names.sort();
        names.dedup();
        format!("{open}{}{close}", names.join("|"))
    };
    match value {
        Value::None => "None".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Int(_) | Value::BigInt(_) => "int".to_owned(),
        Value::Float(_) => "float".to_owned(),
        Value::Complex { .. } => "complex".to_owned(),
        Value::Str(_) => "str".to_owned(),
        Value::Bytes(_) => "bytes".to_owned(),
        Value::ByteArray(_) => "bytearray".to_owned(),
        Value::List(items) => inside("[", items, "]"),
        Value::Tuple(items) if depth < MAX_SHAPE_DEPTH => {
            // Positions of a tuple have a meaning.
            let names: Vec<String> =
                items.iter().map(|item| describe_type(item, depth + 1)).collect();
            format!("({})", names.join(","))
        }
        Value::Tuple(_) => "(…)".to_owned(),
        Value::Set(items) => inside("{", items, "}"),
        Value::FrozenSet(items) => inside("f{", items, "}"),
        Value::Dict(pairs) => {
            let mut names: Vec<String> = pairs
                .iter()
                .map(|(key, value)| match key {
                    Value::Str(text) if depth < MAX_SHAPE_DEPTH => {
                        let key = String::from_utf8_lossy(text.as_bytes()).into_owned();
                        format!("{key:?}:{}", describe_type(value, depth + 1))
                    }
                    _ => format!("{}:…", describe_type(key, depth + 1)),
                })
                .collect();
            names.sort();
            format!("{{{}}}", names.join(","))
        }
        Value::Ellipsis => "...".to_owned(),
        Value::Name(reference) => reference.to_string(),
        Value::New { class, .. } => class.to_string(),
        Value::Repeat { value, .. } | Value::Shared { value, .. } | Value::After { value, .. } => {
            describe_type(value, depth)
        }
        Value::Method { on, name: method, .. } => {
            format!("{}.{method}()", describe_type(on, depth))
        }
        Value::Stub { .. } => "stub".to_owned(),
        Value::Returns(_) | Value::Raises(_) | Value::Argument(_) => "function".to_owned(),
        Value::Yields(_) => "generator function".to_owned(),
        Value::Async(_) => "coroutine function".to_owned(),
        Value::SharedRef(_) => "again".to_owned(),
    }
}

/// The parts of a baseline outcome that calls under faults are compared with. Whole outcomes are
/// large, and tens of thousands are kept until the fault stage is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineOutcome {
    pub verdict: Verdict,
    /// Hash of the result.
    pub hash: Option<String>,
    /// The section raised on purpose.
    pub(super) raised_on_purpose: bool,
    /// The result contains no addresses, so that equal results have equal hashes.
    pub(super) is_comparable: bool,
    /// The call changed files.
    pub(crate) has_touched: bool,
    /// Path and content hash of changed files outside of the temporary directory.
    pub(super) written: Box<[(String, String)]>,
}

impl From<&Outcome> for BaselineOutcome {
    fn from(outcome: &Outcome) -> Self {
        let value = outcome.value.as_ref();
        let touched = &outcome.files.touched;
        let lasting = touched.iter().filter(|file| !file.path.starts_with("/tmp"));
        Self {
            verdict: outcome.verdict,
            hash: value.and_then(|value| value.hash.clone()),
            raised_on_purpose: raised_on_purpose(outcome),
            is_comparable: value.is_none_or(|value| value.value.is_some()),
            has_touched: !touched.is_empty(),
            written: lasting
                .filter_map(|file| Some((file.path.clone(), file.hash.clone()?)))
                .collect(),
        }
    }
}
