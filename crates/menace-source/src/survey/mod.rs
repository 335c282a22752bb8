//! A closer look at an analysed repository: its classes, how parameters are used, who calls with
//! what.
//!
//! Nothing of it is part of an analysis, which has no time for it; it is worked out when somebody
//! asks. All files are read once more for the calls in them, in parallel; then the modules whose
//! hints are wanted, one at a time.
//!
//! Invariant: the same repository gives the same answers, in the same order.

mod docstring;
mod doctest;
mod env;
mod functional;
mod index;
mod known;
mod lines;
mod passing;
mod sites;
#[cfg(test)]
mod tests;
mod walk;

use rayon::ThreadPoolBuildError;
use rayon::prelude::*;
use ruff_python_ast::ModModule;
use ruff_python_parser::Parsed;
use ruff_source_file::LineIndex;
use rustc_hash::{FxHashMap, FxHashSet};

use menace_model::{Classes, Hints, ModuleReport, Section, SectionKind, TypeExpr, TypeNames};

use crate::analyze::{Analysis, Repository, read, workers};
use crate::facts::ClassFacts;
use crate::link::{self, Closer, Resolver, without_number};
use crate::{decode, parse, stack};
use functional::{Functional, functional};
use index::Index;
use sites::{RawSite, Sites};
use walk::{Context, Walker, Wanted};

/// What keeps a repository from being looked at more closely.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    #[error("`{path}` has changed since it was analysed; analyse the repository again")]
    Changed { path: String },
    #[error("`{path}` is no module of the repository that was analysed")]
    Unknown { path: String },
    #[error("cannot start worker threads")]
    Threads(#[from] ThreadPoolBuildError),
}

/// What the files say beyond their facts, by module.
#[derive(Debug)]
pub(crate) struct SecondLook {
    /// The classes that a call makes.
    classes: Vec<Vec<ClassFacts>>,
    types: Vec<Vec<(String, TypeExpr)>>,
    sites: Vec<Vec<RawSite>>,
}

/// An analysed repository, ready to be asked.
#[derive(Debug)]
pub struct Survey<'a> {
    analysis: &'a Analysis,
    index: Index<'a>,
    named: Named<'a>,
    sites: Sites,
}

/// Modules and qualified names of what the repository defines.
#[derive(Debug)]
struct Named<'a> {
    classes: FxHashSet<(usize, &'a str)>,
    functions: FxHashMap<(usize, &'a str), &'a Section>,
}

impl Analysis {
    /// Looks closer. The first time, every file of the repository is read once more; the tables
    /// that a survey asks are made for each, so keep it.
    pub fn survey(&self) -> Result<Survey<'_>, SurveyError> {
        let repository = &self.repository;
        let second_look = if let Some(known) = repository.second_look.get() {
            known
        } else {
            let found = second_look(self)?;
            repository.second_look.get_or_init(|| found)
        };
        let resolver = Resolver::new(&repository.names, &repository.facts);
        let sections = self.modules.iter().map(|module| module.sections.as_slice()).collect();
        let closer = Closer { calls: &second_look.classes };
        let classes = link::Classes::new(resolver, sections, Some(closer));
        let index = Index::new(classes, &self.modules);
        let sites = Sites::new(second_look.sites.iter().flatten(), &index, &self.modules);
        Ok(Survey { analysis: self, index, named: Named::of(self), sites })
    }
}

impl Survey<'_> {
    /// Every class of the repository.
    pub fn classes(&self) -> Classes {
        self.index.classes.table()
    }

    /// Names of the repository that stand for a type.
    pub fn type_names(&self) -> TypeNames {
        let repository = &self.analysis.repository;
        let types =
            repository.second_look.get().map(|look| look.types.iter()).into_iter().flatten();
        let mut names = TypeNames::default();
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

    /// What the source tells about each section of a module, in their order.
    pub fn hints(&self, module: &ModuleReport) -> Result<Vec<Hints>, SurveyError> {
        let repository = &self.analysis.repository;
        let path = || module.path.clone();
        let place = repository.names.at(&module.path);
        let place = place.ok_or_else(|| SurveyError::Unknown { path: path() })?;
        if module.sections.is_empty() {
            return Ok(Vec::new());
        }
        let context = self.named.context(self.index.classes.resolver(), Some(&self.index));
        let hints = stack::roomy(|| {
            let file = File::read(repository, module)?;
            let wanted = Wanted::Hints { report: module, lines: &file.lines };
            let tree = file.parsed.syntax();
            let mut hints = Walker::new(&file.text, tree, place, context, wanted).hints()?;
            let lines = lines::of_sections(tree, &file.lines, &module.sections);
            for (hints, lines) in hints.iter_mut().zip(lines) {
                hints.lines = lines;
            }
            Some(hints)
        });
        let mut hints = hints.ok_or_else(|| SurveyError::Changed { path: path() })?;
        passing::follow(module, &mut hints);
        for (section, hints) in hints.iter_mut().enumerate() {
            self.sites.add_to((place, section), hints);
        }
        Ok(hints)
    }
}

impl<'a> Named<'a> {
    fn of(analysis: &'a Analysis) -> Self {
        let facts = analysis.repository.facts.iter().enumerate();
        let classes = facts.flat_map(|(module, facts)| {
            facts.classes.iter().map(move |class| (module, class.qualname.as_str()))
        });
        let modules = analysis.modules.iter().enumerate();
        let functions = modules.flat_map(|(module, report)| {
            let functions = report.sections.iter().filter(|each| each.kind != SectionKind::Module);
            functions.map(move |section| ((module, without_number(section.id.qualname())), section))
        });
        Self { classes: classes.collect(), functions: functions.collect() }
    }

    fn context(&'a self, resolver: &'a Resolver<'a>, index: Option<&'a Index<'a>>) -> Context<'a> {
        Context { resolver, classes: &self.classes, functions: &self.functions, index }
    }
}

/// Reads every file that the analysis could read; one that has changed since then so that it
/// cannot be understood any more tells nothing.
fn second_look(analysis: &Analysis) -> Result<SecondLook, SurveyError> {
    let repository = &analysis.repository;
    let pool = workers(repository.jobs)?;
    let resolver = Resolver::new(&repository.names, &repository.facts);
    let named = Named::of(analysis);
    let context = named.context(&resolver, None);
    let look = |(place, module): (usize, &ModuleReport)| {
        let Some(file) = File::read(repository, module) else { return Default::default() };
        let tree = file.parsed.syntax();
        let sites = Walker::new(&file.text, tree, place, context, Wanted::Sites).sites();
        let Functional { classes, types } = functional(&file.text, tree);
        (classes, (types, sites))
    };
    let modules = analysis.modules.par_iter().with_max_len(4).enumerate();
    let (classes, (types, sites)) = pool.install(|| modules.map(look).unzip());
    Ok(SecondLook { classes, types, sites })
}

/// A file of the repository, read again.
struct File {
    text: String,
    lines: LineIndex,
    parsed: Parsed<ModModule>,
}

impl File {
    /// `None` when there is nothing to understand in it.
    fn read(repository: &Repository, module: &ModuleReport) -> Option<Self> {
        if module.error.is_some() {
            return None;
        }
        let bytes = read(&repository.root.join(&module.path)).ok()?;
        let text = decode::decode(&bytes).ok()?.into_owned();
        let lines = LineIndex::from_source_text(&text);
        let parsed = parse::parse(&text, &lines).ok()?;
        Some(Self { text, lines, parsed })
    }
}
