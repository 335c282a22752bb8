//! Small repositories, written in the test, analysed without a disk.

mod constructions;
mod imports;
mod names;
mod sections;

use menace_model::{Blocked, Construction, Import, ModuleReport, Section, SectionKind};

use super::{Linked, Names, link};
use crate::analyze::facts_of;

fn linked(files: &[(&str, &str)]) -> Linked {
    let facts = files.iter().map(|(path, text)| facts_of(path, text.as_bytes())).collect();
    let paths = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let linked = link(&Names::new(paths, &[], "repo"), facts);
    for module in &linked.modules {
        assert_eq!(module.error, None, "{}", module.path);
    }
    linked
}

fn module<'l>(linked: &'l Linked, path: &str) -> &'l ModuleReport {
    linked.modules.iter().find(|module| module.path == path).unwrap()
}

fn section<'l>(linked: &'l Linked, id: &str) -> &'l Section {
    let sections = linked.modules.iter().flat_map(|module| &module.sections);
    let ids: Vec<&str> = sections.clone().map(|section| section.id.as_str()).collect();
    sections
        .clone()
        .find(|section| section.id.as_str() == id)
        .unwrap_or_else(|| panic!("no {id} among {ids:?}"))
}

/// Sections of one module as `qualname kind`.
fn sections(source: &str) -> Vec<String> {
    let linked = linked(&[("m.py", source)]);
    let show = |section: &Section| format!("{} {:?}", section.id.qualname(), section.kind);
    linked.modules[0].sections.iter().map(show).collect()
}

fn types(files: &[(&str, &str)], id: &str) -> Vec<String> {
    let linked = linked(files);
    let params = &section(&linked, id).params;
    params
        .iter()
        .map(|param| param.resolved.as_ref().map_or(String::new(), ToString::to_string))
        .collect()
}

fn construction(files: &[(&str, &str)], id: &str) -> Construction {
    let linked = linked(files);
    let construction = section(&linked, id).construction.as_deref();
    construction.expect("a construction").clone()
}

fn classes(construction: &Construction) -> Vec<&str> {
    construction.steps.iter().map(|step| step.class.as_str()).collect()
}

fn imported(linked: &Linked, path: &str) -> Vec<String> {
    let show = |import: &Import| {
        let mut text = import.module.clone();
        for (flag, name) in [
            (import.path.is_some(), "own"),
            (import.conditional, "conditional"),
            (import.type_checking, "types"),
            (import.deferred, "deferred"),
            (import.through.is_some(), "through"),
        ] {
            if flag {
                text.push(' ');
                text.push_str(name);
            }
        }
        text
    };
    module(linked, path).imports.iter().map(show).collect()
}
