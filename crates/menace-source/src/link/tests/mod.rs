//! Small repositories, written in the test, analysed without a disk.

mod constructions;
mod imports;
mod names;
mod sections;

use menace_model::{
    AnalyzedModule, ConstructionBlocker, ConstructionPlan, ModuleImport, Section, SectionKind,
};

use super::{LinkedModules, ModuleNames, link};
use crate::analyze::extract_file_facts;

fn link_files(files: &[(&str, &str)]) -> LinkedModules {
    let facts =
        files.iter().map(|(path, text)| extract_file_facts(path, text.as_bytes())).collect();
    let paths = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let linked = link(&ModuleNames::new(paths, &[], "repo"), facts);
    for module in &linked.modules {
        assert_eq!(module.error, None, "{}", module.path);
    }
    linked
}

fn find_module<'l>(linked: &'l LinkedModules, path: &str) -> &'l AnalyzedModule {
    linked.modules.iter().find(|module| module.path == path).unwrap()
}

fn find_section<'l>(linked: &'l LinkedModules, id: &str) -> &'l Section {
    let sections = linked.modules.iter().flat_map(|module| &module.sections);
    let ids: Vec<&str> = sections.clone().map(|section| section.id.as_str()).collect();
    sections
        .clone()
        .find(|section| section.id.as_str() == id)
        .unwrap_or_else(|| panic!("no {id} among {ids:?}"))
}

/// Sections of one module as `qualname kind`.
fn section_kinds(source: &str) -> Vec<String> {
    let linked = link_files(&[("m.py", source)]);
    let show = |section: &Section| format!("{} {:?}", section.id.qualname(), section.kind);
    linked.modules[0].sections.iter().map(show).collect()
}

fn param_types(files: &[(&str, &str)], id: &str) -> Vec<String> {
    let linked = link_files(files);
    let params = &find_section(&linked, id).params;
    params
        .iter()
        .map(|param| param.resolved.as_ref().map_or(String::new(), ToString::to_string))
        .collect()
}

fn find_construction(files: &[(&str, &str)], id: &str) -> ConstructionPlan {
    let linked = link_files(files);
    let construction = find_section(&linked, id).construction.as_deref();
    construction.expect("a construction").clone()
}

fn class_names(construction: &ConstructionPlan) -> Vec<&str> {
    construction.steps.iter().map(|step| step.class.as_str()).collect()
}

fn imported_modules(linked: &LinkedModules, path: &str) -> Vec<String> {
    let show = |import: &ModuleImport| {
        let mut text = import.module.clone();
        for (flag, name) in [
            (import.path.is_some(), "own"),
            (import.conditional, "conditional"),
            (import.type_checking, "types"),
            (import.deferred, "deferred"),
            (import.reexported_by.is_some(), "through"),
        ] {
            if flag {
                text.push(' ');
                text.push_str(name);
            }
        }
        text
    };
    find_module(linked, path).imports.iter().map(show).collect()
}
