//! Small repositories, written in the test, and what a closer look finds.

mod classes;
mod documented;
mod files;
mod flow;
mod lines;
mod literals;
mod sites;
mod uses;

use std::fs;

use menace_model::{Class, Classes, Hints, Part, TypeNames, Use};

use crate::analyze::{Analysis, Options, ScannerChoice, analyze};

fn analysis(files: &[(&str, &str)]) -> (tempfile::TempDir, Analysis) {
    let repository = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = repository.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let options = Options { scanner: ScannerChoice::Builtin, jobs: 1, ..Options::default() };
    let analysis = analyze(repository.path(), &options, &|_, _| {}).unwrap();
    for module in &analysis.modules {
        assert_eq!(module.error, None, "{}", module.path);
    }
    (repository, analysis)
}

/// What is found out about one section.
fn hints(files: &[(&str, &str)], id: &str) -> Hints {
    let (_repository, analysis) = analysis(files);
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

/// What `f` of a module does with its parameter `x`.
fn uses(source: &str) -> Vec<Use> {
    uses_of(source, "f", "x")
}

fn uses_of(source: &str, section: &str, param: &str) -> Vec<Use> {
    let hints = hints(&[("m.py", source)], &format!("m.py::{section}"));
    let param = hints.params.iter().find(|each| each.name == param);
    param.unwrap_or_else(|| panic!("no parameter in {hints:?}")).uses.clone()
}

/// What a body of one line does with `x`.
fn line(line: &str) -> Vec<Use> {
    uses(&format!("import re, os, json\nfrom pathlib import Path\ndef f(x, y=None):\n    {line}\n"))
}

/// The classes and types of a repository.
fn tables(files: &[(&str, &str)]) -> (Classes, TypeNames) {
    let (_repository, analysis) = analysis(files);
    let survey = analysis.survey().unwrap();
    (survey.classes(), survey.type_names())
}

fn class(source: &str, name: &str) -> Class {
    let (classes, _) = tables(&[("m.py", source)]);
    classes.get(&format!("m.{name}")).unwrap_or_else(|| panic!("{:?}", classes.0.keys())).clone()
}

fn attribute(name: &str) -> Use {
    Use::Attribute(name.to_owned())
}

fn method(name: &str, arguments: u32) -> Use {
    Use::Method { name: name.to_owned(), arguments }
}

fn with(name: &str, argument: &str) -> Use {
    Use::MethodWith { name: name.to_owned(), argument: argument.to_owned() }
}

fn key(key: &str) -> Use {
    Use::Key(key.to_owned())
}

fn equals(literal: &str) -> Use {
    Use::Equals(literal.to_owned())
}

fn ordered(literal: &str) -> Use {
    Use::Ordered(Some(literal.to_owned()))
}

fn passed_to(function: &str, argument: &str) -> Use {
    Use::PassedTo { function: function.to_owned(), argument: argument.to_owned() }
}

fn is_instance(classes: &[&str]) -> Use {
    Use::IsInstance(classes.iter().map(|&class| class.to_owned()).collect())
}

fn inside(part: Part, used: Use) -> Use {
    Use::Inside { part, used: Box::new(used) }
}
