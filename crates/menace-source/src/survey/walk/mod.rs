//! Walks the tree of a file in the order in which Python would run it, and records uses of
//! parameters and calls.
//!
//! Branches are walked one by one from the same state and joined at their end; loops are walked
//! once. Nothing is computed: a value is [known](super::known_value) by its origin.

mod assign;
mod builtin;
mod call;
mod compare;
mod expression;
mod function;
mod literal;
mod pattern;
mod record;
mod render;
mod statement;

pub(super) use record::MAX_USES_PER_PARAM;

use std::rc::Rc;

use ruff_python_ast::{ModModule, Stmt};
use ruff_source_file::LineIndex;
use rustc_hash::{FxHashMap, FxHashSet};

use menace_model::{AnalyzedModule, ParamHints, Section, SectionHints, SectionKind};

use super::call_sites::UnresolvedCallSite;
use super::known_value::KnownValue;
use super::name_environment::NameEnvironment;
use super::section_index::SectionIndex;
use super::{docstring, doctest};
use crate::facts::{NameScope, NameScopeKind};
use crate::link::{ReferenceResolver, ResolvedName};
use crate::parse;

/// The rest of the repository, as far as a walk needs it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SurveyContext<'a> {
    pub resolver: &'a ReferenceResolver<'a>,
    /// Modules and qualified names of all classes.
    pub classes: &'a FxHashSet<(usize, &'a str)>,
    /// All functions and methods, by module and qualified name.
    pub functions: &'a FxHashMap<(usize, &'a str), &'a Section>,
    /// Base classes by class; absent while the repository is still being surveyed.
    pub index: Option<&'a SectionIndex<'a>>,
}

/// The facts that a walk collects.
#[derive(Debug, Clone, Copy)]
pub(super) enum SurveyMode<'a> {
    /// The hints of the sections of this module.
    Hints { report: &'a AnalyzedModule, lines: &'a LineIndex },
    /// All calls of the repository's own functions.
    CallSites,
}

type AttributeValues<'a> = FxHashMap<&'a str, Rc<KnownValue<'a>>>;

/// A class whose body is being walked.
#[derive(Debug)]
struct EnclosingClass<'a> {
    class: Rc<ResolvedName>,
    /// The class of `super()`.
    first_base: Option<Rc<ResolvedName>>,
    /// The known values of attributes that methods assign to their instance.
    attributes: AttributeValues<'a>,
    docstring: Option<&'a str>,
}

#[derive(Debug)]
pub(super) struct SurveyWalker<'a> {
    source: &'a str,
    tree: &'a ModModule,
    module: usize,
    context: SurveyContext<'a>,
    env: NameEnvironment<'a>,
    has_walrus: bool,
    lines: Option<&'a LineIndex>,
    /// The sections of the module, by the line that each begins in.
    sections: FxHashMap<u32, (usize, &'a Section)>,
    /// The sections around this point, outermost first.
    frames: Vec<usize>,
    classes: Vec<EnclosingClass<'a>>,
    /// The known attribute values of instances, by qualified name of the class that was walked.
    instances: FxHashMap<String, AttributeValues<'a>>,
    /// Names of the receivers of the methods around this point.
    receivers: Vec<Option<&'a str>>,
    /// Whether calls at this point are expected to fail.
    expects_failure: bool,
    hints: Vec<SectionHints>,
    /// How many sections of the report were found, and how many functions were no section of it.
    matched_sections: usize,
    unmatched_functions: usize,
    call_sites: Option<Vec<UnresolvedCallSite>>,
}

impl<'a> SurveyWalker<'a> {
    pub(super) fn new(
        source: &'a str,
        tree: &'a ModModule,
        module: usize,
        context: SurveyContext<'a>,
        wanted: SurveyMode<'a>,
    ) -> Self {
        let walrus = memchr::memmem::find(source.as_bytes(), b":=").is_some();
        let scope = NameScope::from_body(NameScopeKind::Module, String::new(), &tree.body, walrus);
        let mut walker = Self::with_scope(source, tree, module, context, scope);
        walker.has_walrus = walrus;
        match wanted {
            SurveyMode::CallSites => walker.call_sites = Some(Vec::new()),
            SurveyMode::Hints { report, lines } => {
                walker.lines = Some(lines);
                for (index, section) in report.sections.iter().enumerate() {
                    if section.kind == SectionKind::Module {
                        walker.frames.push(index);
                        walker.matched_sections += 1;
                    } else {
                        walker.sections.insert(section.start_line, (index, section));
                    }
                    let params = section.params.iter().map(|param| ParamHints {
                        name: param.name.clone(),
                        ..ParamHints::default()
                    });
                    walker
                        .hints
                        .push(SectionHints { params: params.collect(), ..SectionHints::default() });
                }
            }
        }
        walker
    }

