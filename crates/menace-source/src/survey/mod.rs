//! The survey of an analysed repository: its classes, how parameters are used, and which arguments
//! callers pass.
//!
//! It is no part of the analysis, which would take longer, but computed on request. All files are
//! read once more for the calls in them, in parallel; then the modules whose hints are requested,
//! one at a time.
//!
//! Invariant: equal repositories give equal results, in the same order.

mod call_sites;
mod docstring;
mod doctest;
mod functional;
mod known_value;
mod lines;
mod name_environment;
mod passed_params;
mod patterns;
mod section_index;
#[cfg(test)]
mod tests;
mod walk;

use rayon::ThreadPoolBuildError;
use rayon::prelude::*;
use ruff_python_ast::ModModule;
use ruff_python_parser::Parsed;
use ruff_source_file::LineIndex;
use rustc_hash::{FxHashMap, FxHashSet};

use menace_model::{
    AnalyzedModule, ClassIndex, NamedTypeIndex, Section, SectionHints, SectionKind, TypeExpr,
};

use crate::analyze::{Analysis, AnalyzedRepository, build_thread_pool, read_source};
use crate::facts::ClassFacts;
use crate::link::{self, ReferenceResolver, SurveyedClasses, strip_definition_number};
use crate::{decode, parse, stack};
use call_sites::{CallSiteTable, UnresolvedCallSite};
use functional::{FunctionalDefinitions, collect_functional};
use section_index::SectionIndex;
use walk::{SurveyContext, SurveyMode, SurveyWalker};

/// Why a repository cannot be surveyed.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    #[error("`{path}` has changed since it was analysed; analyse the repository again")]
    Changed { path: String },
    #[error("`{path}` is no module of the repository that was analysed")]
    Unknown { path: String },
    #[error("cannot start worker threads")]
    Threads(#[from] ThreadPoolBuildError),
}

/// Facts that only the survey collects, by module.
#[derive(Debug)]
pub(crate) struct SurveyFacts {
    /// The classes that a call makes.
    classes: Vec<Vec<ClassFacts>>,
    types: Vec<Vec<(String, TypeExpr)>>,
    call_sites: Vec<Vec<UnresolvedCallSite>>,
}

/// An analysed repository that can be queried for classes and hints.
#[derive(Debug)]
pub struct RepositorySurvey<'a> {
    analysis: &'a Analysis,
    index: SectionIndex<'a>,
    defined_names: DefinedNames<'a>,
    call_sites: CallSiteTable,
}

/// Modules and qualified names of the repository's definitions.
#[derive(Debug)]
struct DefinedNames<'a> {
    classes: FxHashSet<(usize, &'a str)>,
    functions: FxHashMap<(usize, &'a str), &'a Section>,
}

impl Analysis {
    /// Makes a survey. The first one reads every file of the repository once more; each builds its
    /// own tables, so it should be reused.
    pub fn survey(&self) -> Result<RepositorySurvey<'_>, SurveyError> {
        let repository = &self.repository;
        let survey_facts = if let Some(known) = repository.survey_facts.get() {
            known
        } else {
            let found = collect_survey_facts(self)?;
            repository.survey_facts.get_or_init(|| found)
        };
        let resolver = ReferenceResolver::new(&repository.names, &repository.facts);
        let sections = self.modules.iter().map(|module| module.sections.as_slice()).collect();
        let surveyed_classes = SurveyedClasses { functional_classes: &survey_facts.classes };
        let classes = link::RepositoryClasses::new(resolver, sections, Some(surveyed_classes));
        let index = SectionIndex::new(classes, &self.modules);
        let sites =
            CallSiteTable::new(survey_facts.call_sites.iter().flatten(), &index, &self.modules);
        Ok(RepositorySurvey {
            analysis: self,
            index,
            defined_names: DefinedNames::from_analysis(self),
            call_sites: sites,
        })
    }
}

