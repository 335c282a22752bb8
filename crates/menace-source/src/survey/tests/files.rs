//! Files that have changed, or that are malformed.

use std::fs;

use super::analyze_files;
use crate::survey::SurveyError;

#[test]
fn a_module_that_changed_since_is_an_error_and_tells_which() {
    let (repository, analysis) = analyze_files(&[("m.py", "def f(x): pass\n"), ("n.py", "")]);
    let survey = analysis.survey().unwrap();
    for changed in [
        "\ndef f(x): pass\n",
        "def f(x): pass\ndef g(): pass\n",
        "def g(x): pass\n",
        "def f(y): pass\n",
        "def f(:\n",
    ] {
        fs::write(repository.path().join("m.py"), changed).unwrap();
        let error = survey.hints(&analysis.modules[0]).unwrap_err();
        assert!(matches!(&error, SurveyError::Changed { path } if path == "m.py"), "{changed}");
        assert!(error.to_string().contains("`m.py`"), "{error}");
    }
    fs::remove_file(repository.path().join("m.py")).unwrap();
    assert!(survey.hints(&analysis.modules[0]).is_err());
    assert!(survey.hints(&analysis.modules[1]).is_ok());
}

#[test]
fn a_module_of_another_repository_is_refused() {
    let (_one, ours) = analyze_files(&[("m.py", "")]);
    let (_other, theirs) = analyze_files(&[("other.py", "")]);
    let error = ours.survey().unwrap().hints(&theirs.modules[0]).unwrap_err();
    assert!(matches!(error, SurveyError::Unknown { .. }), "{error}");
}

#[test]
fn a_file_that_vanished_costs_its_calls_only() {
    let files = [
        ("m.py", "def f(x): pass\n"),
        ("a.py", "import m\nm.f(1)\n"),
        ("b.py", "import m\nm.f(2)\n"),
    ];
    let (repository, analysis) = analyze_files(&files);
    fs::remove_file(repository.path().join("a.py")).unwrap();
    let survey = analysis.survey().unwrap();
    let module = analysis.modules.iter().find(|module| module.path == "m.py").unwrap();
    let hints = survey.hints(module).unwrap();
    assert_eq!(hints[1].params[0].passed_literals, ["2"]);
}

#[test]
fn overloads_are_no_sections_and_do_not_count_as_a_change() {
    let source = "from typing import overload\n@overload\ndef f(x: int): ...\n@overload\n\
        def f(x: str): ...\ndef f(x): return x.name\n";
    assert_eq!(super::find_uses(source), [super::attribute_use("name")]);
}
