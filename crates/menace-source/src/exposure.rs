//! Which sections users of a package can reach: by `__all__`, by what packages import into their
//! `__init__.py`, by README and documentation, by names and paths.
//!
//! Invariant: the result depends on the repository alone, and reading the documentation is bounded.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use menace_model::{
    AnalyzedModule, ExposureEvidence, ExposureLevel, Section, SectionExposure, SectionId,
    is_outside_product,
};

use crate::analyze::Analysis;
use crate::link::ReferenceResolver;

/// Larger documents are read up to here.
const MAX_DOCUMENT_BYTES: u64 = 1 << 20;
const MAX_DOCUMENTS: usize = 200;
const MAX_DOCUMENT_DEPTH: usize = 3;
/// Directories of documentation, at the root of a repository.
const DOCUMENT_DIRECTORIES: [&str; 3] = ["docs", "doc", "documentation"];
const DOCUMENT_SUFFIXES: [&str; 4] = [".md", ".rst", ".txt", ".markdown"];

/// The exposure of all sections of a repository.
#[derive(Debug, Default)]
pub struct RepositoryExposure(HashMap<SectionId, SectionExposure>);

impl RepositoryExposure {
    /// The exposure of a section; one that is not in the repository counts as public.
    pub fn of(&self, section: &SectionId) -> SectionExposure {
        let unknown = SectionExposure::new(ExposureLevel::Public, ExposureEvidence::Named);
        self.0.get(section).copied().unwrap_or(unknown)
    }
}

impl Analysis {
    /// Computes the exposure of all sections; reads README and documentation.
    pub fn exposure(&self) -> RepositoryExposure {
        let exported = self.exported_names();
        let documented = read_documented_names(self.root());
        let mut exposures = HashMap::new();
        for (place, module) in self.modules.iter().enumerate() {
            let rules = ModuleRules {
                is_outside: is_outside_product(&module.path),
                is_private: module.name.split('.').any(is_private_name),
                exports: self.repository.facts[place].exports.as_deref(),
            };
            for section in &module.sections {
                let top = top_level_name(section.id.qualname());
                let is_exported = exported.contains(&(place, top));
                let exposure = judge(section, &rules, is_exported, &documented);
                exposures.insert(section.id.clone(), exposure);
            }
        }
        RepositoryExposure(exposures)
    }

    /// Module and top-level name of all definitions that a public module passes on.
    fn exported_names(&self) -> HashSet<(usize, &str)> {
        let repository = &self.repository;
        let resolver = ReferenceResolver::new(&repository.names, &repository.facts);
        let mut exported = HashSet::new();
        for (place, (module, facts)) in self.modules.iter().zip(&repository.facts).enumerate() {
            if is_outside_product(&module.path) || module.name.split('.').any(is_private_name) {
                continue;
            }
            let listed = |name: &str| {
                facts.exports.as_ref().is_some_and(|names| names.iter().any(|one| one == name))
            };
            let is_package = module.path.ends_with("__init__.py");
            let mut add = |name: &str| {
                let definition = resolver.resolve(place, &format!("{}:{name}", module.name));
                let target = definition.module.unwrap_or(place);
                let top = top_level_name(&definition.attributes);
                if let Some(section) = definition_of(&self.modules[target], top) {
                    exported.insert((target, section));
                }
            };
            for name in facts.exports.iter().flatten() {
                add(name);
            }
            for name in facts.imported_names.keys() {
                if is_package && !is_private_name(name) && facts.exports.is_none() || listed(name) {
                    add(name);
                }
            }
            if is_package && facts.exports.is_none() {
                for star in &facts.star_imports {
                    let name = repository.names.absolute_name(place, star);
                    let Some(target) =
                        name.and_then(|name| repository.names.find_module(place, &name))
                    else {
                        continue;
                    };
                    let passed = &repository.facts[target];
                    let names = passed.exports.as_ref().unwrap_or(&passed.defined_names);
                    for name in names.iter().filter(|name| !is_private_name(name)) {
                        if let Some(section) = definition_of(&self.modules[target], name) {
                            exported.insert((target, section));
                        }
                    }
                }
            }
        }
        exported
    }
}

