//! Surveys of small repositories that each test writes.

mod call_sites;
mod classes;
mod docstrings;
mod files;
mod flow;
mod lines;
mod literals;
mod patterns;
mod uses;

use std::fs;

use menace_model::{ClassIndex, ClassInfo, NamedTypeIndex, ParamPart, ParamUse, SectionHints};

use crate::analyze::{Analysis, AnalysisOptions, ScannerChoice, analyze};

fn analyze_files(files: &[(&str, &str)]) -> (tempfile::TempDir, Analysis) {
    let repository = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = repository.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let options =
        AnalysisOptions { scanner: ScannerChoice::Builtin, jobs: 1, ..AnalysisOptions::default() };
    let analysis = analyze(repository.path(), &options, &|_, _| {}).unwrap();
    for module in &analysis.modules {
        assert_eq!(module.error, None, "{}", module.path);
    }
    (repository, analysis)
}

/// The hints of one section.
fn find_hints(files: &[(&str, &str)], id: &str) -> SectionHints {
    let (_repository, analysis) = analyze_files(files);
    let survey = analysis.survey().unwrap();
    for module in &analysis.modules {
        let place = module.sections.iter().position(|section| section.id.as_str() == id);
        if let Some(place) = place {
            let hints = survey.hints(module).unwrap();
            assert_eq!(hints.len(), module.sections.len());
            return hints[place].clone();
        }
    }
    panic!("no {id}");
}

/// The uses of the parameter `x` in `f` of a module.
fn find_uses(source: &str) -> Vec<ParamUse> {
    find_uses_of(source, "f", "x")
}

fn find_uses_of(source: &str, section: &str, param: &str) -> Vec<ParamUse> {
    let hints = find_hints(&[("m.py", source)], &format!("m.py::{section}"));
    let param = hints.params.iter().find(|each| each.name == param);
    param.unwrap_or_else(|| panic!("no parameter in {hints:?}")).uses.clone()
}

/// The uses of `x` in a body of one line.
fn find_line_uses(line: &str) -> Vec<ParamUse> {
    find_uses(&format!(
        "import re, os, json\nfrom pathlib import Path\ndef f(x, y=None):\n    {line}\n"
    ))
}

/// The classes and types of a repository.
fn build_tables(files: &[(&str, &str)]) -> (ClassIndex, NamedTypeIndex) {
    let (_repository, analysis) = analyze_files(files);
    let survey = analysis.survey().unwrap();
    (survey.classes(), survey.type_names())
}

fn find_class_info(source: &str, name: &str) -> ClassInfo {
    let (classes, _) = build_tables(&[("m.py", source)]);
    classes.get(&format!("m.{name}")).unwrap_or_else(|| panic!("{:?}", classes.0.keys())).clone()
}

fn attribute_use(name: &str) -> ParamUse {
    ParamUse::Attribute(name.to_owned())
}

fn method_use(name: &str, arguments: u32) -> ParamUse {
    ParamUse::Method { name: name.to_owned(), arguments }
}

fn method_use_with(name: &str, argument: &str) -> ParamUse {
    ParamUse::MethodWith { name: name.to_owned(), argument: argument.to_owned() }
}

fn key_use(key: &str) -> ParamUse {
    ParamUse::Key(key.to_owned())
}

fn equality_use(literal: &str) -> ParamUse {
    ParamUse::Equals(literal.to_owned())
}

fn ordering_use(literal: &str) -> ParamUse {
    ParamUse::Ordered(Some(literal.to_owned()))
}

fn passed_to_use(function: &str, argument: &str) -> ParamUse {
    ParamUse::PassedTo { function: function.to_owned(), argument: argument.to_owned() }
}

fn instance_check_use(classes: &[&str]) -> ParamUse {
    ParamUse::IsInstance(classes.iter().map(|&class| class.to_owned()).collect())
}

fn part_use(part: ParamPart, used: ParamUse) -> ParamUse {
    ParamUse::Inside { part, inner_use: Box::new(used) }
}
