use ruff_python_parser::parse_module;
use ruff_source_file::LineIndex;

use super::*;

fn check_source(source: &str) -> CheckResults {
    let parsed = parse_module(source).unwrap();
    let module = ParsedModule {
        tree: parsed.syntax(),
        tokens: parsed.tokens(),
        source,
        lines: &LineIndex::from_source_text(source),
        is_package_init: false,
    };
    check_module(&module, CheckSelection::ALL)
}

fn found_rules(source: &str) -> Vec<String> {
    check_source(source)
        .findings
        .into_iter()
        .map(|one| format!("{} {}", one.line, one.rule))
        .collect()
}

fn found_codes(source: &str) -> Vec<String> {
    check_source(source).lints.into_iter().map(|one| format!("{} {}", one.line, one.code)).collect()
}

#[test]
fn imports_are_followed_to_the_function_they_name() {
    assert_eq!(found_rules("from os import system as go\ngo(x)"), ["2 B605"]);
    assert_eq!(found_rules("import os as o\no.system(x)"), ["2 B605"]);
    assert_eq!(found_rules("def system(x): ...\nsystem(x)"), [""; 0]);
}

#[test]
fn comments_take_findings_back() {
    assert_eq!(found_rules("assert x  # nosec"), [""; 0]);
    assert_eq!(found_rules("assert x  # noqa: S101"), [""; 0]);
    assert_eq!(found_rules("assert x  # noqa"), ["1 B101"]);
    assert_eq!(found_rules("assert x  # noqa: F401"), ["1 B101"]);
    assert_eq!(found_codes("x == None  # noqa"), [""; 0]);
    assert_eq!(found_codes("# ruff: noqa: E711\nx == None\nx == True"), ["3 E712"]);
}

#[test]
fn constructs_without_a_number_of_bandits_get_one_of_ours() {
    let source = include_str!("../../../../fixtures/insecure/portal/own.py");
    let own: Vec<String> =
        found_rules(source).into_iter().filter(|rule| rule.contains('M')).collect();
    assert_eq!(
        own,
        [
            "3 M902", "6 M906", "7 M906", "13 M902", "14 M901", "15 M903", "16 M903", "17 M903",
            "18 M904", "20 M905",
        ]
    );
}

#[test]
fn each_lint_has_its_code() {
    assert_eq!(found_codes("try:\n    f()\nexcept:\n    pass"), ["3 E722"]);
    assert_eq!(found_codes("try:\n    f()\nexcept:\n    raise"), [""; 0]);
    assert_eq!(found_codes("None == x; x != False"), ["1 E711", "1 E712"]);
    assert_eq!(found_codes("not x in y\nnot x is y"), ["1 E713", "2 E714"]);
    assert_eq!(found_codes("f = lambda: 0"), ["1 E731"]);
    assert_eq!(found_codes("f'a'\nf'{a}'\n'b' f'c'"), ["1 F541", "3 F541"]);
    assert_eq!(found_codes("from a import *"), ["1 F403"]);
    assert_eq!(found_codes("x is 'a'\nx is None"), ["1 F632"]);
    assert_eq!(found_codes("{'a': 1, 'b': 2,\n'a': 3}"), ["2 F601"]);
    assert_eq!(found_codes("assert (x, 'y')"), ["1 F631"]);
    assert_eq!(found_codes("raise NotImplemented\nraise NotImplemented()"), ["1 F901", "2 F901"]);
}

#[test]
fn only_imports_that_nothing_can_mean_are_unused() {
    assert_eq!(
        found_codes("import os\nfrom a import (\n    b,\n    c,\n)\nc()"),
        ["1 F401", "3 F401"]
    );
    assert_eq!(found_codes("import os.path\nos.getcwd()"), [""; 0]);
    assert_eq!(found_codes("import a as a\nfrom b import c as c"), [""; 0]);
    assert_eq!(found_codes("from a import b\n__all__ = ['b']"), [""; 0]);
    assert_eq!(found_codes("from a import b\ndef f(x: 'list[b]'): ..."), [""; 0]);
    assert_eq!(found_codes("from __future__ import annotations"), [""; 0]);
    assert_eq!(found_codes("try:\n    import a\nexcept E:\n    import b as a"), [""; 0]);
}

#[test]
fn a_very_deep_tree_is_checked_without_deep_recursion() {
    // Parsing and dropping such a tree needs a big stack; checking it must not.
    let deep = || {
        let chain = format!("x = {}eval(y)", "1+".repeat(50_000));
        let parsed = parse_module(&chain).unwrap();
        let lines = LineIndex::from_source_text(&chain);
        let found = std::thread::scope(|scope| {
            let module = ParsedModule {
                tree: parsed.syntax(),
                tokens: parsed.tokens(),
                source: &chain,
                lines: &lines,
                is_package_init: false,
            };
            let small = std::thread::Builder::new().stack_size(128 << 10);
            small
                .spawn_scoped(scope, move || check_module(&module, CheckSelection::ALL))
                .unwrap()
                .join()
                .unwrap()
        });
        assert_eq!(found.findings.len(), 1);
    };
    std::thread::Builder::new().stack_size(1 << 30).spawn(deep).unwrap().join().unwrap();
}

#[test]
fn a_long_chain_of_strings_takes_no_time_to_speak_of() {
    let chain = format!("x = {}'b'", "'select ' + ".repeat(20_000));
    let deep = move || assert!(check_source(&chain).findings.is_empty());
    std::thread::Builder::new().stack_size(1 << 30).spawn(deep).unwrap().join().unwrap();
}