/// The facts of a module that decide about all of its sections.
struct ModuleRules<'a> {
    is_outside: bool,
    is_private: bool,
    exports: Option<&'a [String]>,
}

fn judge(
    section: &Section,
    rules: &ModuleRules<'_>,
    is_exported: bool,
    documented: &HashSet<String>,
) -> SectionExposure {
    let qualname = section.id.qualname();
    let top = top_level_name(qualname);
    if rules.is_outside || top.starts_with("test_") {
        return SectionExposure::new(ExposureLevel::Test, ExposureEvidence::Located);
    }
    if qualname.split('.').any(|part| part == "<locals>" || is_private_name(part)) {
        return SectionExposure::new(ExposureLevel::Private, ExposureEvidence::Named);
    }
    let last = qualname.rsplit('.').next().unwrap_or(qualname);
    let is_documented =
        documented.contains(top) && (is_dunder_name(last) || documented.contains(last));
    if is_documented && (is_exported || !rules.is_private) {
        return SectionExposure::new(ExposureLevel::Public, ExposureEvidence::Documented);
    }
    if is_exported {
        return SectionExposure::new(ExposureLevel::Public, ExposureEvidence::Exported);
    }
    if rules.is_private {
        return SectionExposure::new(ExposureLevel::Internal, ExposureEvidence::Located);
    }
    let is_left_out = rules.exports.is_some_and(|names| !names.iter().any(|name| name == top));
    if is_left_out && qualname != SectionId::TOP_LEVEL {
        return SectionExposure::new(ExposureLevel::Internal, ExposureEvidence::Exported);
    }
    SectionExposure::new(ExposureLevel::Public, ExposureEvidence::Named)
}

/// The top-level name of the module's own that a section has, as the module stores it.
fn definition_of<'a>(module: &'a AnalyzedModule, name: &str) -> Option<&'a str> {
    let names = module.sections.iter().map(|section| top_level_name(section.id.qualname()));
    names.into_iter().find(|top| *top == name)
}

/// `Class` of `Class.method#2`.
fn top_level_name(qualname: &str) -> &str {
    let first = qualname.split('.').next().unwrap_or(qualname);
    first.split('#').next().unwrap_or(first)
}

fn is_dunder_name(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}

fn is_private_name(name: &str) -> bool {
    name.starts_with('_') && !is_dunder_name(name.split('#').next().unwrap_or(name))
}

/// Names that README and documentation show in code: in backquotes, in examples, before a bracket.
fn read_documented_names(root: &Path) -> HashSet<String> {
    let mut names = HashSet::new();
    for text in read_documents(root) {
        collect_code_names(&text, &mut names);
    }
    names
}

/// README, documentation, and the description of an installed package.
fn read_documents(root: &Path) -> Vec<String> {
    let Ok(directory) = menace_files::UntrustedDir::open(root) else { return Vec::new() };
    let mut paths = Vec::new();
    let entries: BTreeSet<_> = directory.entry_names().unwrap_or_default().into_iter().collect();
    for entry in entries {
        let Some(name) = entry.to_str() else { continue };
        let lower = name.to_ascii_lowercase();
        if lower.starts_with("readme") {
            paths.push(name.to_owned());
        } else if lower.ends_with(".dist-info") {
            paths.push(format!("{name}/METADATA"));
        } else if DOCUMENT_DIRECTORIES.contains(&lower.as_str()) {
            list_documents(&directory, name, 0, &mut paths);
        }
    }
    paths.truncate(MAX_DOCUMENTS);
    let read = |path: &String| {
        let file = directory.open_file(Path::new(path)).ok()?;
        file.read(MAX_DOCUMENT_BYTES).ok()
    };
    let texts = paths.iter().filter_map(read);
    texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

fn list_documents(
    root: &menace_files::UntrustedDir,
    below: &str,
    depth: usize,
    paths: &mut Vec<String>,
) {
    let Ok(directory) = root.subdirectory(Path::new(below)) else { return };
    let entries: BTreeSet<_> = directory.entry_names().unwrap_or_default().into_iter().collect();
    for entry in entries {
        let Some(name) = entry.to_str() else { continue };
        if paths.len() >= MAX_DOCUMENTS {
            return;
        }
        let path = format!("{below}/{name}");
        if DOCUMENT_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
            paths.push(path);
        } else if depth < MAX_DOCUMENT_DEPTH && !name.contains('.') {
            list_documents(root, &path, depth + 1, paths);
        }
    }
}

