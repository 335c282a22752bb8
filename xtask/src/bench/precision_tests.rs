use super::*;

fn finding(section: &str, others: &Value) -> ReportedFinding {
    ReportedFinding {
        id: "f1".to_owned(),
        section: format!("shop/cart.py::{section}"),
        kind: "hang".to_owned(),
        message: "at it".to_owned(),
        input: format!("{section}(1)"),
        others: others.as_object().cloned().unwrap_or_default(),
        ..ReportedFinding::default()
    }
}

fn judgements() -> JudgementList {
    JudgementList::parse(
        "shop,a,hang,,A,endless\nshop,b,hang,,A-dup,endless\nshop,c,hang,,C,\n\
         shop,d,hang,,D,\nshop,e,hang,,B,large\nshop,f,hang,,A,gone\n",
    )
    .unwrap()
}

fn package(sections: &[(&str, Value)]) -> PackageFindings {
    let findings = sections.iter().map(|(section, others)| finding(section, others)).collect();
    PackageFindings { name: "shop".to_owned(), findings }
}

#[test]
fn packages_are_listed_with_versions() {
    let packages = parse_packages("# judged\nshop==1.2\n\n two == 3 # comment\n").unwrap();
    let listed: Vec<_> =
        packages.iter().map(|package| (&*package.name, &*package.version)).collect();
    assert_eq!(listed, [("shop", "1.2"), ("two", "3")]);
    assert!(parse_packages("shop>=1").is_err());
    let text = fs::read_to_string(workspace_root().join(PACKAGES)).unwrap();
    assert_eq!(parse_packages(&text).unwrap().len(), 9);
}

#[test]
fn the_first_of_a_root_has_its_class_and_the_next_are_duplicates() {
    let shown = json!({});
    let package = package(&["b", "a", "c", "d", "e", "x"].map(|section| (section, shown.clone())));
    let counts = ClassCounts::of("shop", package.shown(), &judgements());
    let expected = ClassCounts { a: 1, b: 1, c: 1, again: 1, d: 1, unjudged: 1 };
    assert_eq!(counts, expected);
    assert_eq!(counts.all(), 6);
    assert_eq!(counts.row("shop"), "| shop | 6 | 1 | 1 | 1 | 1 | 1 | 1 | 20 % | 40 % |\n");
}

#[test]
fn missing_roots_are_named_and_hidden_ones_marked() {
    let packages = [package(&[("b", json!({})), ("e", json!({"shown": false}))])];
    let text = render_judged(&packages, &judgements());
    for line in [
        "| all | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 100 % | 100 % |",
        "A: 1 of 2 shown",
        "    missing: shop f (gone): not found",
        "B: 0 of 1 shown",
        "    missing: shop e (large): hidden",
    ] {
        assert!(text.lines().any(|found| found == line), "no `{line}` in\n{text}");
    }
}

#[test]
fn counts_are_of_what_is_shown() {
    let packages = [package(&[("a", json!({})), ("b", json!({"hidden": true}))])];
    let text = render_counts(&packages);
    assert!(text.contains("| shop | 2 | 1 | 1 |\n| all | 2 | 1 | 1 |\n"), "{text}");
}

#[test]
fn findings_are_written_with_what_the_report_has_of_them() {
    let package = package(&[("a", json!({"confidence": 0.5, "count": 3}))]);
    let written = findings_json(&package, Some(&judgements()));
    let finding = &written[0];
    assert_eq!(finding["call"], "a(1)");
    assert_eq!(finding["confidence"], 0.5);
    assert_eq!(finding["class"], "A");
    assert!(finding.get("count").is_none() && finding.get("snippet").is_none());
}
