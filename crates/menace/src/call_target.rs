//! Resolves `package.module:Class.method` to a callable target.
//!
//! The source determines how it is called; whether the name exists at run time shows only then.
//! Invariant: a name that the source does not have is refused here, with suggestions.

use anyhow::{Error, anyhow, bail};

use menace_loop::targets;
use menace_model::{
    AnalyzedModule, CallTarget, ModuleRef, Section, SectionId, SectionKind, TargetKind,
    closest_names, format_suggestion_or,
};
use menace_source::Analysis;

/// The result of resolving a target.
#[derive(Debug)]
pub(crate) struct ResolvedTarget<'a> {
    pub target: CallTarget,
    pub line: Option<u32>,
    /// Directories for the front of `sys.path`, relative to the repository.
    pub import_roots: Vec<String>,
    pub access: TargetAccess<'a>,
}

/// The requirements for calling it.
#[derive(Debug)]
pub(crate) enum TargetAccess<'a> {
    Direct,
    /// It needs an instance.
    NeedsInstance(&'a Section),
    /// It cannot be called, for this reason.
    Uncallable(String),
}

impl ResolvedTarget<'_> {
    pub(crate) fn is_module(&self) -> bool {
        self.target.kind == TargetKind::Module
    }

    /// Whether it is this section of its module.
    pub(crate) fn is_section(&self, section: &Section) -> bool {
        targets::resolve_target(section).is_ok_and(|(qualname, _)| qualname == self.target.qualname)
    }
}

/// Finds the section that is meant.
pub(crate) fn resolve_target<'a>(
    analysis: &'a Analysis,
    typed: &str,
) -> Result<ResolvedTarget<'a>, Error> {
    let (module_name, qualname) = match typed.rsplit_once(':') {
        Some((module, qualname)) if !module.is_empty() && !qualname.is_empty() => {
            (module, qualname)
        }
        Some(_) => bail!("`{typed}` is no target; write `package.module:name`"),
        None => (typed, SectionId::TOP_LEVEL),
    };
    // `shop/cart.py::Cart.add` is how sections are named everywhere.
    let module_name = module_name.strip_suffix(':').unwrap_or(module_name);
    let module = find_module(analysis, module_name)?;
    let reference = ModuleRef { name: module.name.clone(), path: Some(module.path.clone()) };
    let found = |qualname: &str, kind, line, access| ResolvedTarget {
        target: CallTarget { module: reference.clone(), qualname: qualname.to_owned(), kind },
        line,
        import_roots: targets::import_roots(analysis, module),
        access,
    };
    if qualname == SectionId::TOP_LEVEL {
        return Ok(found("", TargetKind::Module, None, TargetAccess::Direct));
    }
    let Some(section) = find_section(module, qualname) else {
        if is_class(analysis, module, qualname) {
            return Ok(found(qualname, TargetKind::Function, None, TargetAccess::Direct));
        }
        return Err(no_such_name_error(analysis, module, qualname));
    };
    let line = Some(section.line);
    let (qualname, kind, uncallable) = match targets::resolve_target(section) {
        Ok((qualname, kind)) => (qualname, kind, None),
        Err(target) => (target.qualname, target.kind, Some(target.why)),
    };
    let access = match (uncallable, kind) {
        (Some(why), _) => TargetAccess::Uncallable(why),
        (None, TargetKind::Method | TargetKind::Property) => TargetAccess::NeedsInstance(section),
        (None, _) => TargetAccess::Direct,
    };
    Ok(found(&qualname, kind, line, access))
}

fn find_module<'a>(analysis: &'a Analysis, typed: &str) -> Result<&'a AnalyzedModule, Error> {
    let modules = &analysis.modules;
    let exact = modules.iter().find(|module| module.name == typed || module.path == typed);
    // If the repository is itself a package, its modules are also known by their names inside of
    // it.
    let shorter = || {
        modules.iter().find(|module| {
            targets::root_of(module).is_none()
                && module.name.split_once('.').is_some_and(|(_, rest)| rest == typed)
        })
    };
    if let Some(module) = exact.or_else(shorter) {
        return Ok(module);
    }
    // `package.module.function` is a natural slip.
    let colon = typed.match_indices('.').rev().find_map(|(at, _)| {
        let (name, rest) = (&typed[..at], &typed[at + 1..]);
        let module = modules.iter().find(|module| module.name == name)?;
        let is_there = find_section(module, rest).is_some() || is_class(analysis, module, rest);
        is_there.then(|| format!("{name}:{rest}"))
    });
    let names = modules.iter().map(|module| module.name.as_str());
    let suggestions = match &colon {
        Some(meant) => vec![meant.as_str()],
        None => closest_names(typed, names),
    };
    Err(anyhow!(
        "there is no module `{typed}` in the repository{}",
        format_suggestion_or(&suggestions, "")
    ))
}

/// Python keeps the last of several definitions.
fn find_section<'a>(module: &'a AnalyzedModule, qualname: &str) -> Option<&'a Section> {
    let named =
        |section: &&Section| targets::strip_definition_number(section.id.qualname()) == qualname;
    let exact = |section: &&Section| section.id.qualname() == qualname;
    module.sections.iter().rev().find(named).or_else(|| module.sections.iter().find(exact))
}

/// Classes are no sections; their methods and constructors are.
fn is_class(analysis: &Analysis, module: &AnalyzedModule, qualname: &str) -> bool {
    let prefix = format!("{qualname}.");
    let full = format!("{}.{qualname}", module.name);
    let has_methods = module.sections.iter().any(|section| {
        let is_inside = section.id.qualname().starts_with(&prefix);
        is_inside && section.kind != SectionKind::Nested
    });
    has_methods
        || analysis
            .modules
            .iter()
            .flat_map(|module| &module.sections)
            .filter_map(|section| section.construction.as_ref())
            .any(|plan| plan.steps.iter().any(|step| step.class == full))
}

fn no_such_name_error(analysis: &Analysis, module: &AnalyzedModule, qualname: &str) -> Error {
    if let Some(error) = &module.error {
        let line = error.line.map_or(String::new(), |line| format!(":{line}"));
        return anyhow!(
            "`{}{line}` cannot be understood: {}; only `{}` as a whole can be called",
            error.file,
            error.reason,
            module.name
        );
    }
    let here: Vec<&str> = section_names(module).collect();
    let near = closest_names(qualname, here.iter().copied());
    let elsewhere: Vec<String> = analysis
        .modules
        .iter()
        .filter(|other| section_names(other).any(|name| name == qualname))
        .map(|other| format!("{}:{qualname}", other.name))
        .collect();
    let near =
        if elsewhere.is_empty() { near } else { elsewhere.iter().map(String::as_str).collect() };
    anyhow!("`{}` has no `{qualname}`{}", module.path, format_suggestion_or(&near, ""))
}

fn section_names(module: &AnalyzedModule) -> impl Iterator<Item = &str> {
    let callable = |section: &&Section| section.kind != SectionKind::Module;
    module.sections.iter().filter(callable).map(|section| section.id.qualname())
}