/// Adds the identifiers that a document has in code.
fn collect_code_names(text: &str, names: &mut HashSet<String>) {
    for line in text.lines() {
        let trimmed = line.trim_start();
        let is_code = trimmed.starts_with(">>>")
            || trimmed.starts_with("... ")
            || line.len() - trimmed.len() >= 4
            || line.starts_with('\t');
        let mut in_quotes = false;
        let mut rest = line;
        while let Some(start) = rest.find(|char: char| char == '`' || is_name_start(char)) {
            rest = &rest[start..];
            if rest.starts_with('`') {
                in_quotes = !in_quotes;
                rest = rest.trim_start_matches('`');
                continue;
            }
            let end = rest.find(|char| !is_name_part(char)).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if is_code || in_quotes || after.starts_with('(') {
                names.insert(name.to_owned());
            }
            rest = after;
        }
    }
}

fn is_name_start(char: char) -> bool {
    char.is_alphabetic() || char == '_'
}

fn is_name_part(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{AnalysisOptions, analyze};

    fn exposures(files: &[(&str, &str)]) -> impl Fn(&str) -> String + use<> {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let analysis = analyze(directory.path(), &AnalysisOptions::default(), &|_, _| {}).unwrap();
        let exposure = analysis.exposure();
        move |section| {
            let (path, qualname) = section.split_once("::").unwrap();
            let id = SectionId::new(path, qualname);
            assert!(exposure.0.contains_key(&id), "{section}");
            exposure.of(&id).describe()
        }
    }

    #[test]
    fn names_paths_exports_and_documents_decide() {
        let exposure = exposures(&[
            ("README.md", "Use `load` and call:\n\n    shop.price(1)\n\nA cart is a cart.\n"),
            ("shop/__init__.py", "from ._parser import load, _hidden\nfrom .stars import *\n"),
            ("shop/_parser.py", "def load(): pass\ndef helper(): pass\ndef _hidden(): pass\n"),
            ("shop/stars.py", "__all__ = ['seen']\ndef seen(): pass\ndef unseen(): pass\n"),
            (
                "shop/prices.py",
                "class Cart:\n  def __len__(self): return 0\n  def add(self): pass\n  \
                 def _sum(self): pass\n  class _Row:\n    def cell(self): pass\n\
                 def price(n):\n  def inner(): pass\n  return inner\n",
            ),
            ("tests/test_a.py", "def test_a(): pass\n"),
            ("shop/_vendor/six.py", "def moved(): pass\n"),
        ]);
        for (section, expected) in [
            ("shop/_parser.py::load", "public, documented"),
            ("shop/_parser.py::helper", "internal"),
            ("shop/_parser.py::_hidden", "private"),
            ("shop/stars.py::seen", "public, exported"),
            ("shop/stars.py::unseen", "internal"),
            ("shop/prices.py::price", "public, documented"),
            ("shop/prices.py::price.<locals>.inner", "private"),
            ("shop/prices.py::Cart.__len__", "public, named"),
            ("shop/prices.py::Cart.add", "public, named"),
            ("shop/prices.py::Cart._sum", "private"),
            ("shop/prices.py::Cart._Row.cell", "private"),
            ("tests/test_a.py::test_a", "test"),
            ("shop/_vendor/six.py::moved", "test"),
        ] {
            assert_eq!(exposure(section), expected, "{section}");
        }
    }

    #[test]
    fn code_in_documents_is_recognized_beside_prose() {
        let mut names = HashSet::new();
        collect_code_names("The cart of ``add`` and get(1).\n>>> total\n  prose\n", &mut names);
        let mut names: Vec<_> = names.iter().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["add", "get", "total"]);
    }
}
