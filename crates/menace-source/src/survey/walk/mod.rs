//! Walks the tree of a file in the order in which Python would run it, and listens to what is done
//! with parameters and which calls are made.
//!
//! Branches are followed one by one from the same start and joined where they meet; loops are
//! run once. Nothing is computed: a value is [known](super::known) by where it comes from.

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

pub(super) use record::MAX_USES;

use std::rc::Rc;

use ruff_python_ast::{ModModule, Stmt};
use ruff_source_file::LineIndex;
use rustc_hash::{FxHashMap, FxHashSet};

use menace_model::{Hints, ModuleReport, ParamHints, Section, SectionKind};

use super::env::Env;
use super::index::Index;
use super::known::Known;
use super::sites::RawSite;
use super::{docstring, doctest};
use crate::facts::{Scope, ScopeKind};
use crate::link::{Resolved, Resolver};
use crate::parse;

/// What a walk knows about the rest of the repository.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub resolver: &'a Resolver<'a>,
    /// Modules and qualified names of all classes.
    pub classes: &'a FxHashSet<(usize, &'a str)>,
    /// All functions and methods, by the same.
    pub functions: &'a FxHashMap<(usize, &'a str), &'a Section>,
    /// Who inherits what; not known while the repository is still being looked at.
    pub index: Option<&'a Index<'a>>,
}

/// What to listen to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// The hints of the sections of this module.
    Hints { report: &'a ModuleReport, lines: &'a LineIndex },
    /// All calls of the repository's own functions.
    Sites,
}

type Attributes<'a> = FxHashMap<&'a str, Rc<Known<'a>>>;

/// A class whose body is being walked.
#[derive(Debug)]
struct ClassAround<'a> {
    itself: Rc<Resolved>,
    /// What `super()` is taken to be an instance of.
    first_base: Option<Rc<Resolved>>,
    /// What is known about the attributes that methods give their instance.
    attributes: Attributes<'a>,
    docstring: Option<&'a str>,
}

#[derive(Debug)]
pub(super) struct Walker<'a> {
    source: &'a str,
    tree: &'a ModModule,
    module: usize,
    context: Context<'a>,
    env: Env<'a>,
    walrus: bool,
    lines: Option<&'a LineIndex>,
    /// The sections of the module, by the line that each begins in.
    sections: FxHashMap<u32, (usize, &'a Section)>,
    /// The sections around this point, outermost first.
    frames: Vec<usize>,
    classes: Vec<ClassAround<'a>>,
    /// What is known about the instances of the classes that have been walked, by qualified name.
    instances: FxHashMap<String, Attributes<'a>>,
    /// Names of the receivers of the methods around this point.
    receivers: Vec<Option<&'a str>>,
    /// Are calls here expected to fail?
    expects_failure: bool,
    hints: Vec<Hints>,
    /// The sections that were met, and the functions that are no sections.
    met: usize,
    strangers: usize,
    sites: Option<Vec<RawSite>>,
}

impl<'a> Walker<'a> {
    pub(super) fn new(
        source: &'a str,
        tree: &'a ModModule,
        module: usize,
        context: Context<'a>,
        wanted: Wanted<'a>,
    ) -> Self {
        let walrus = memchr::memmem::find(source.as_bytes(), b":=").is_some();
        let scope = Scope::of_body(ScopeKind::Module, String::new(), &tree.body, walrus);
        let mut walker = Self::in_scope(source, tree, module, context, scope);
        walker.walrus = walrus;
        match wanted {
            Wanted::Sites => walker.sites = Some(Vec::new()),
            Wanted::Hints { report, lines } => {
                walker.lines = Some(lines);
                for (index, section) in report.sections.iter().enumerate() {
                    if section.kind == SectionKind::Module {
                        walker.frames.push(index);
                        walker.met += 1;
                    } else {
                        walker.sections.insert(section.start_line, (index, section));
                    }
                    let params = section.params.iter().map(|param| ParamHints {
                        name: param.name.clone(),
                        ..ParamHints::default()
                    });
                    walker.hints.push(Hints { params: params.collect(), ..Hints::default() });
                }
            }
        }
        walker
    }

    fn in_scope(
        source: &'a str,
        tree: &'a ModModule,
        module: usize,
        context: Context<'a>,
        scope: Scope<'a>,
    ) -> Self {
        Self {
            source,
            tree,
            module,
            context,
            env: Env::new(scope),
            walrus: true,
            lines: None,
            sections: FxHashMap::default(),
            frames: Vec::new(),
            classes: Vec::new(),
            instances: FxHashMap::default(),
            receivers: Vec::new(),
            expects_failure: false,
            hints: Vec::new(),
            met: 0,
            strangers: 0,
            sites: None,
        }
    }

    /// Hints for each section; `None` when the sections are not those of the report.
    pub(super) fn hints(mut self) -> Option<Vec<Hints>> {
        self.module();
        (self.met == self.hints.len() && self.strangers == 0).then_some(self.hints)
    }

    pub(super) fn sites(mut self) -> Vec<RawSite> {
        self.module();
        self.sites.unwrap_or_default()
    }

    fn module(&mut self) {
        // Functions see constants that are defined after them.
        self.constants(&self.tree.body);
        self.examples(&self.tree.body);
        self.body(&self.tree.body);
    }

    /// The calls in the examples of a docstring, which see what the module sees.
    fn examples(&mut self, body: &'a [Stmt]) {
        let Some(sites) = &mut self.sites else { return };
        let Some(code) = docstring::of(body).and_then(doctest::code) else { return };
        let Ok(parsed) = parse::parse(&code, &LineIndex::from_source_text(&code)) else { return };
        let tree = parsed.syntax();
        let around = &self.tree.body;
        let module = Scope::of_body(ScopeKind::Module, String::new(), around, self.walrus);
        let mut walker = Walker::in_scope(&code, tree, self.module, self.context, module);
        walker.sites = Some(Vec::new());
        walker.constants(around);
        let prefix = "<doctest>.".to_owned();
        walker.env.push(Scope::of_body(ScopeKind::Function, prefix, &tree.body, true));
        walker.body(&tree.body);
        sites.append(&mut walker.sites.unwrap_or_default());
    }

    /// Where a reference of this file leads.
    fn resolve(&self, reference: &str) -> Resolved {
        self.context.resolver.resolve(self.module, reference)
    }

    fn is_class(&self, resolved: &Resolved) -> bool {
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
