use super::*;

fn bug(kind: CorpusBugKind, expect: &str) -> CorpusBug {
    CorpusBug {
        id: "shop-price".to_owned(),
        name: "shop".to_owned(),
        version: "1".to_owned(),
        fixed: None,
        section: "shop/price.py::Price.parse".to_owned(),
        inner: "shop/digits.py::read".to_owned(),
        kind,
        expect: expect.to_owned(),
        n: None,
        n_small: None,
        requires: None,
        snippet: String::new(),
    }
}

fn finding(section: &str, kind: &str, exception: Option<&str>, location: &str) -> ReportedFinding {
    ReportedFinding {
        id: "f1".to_owned(),
        section: section.to_owned(),
        kind: kind.to_owned(),
        exception: exception.map(str::to_owned),
        location: location.to_owned(),
        ..ReportedFinding::default()
    }
}

fn is_bug(bug: &CorpusBug, finding: ReportedFinding) -> bool {
    let inner = [SectionLines { path: "shop/digits.py".to_owned(), first: 10, last: 20 }];
    bug.matching(&[finding], &inner).count() == 1
}

const SECTION: &str = "shop/price.py::Price.parse";

#[test]
fn the_list_of_bugs_is_read_and_complete() {
    let text = fs::read_to_string(workspace_root().join(BUGS)).unwrap();
    let bugs: Vec<CorpusBug> = serde_json::from_str(&text).unwrap();
    assert_eq!(bugs.len(), 25);
    let ids: std::collections::BTreeSet<_> = bugs.iter().map(|bug| &bug.id).collect();
    assert_eq!(ids.len(), bugs.len());
    for bug in &bugs {
        let is_python = |path: &str| path.rsplit_once('.').is_some_and(|(_, end)| end == "py");
        assert!(is_python(bug.section_parts().0) && is_python(bug.inner_parts().0), "{}", bug.id);
        assert!(!bug.section_parts().1.is_empty() && !bug.snippet.is_empty(), "{}", bug.id);
        assert!(bug.n.is_none() || bug.n_small.is_some(), "{}", bug.id);
        let is_exception = bug.kind == CorpusBugKind::Exception;
        assert_eq!(is_exception, bug.expected_exception().is_some(), "{}", bug.id);
    }
}

#[test]
fn a_symptom_counts_in_the_section_and_in_lines_of_the_inner_function() {
    let hang = bug(CorpusBugKind::HangPoly, "timeout");
    assert!(is_bug(&hang, finding(SECTION, "hang", None, "shop/other.py:1")));
    assert!(is_bug(&hang, finding("shop/price.py::total", "slow", None, "shop/digits.py:10")));
    assert!(!is_bug(&hang, finding("shop/price.py::total", "slow", None, "shop/digits.py:9")));
    assert!(!is_bug(&hang, finding("shop/price.py::total", "slow", None, "shop/price.py:12")));
    assert!(!is_bug(&hang, finding("shop/price.py::Price.parse_all", "hang", None, "a.py:1")));
    assert!(!is_bug(&hang, finding("other/price.py::Price.parse", "hang", None, "a.py:1")));
}

#[test]
fn each_kind_has_its_symptoms() {
    let has = |kind, expect, reported: &str, exception| {
        is_bug(&bug(kind, expect), finding(SECTION, reported, exception, "a.py:1"))
    };
    for kind in [CorpusBugKind::HangExp, CorpusBugKind::HangPoly, CorpusBugKind::Loop] {
        assert!(["hang", "slow", "memory"].iter().all(|name| has(kind, "timeout", name, None)));
        assert!(!has(kind, "timeout", "unhandled", Some("TypeError")));
    }
    assert!(has(CorpusBugKind::Memory, "timeout", "memory", None));
    assert!(has(CorpusBugKind::Memory, "timeout", "hang", None));
    assert!(!has(CorpusBugKind::Memory, "timeout", "slow", None));
    assert!(has(CorpusBugKind::Traversal, "result:x", "traversal", None));
    assert!(!has(CorpusBugKind::Traversal, "result:x", "injection", None));
    let raised = |reported, exception| {
        has(CorpusBugKind::Exception, "raises:IndexError", reported, Some(exception))
    };
    assert!(["unhandled", "recursion", "encoding"].iter().all(|name| raised(name, "IndexError")));
    assert!(!raised("unhandled", "KeyError"));
    assert!(!raised("race", "IndexError"));
    assert!(has(CorpusBugKind::Exception, "raises:X", "unhandled", Some("shop.errors.X")));
}

#[test]
fn places_may_name_an_option_or_stand_after_a_space() {
    assert_eq!(place_parts("a/b.py::C.d"), ("a/b.py", "C.d"));
    assert_eq!(place_parts("a/b.py::d(option)"), ("a/b.py", "d"));
    assert_eq!(place_parts("a/b.py pattern"), ("a/b.py", "pattern"));
}

#[test]
fn a_snippet_proves_what_is_expected() {
    let outcome = SnippetOutcome { raised: None, holds: None, seconds: 0.01, peak_mb: 20.0 };
    let proves = |expect: &str, outcome: &SnippetOutcome| {
        bug(CorpusBugKind::Exception, expect).is_proven_by(outcome)
    };
    let slow = SnippetOutcome { seconds: 2.0, ..outcome.clone() };
    assert!(proves("timeout", &slow) && !proves("timeout", &outcome));
    let raised = SnippetOutcome { raised: Some("IndexError".to_owned()), ..outcome.clone() };
    assert!(proves("raises:IndexError", &raised) && !proves("raises:KeyError", &raised));
    assert!(!proves("raises:IndexError", &outcome));
    let holds = SnippetOutcome { holds: Some(true), ..outcome.clone() };
    assert!(proves("result:RESULT > 1", &holds) && !proves("result:RESULT > 1", &outcome));
    let large = SnippetOutcome { peak_mb: 900.0, ..outcome.clone() };
    assert!(proves("memory:500", &large) && !proves("memory:500", &outcome));
}

#[test]
fn the_table_counts_by_kind_and_lists_ids() {
    let release = |reported: &[&str]| ReleaseResult {
        version: "1".to_owned(),
        proven: Some(true),
        proof: String::new(),
        reported_as: reported.iter().map(|id| (*id).to_owned()).collect(),
        note: String::new(),
        failures: 1,
        calls: 1,
        elapsed_s: 1.0,
        failed: false,
    };
    let result = |id: &str, kind, vulnerable: &[&str], fixed: Option<&[&str]>| BugResult {
        id: id.to_owned(),
        kind,
        section: SECTION.to_owned(),
        vulnerable: release(vulnerable),
        fixed: fixed.map(release),
    };
    let results = [
        result("one", CorpusBugKind::Exception, &["f1"], Some(&[])),
        result("two", CorpusBugKind::HangExp, &[], Some(&["f2"])),
        result("three", CorpusBugKind::HangExp, &["f3"], None),
    ];
    let table = render_table(&results);
    for line in [
        "| hang-exp | 1 of 2 | 0 | 1 of 1 |",
        "| exception | 1 of 1 | 1 | 0 of 1 |",
        "| all | 2 of 3 | 1 | 1 of 2 |",
        "found: one, three",
        "not found: two",
        "reported on the fixed release: two",
        "snippet does not show the bug: none",
        "snippet shows the bug on the fixed release: one, two",
        "no report: none",
    ] {
        assert!(table.lines().any(|found| found == line), "no `{line}` in\n{table}");
    }
}