impl RepositorySurvey<'_> {
    /// All classes of the repository.
    pub fn classes(&self) -> ClassIndex {
        self.index.classes.build_class_index()
    }

    /// Names of the repository that refer to a type.
    pub fn type_names(&self) -> NamedTypeIndex {
        let repository = &self.analysis.repository;
        let types =
            repository.survey_facts.get().map(|look| look.types.iter()).into_iter().flatten();
        let mut names = NamedTypeIndex::default();
        for (module, types) in types.enumerate() {
            for (name, meaning) in types {
                let mut meaning = meaning.clone();
                self.index.classes.resolver().resolve_type(module, Some(&mut meaning));
                let dotted = format!("{}.{name}", repository.names.name(module));
                names.0.entry(dotted).or_insert(meaning);
            }
        }
        names
    }

    /// The hints for each section of a module, in their order.
    pub fn hints(&self, module: &AnalyzedModule) -> Result<Vec<SectionHints>, SurveyError> {
        let repository = &self.analysis.repository;
        let path = || module.path.clone();
        let place = repository.names.module_at(&module.path);
        let place = place.ok_or_else(|| SurveyError::Unknown { path: path() })?;
        if module.sections.is_empty() {
            return Ok(Vec::new());
        }
        let context =
            self.defined_names.survey_context(self.index.classes.resolver(), Some(&self.index));
        let hints = stack::with_large_stack(|| {
            let file = ReparsedFile::read(repository, module)?;
            let wanted = SurveyMode::Hints { report: module, lines: &file.lines };
            let tree = file.parsed.syntax();
            let mut hints =
                SurveyWalker::new(&file.text, tree, place, context, wanted).collect_hints()?;
            let lines = lines::section_lines(tree, &file.lines, &module.sections);
            for (hints, lines) in hints.iter_mut().zip(lines) {
                hints.lines = lines;
            }
            let uses = patterns::section_patterns(tree, &file.lines, &module.sections);
            for (hints, uses) in hints.iter_mut().zip(uses) {
                hints.literals.pattern_uses = uses;
            }
            Some(hints)
        });
        let mut hints = hints.ok_or_else(|| SurveyError::Changed { path: path() })?;
        passed_params::follow_passed_params(module, &mut hints);
        for (section, hints) in hints.iter_mut().enumerate() {
            self.call_sites.add_to_hints((place, section), hints);
        }
        Ok(hints)
    }
}

impl<'a> DefinedNames<'a> {
    fn from_analysis(analysis: &'a Analysis) -> Self {
        let facts = analysis.repository.facts.iter().enumerate();
        let classes = facts.flat_map(|(module, facts)| {
            facts.classes.iter().map(move |class| (module, class.qualname.as_str()))
        });
        let modules = analysis.modules.iter().enumerate();
        let functions = modules.flat_map(|(module, report)| {
            let functions = report.sections.iter().filter(|each| each.kind != SectionKind::Module);
            functions.map(move |section| {
                ((module, strip_definition_number(section.id.qualname())), section)
            })
        });
        Self { classes: classes.collect(), functions: functions.collect() }
    }

    fn survey_context(
        &'a self,
        resolver: &'a ReferenceResolver<'a>,
        index: Option<&'a SectionIndex<'a>>,
    ) -> SurveyContext<'a> {
        SurveyContext { resolver, classes: &self.classes, functions: &self.functions, index }
    }
}

/// Reads every file that the analysis could read; a file that has changed since and cannot be
/// parsed any more is skipped.
fn collect_survey_facts(analysis: &Analysis) -> Result<SurveyFacts, SurveyError> {
    let repository = &analysis.repository;
    let pool = build_thread_pool(repository.jobs)?;
    let resolver = ReferenceResolver::new(&repository.names, &repository.facts);
    let named = DefinedNames::from_analysis(analysis);
    let context = named.survey_context(&resolver, None);
    let look = |(place, module): (usize, &AnalyzedModule)| {
        let Some(file) = ReparsedFile::read(repository, module) else { return Default::default() };
        let tree = file.parsed.syntax();
        let sites = SurveyWalker::new(&file.text, tree, place, context, SurveyMode::CallSites)
            .collect_call_sites();
        let FunctionalDefinitions { classes, types } = collect_functional(&file.text, tree);
        (classes, (types, sites))
    };
    let modules = analysis.modules.par_iter().with_max_len(4).enumerate();
    let (classes, (types, sites)) = pool.install(|| modules.map(look).unzip());
    Ok(SurveyFacts { classes, types, call_sites: sites })
}

/// A file of the repository, read again.
struct ReparsedFile {
    text: String,
    lines: LineIndex,
    parsed: Parsed<ModModule>,
}

impl ReparsedFile {
    /// `None` when the module could not be analysed.
    fn read(repository: &AnalyzedRepository, module: &AnalyzedModule) -> Option<Self> {
        if module.error.is_some() {
            return None;
        }
        let bytes = read_source(&repository.root.join(&module.path)).ok()?;
        let text = decode::decode(&bytes).ok()?.into_owned();
        let lines = LineIndex::from_source_text(&text);
        let parsed = parse::parse(&text, &lines).ok()?;
        Some(Self { text, lines, parsed })
    }
}
