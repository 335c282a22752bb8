//! The call sites of a section, and the literals that they pass.

use rustc_hash::FxHashMap;

use menace_model::{
    AnalyzedModule, CallSite, ParamKind, Section, SectionHints, SectionKind, SignatureParam,
};

use super::section_index::{SectionIndex, SectionPosition};

/// The most complete calls that are kept for a section.
const MAX_CALL_SITES_PER_SECTION: usize = 32;

/// Literals that are kept of a parameter.
const MAX_LITERALS_PER_PARAM: usize = 32;

/// The arguments of a call, as far as they are literals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RenderedArguments {
    pub args: Vec<Option<String>>,
    pub kwargs: Vec<(String, Option<String>)>,
    /// Whether there are other arguments in `*args` or `**kwargs`.
    pub is_spread: bool,
    /// The call that makes the instance.
    pub receiver: Option<String>,
}

/// A call of something in the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnresolvedCallSite {
    /// The module of the callee, and its name in there.
    pub module: usize,
    pub attributes: String,
    /// Whether it is called on an instance.
    pub on_instance: bool,
    /// Whether it is expected to raise an exception.
    pub expects_failure: bool,
    pub arguments: RenderedArguments,
}

/// The calls of all sections.
#[derive(Debug, Default)]
pub(super) struct CallSiteTable(FxHashMap<SectionPosition, SectionCallTally>);

#[derive(Debug, Default)]
struct SectionCallTally {
    calls: FrequencyCounter<CallSite>,
    failing_calls: FrequencyCounter<CallSite>,
    passed_literals: Vec<FrequencyCounter<String>>,
}

/// How often each thing was seen, in the order in which they were first seen.
#[derive(Debug)]
struct FrequencyCounter<T>(FxHashMap<T, (usize, usize)>);

impl<T> Default for FrequencyCounter<T> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<T: std::hash::Hash + Eq + Clone> FrequencyCounter<T> {
    fn add(&mut self, thing: T) {
        let next = self.0.len();
        self.0.entry(thing).or_insert((0, next)).0 += 1;
    }

    fn most_frequent(&self, limit: usize) -> Vec<T> {
        let mut all: Vec<(&T, &(usize, usize))> = self.0.iter().collect();
        all.sort_unstable_by_key(|(_, (count, first))| (std::cmp::Reverse(*count), *first));
        all.into_iter().take(limit).map(|(thing, _)| thing.clone()).collect()
    }
}

impl CallSiteTable {
    /// `found` in the order of modules and of their text.
    pub(super) fn new<'s>(
        found: impl IntoIterator<Item = &'s UnresolvedCallSite>,
        index: &SectionIndex<'_>,
        modules: &[AnalyzedModule],
    ) -> Self {
        let mut sites = Self::default();
        for site in found {
            let Some(place) = index.find_section(site.module, &site.attributes) else { continue };
            let section = &modules[place.0].sections[place.1];
            let by_name = section.id.qualname().ends_with(&site.attributes);
            if !is_complete_call(section, site.on_instance, by_name) {
                continue;
            }
            sites.0.entry(place).or_default().add(section, site);
        }
        sites
    }

    pub(super) fn add_to_hints(&self, place: SectionPosition, hints: &mut SectionHints) {
        let Some(tally) = self.0.get(&place) else { return };
        hints.call_sites = tally.calls.most_frequent(MAX_CALL_SITES_PER_SECTION);
        hints.failing_call_sites = tally.failing_calls.most_frequent(MAX_CALL_SITES_PER_SECTION);
        for (param, passed) in hints.params.iter_mut().zip(&tally.passed_literals) {
            param.passed_literals = passed.most_frequent(MAX_LITERALS_PER_PARAM);
        }
    }
}

/// Whether such a call passes all of the section's arguments, and no receiver among them.
fn is_complete_call(section: &Section, bound: bool, by_name: bool) -> bool {
    match section.kind {
        SectionKind::Function | SectionKind::ClassMethod | SectionKind::StaticMethod => true,
        // `Class.method(instance, …)` has the receiver first; `Class(…)` has none.
        SectionKind::Method => bound || !by_name,
        SectionKind::Property | SectionKind::Nested | SectionKind::Module => false,
    }
}

impl SectionCallTally {
    fn add(&mut self, section: &Section, site: &UnresolvedCallSite) {
        let RenderedArguments { args, kwargs, is_spread, receiver } = &site.arguments;
        let whole_args: Option<Vec<String>> = args.iter().cloned().collect();
        let whole_kwargs: Option<Vec<(String, String)>> =
            kwargs.iter().cloned().map(|(name, value)| Some((name, value?))).collect();
        if let (Some(args), Some(kwargs), false) = (whole_args, whole_kwargs, is_spread) {
            let call = CallSite { args, kwargs, receiver: receiver.clone() };
            if site.expects_failure { self.failing_calls.add(call) } else { self.calls.add(call) }
        }
        if site.expects_failure {
            return;
        }
        self.passed_literals.resize_with(section.params.len(), FrequencyCounter::default);
        let by_position = args.iter().enumerate().filter_map(|(index, text)| {
            Some((positional_param(&section.params, index)?, text.as_ref()?))
        });
        let by_name = kwargs.iter().filter_map(|(name, text)| {
            let param = section.params.iter().position(|param| param.name == *name)?;
            Some((param, text.as_ref()?))
        });
        for (param, text) in by_position.chain(by_name) {
            self.passed_literals[param].add(text.clone());
        }
    }
}

/// The parameter that takes the argument in this place.
fn positional_param(params: &[SignatureParam], place: usize) -> Option<usize> {
    let kind = params.get(place)?.kind;
    let takes = matches!(kind, ParamKind::PositionalOnly | ParamKind::PositionalOrKeyword);
    takes.then_some(place)
}