    fn with_scope(
        source: &'a str,
        tree: &'a ModModule,
        module: usize,
        context: SurveyContext<'a>,
        scope: NameScope<'a>,
    ) -> Self {
        Self {
            source,
            tree,
            module,
            context,
            env: NameEnvironment::new(scope),
            has_walrus: true,
            lines: None,
            sections: FxHashMap::default(),
            frames: Vec::new(),
            classes: Vec::new(),
            instances: FxHashMap::default(),
            receivers: Vec::new(),
            expects_failure: false,
            hints: Vec::new(),
            matched_sections: 0,
            unmatched_functions: 0,
            call_sites: None,
        }
    }

    /// Hints for each section; `None` when the sections do not match those of the report.
    pub(super) fn collect_hints(mut self) -> Option<Vec<SectionHints>> {
        self.visit_module();
        (self.matched_sections == self.hints.len() && self.unmatched_functions == 0)
            .then_some(self.hints)
    }

    pub(super) fn collect_call_sites(mut self) -> Vec<UnresolvedCallSite> {
        self.visit_module();
        self.call_sites.unwrap_or_default()
    }

    fn visit_module(&mut self) {
        // Functions see constants that are defined after them.
        self.bind_constants(&self.tree.body);
        self.visit_doctests(&self.tree.body);
        self.visit_body(&self.tree.body);
    }

    /// Walks the examples of a docstring, which can use the names of the module.
    fn visit_doctests(&mut self, body: &'a [Stmt]) {
        let Some(sites) = &mut self.call_sites else { return };
        let Some(code) = docstring::find_docstring(body).and_then(doctest::extract_examples) else {
            return;
        };
        let Ok(parsed) = parse::parse(&code, &LineIndex::from_source_text(&code)) else { return };
        let tree = parsed.syntax();
        let around = &self.tree.body;
        let module =
            NameScope::from_body(NameScopeKind::Module, String::new(), around, self.has_walrus);
        let mut walker = SurveyWalker::with_scope(&code, tree, self.module, self.context, module);
        walker.call_sites = Some(Vec::new());
        walker.bind_constants(around);
        let prefix = "<doctest>.".to_owned();
        walker.env.push_scope(NameScope::from_body(
            NameScopeKind::Function,
            prefix,
            &tree.body,
            true,
        ));
        walker.visit_body(&tree.body);
        sites.append(&mut walker.call_sites.unwrap_or_default());
    }

    /// Resolves a reference of this file.
    fn resolve_reference(&self, reference: &str) -> ResolvedName {
        self.context.resolver.resolve(self.module, reference)
    }

    fn is_class(&self, resolved: &ResolvedName) -> bool {
        match resolved.module {
            Some(module) => self.context.classes.contains(&(module, resolved.attributes.as_str())),
            None => is_foreign_class(&resolved.name),
        }
    }
}

/// Going by its name: classes are capitalised, save for a few old ones.
fn is_foreign_class(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let is_capitalised = last.chars().find(|&char| char != '_').is_some_and(char::is_uppercase);
    let has_small_letters = last.chars().any(char::is_lowercase);
    let is_old = matches!(
        name,
        "datetime.datetime"
            | "datetime.date"
            | "datetime.time"
            | "datetime.timedelta"
            | "datetime.timezone"
            | "collections.deque"
            | "collections.defaultdict"
            | "array.array"
            | "bytearray"
            | "bytes"
            | "complex"
            | "dict"
            | "float"
            | "frozenset"
            | "int"
            | "list"
            | "memoryview"
            | "object"
            | "range"
            | "set"
            | "slice"
            | "str"
            | "tuple"
            | "types.SimpleNamespace"
            | "socket.socket"
    );
    is_old || (is_capitalised && has_small_letters) || last == "UUID"
}
