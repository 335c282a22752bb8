//! The report: one file that needs nothing and says all.

use menace_serve::{ImportGraph, ImportGraphNode, render_report};

use menace_model::{FailureId, WeaknessKind};
use menace_store::Store;

use crate::sample::{
    DATABASE_URL, PLAIN_TEXT, SampleData, add_run, fetch_as_browser, join_lines, sample_failure,
};

#[test]
fn it_says_what_was_run_what_broke_and_how_to_see_it_again() {
    let world = SampleData::new(PLAIN_TEXT);
    let node = |path: &str, orphan| ImportGraphNode { path: path.into(), orphan };
    let graph = ImportGraph {
        nodes: vec![node("shop/cart.py", false), node("shop/till.py", true)],
        edges: vec![(1, 0)],
    };
    let page = render_report(&world.data_source(), None, Some(&graph)).unwrap();
    for text in [
        "r-2",
        "return 1 / n  # here",
        "menace repro fb22222222",
        "menace shrink fb22222222",
        "hostile input",
        "synergy_roi",
        "How to read it",
        "division by zero",
        "total(&#39;none&#39;)",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(join_lines(&page).contains("No module imports <code>shop/till.py</code>."), "{page}");
    assert!(!page.contains("fa11111111"), "that one is of the run before");
    assert!(render_report(&world.data_source(), Some("r-1"), None).unwrap().contains("fa11111111"));
}

#[test]
fn a_failure_that_was_gone_is_new_in_the_run_in_which_it_is_back() {
    const BADGE: &str = "<span class=\"chip new\">";
    let world = SampleData::new(PLAIN_TEXT);
    let id = FailureId("fb22222222".into());
    let (store, _) = Store::open(&world.data_dir(), DATABASE_URL).unwrap();
    for (run, is_gone, badges) in [("r-3", true, 1), ("r-4", false, 0)] {
        if is_gone {
            store.set_gone(&id, Some(2_500_000)).unwrap();
        }
        let failure = sample_failure(&id.0, PLAIN_TEXT);
        let data = world.data_dir();
        add_run(&data, &data, run, 3_000_000, 0.1, PLAIN_TEXT, &[failure]);
        let page = render_report(&world.data_source(), None, None).unwrap();
        assert_eq!(page.matches(BADGE).count(), badges, "{run}");
        for path in ["/failures?run=", "/runs/"].map(|path| format!("{path}{run}")) {
            let page = fetch_as_browser(&world.routes(), &path);
            assert_eq!(page.text().matches(BADGE).count(), badges, "{path}");
        }
    }
    let page = render_report(&world.data_source(), Some("r-3"), None).unwrap();
    assert_eq!(page.matches(BADGE).count(), 1, "an older report has not changed");
}

#[test]
fn the_weakest_sections_have_their_failures_beside_them() {
    let world = SampleData::new(PLAIN_TEXT);
    let page = render_report(&world.data_source(), None, None).unwrap();
    let (_, table) = page.split_once("id=\"sections\"").unwrap();
    let (table, _) = table.split_once("</table>").unwrap();
    let (weak, other) =
        table.split_once("shop/till.py::open").expect("the better one comes second");
    assert!(weak.contains("shop/cart.py::total") && weak.contains("fb22222222"), "{weak}");
    assert!(weak.contains("href=\"#fb22222222\""), "it leads to its story: {weak}");
    assert!(page.contains("<div id=\"fb22222222\">"), "{page}");
    assert!(other.contains("none"), "{other}");
}

#[test]
fn the_stories_of_the_weakest_sections_come_first() {
    let world = SampleData::new(PLAIN_TEXT);
    let words = |module, function| crate::sample::SampleText { module, function, ..PLAIN_TEXT };
    // By name the other way round: till's section is the better one.
    let strong = sample_failure("fa00000001", words("shop/till.py", "open"));
    let weak = sample_failure("fz00000002", PLAIN_TEXT);
    let unknown = sample_failure("fa00000003", words("a.py", "never_called"));
    let failures = [strong, unknown, weak];
    add_run(&world.data_dir(), &world.data_dir(), "r-3", 3_000_000, 0.1, PLAIN_TEXT, &failures);
    let page = render_report(&world.data_source(), None, None).unwrap();
    let place = |id: &str| page.find(&format!("<div id=\"{id}\">")).expect("a story");
    assert!(place("fz00000002") < place("fa00000001"));
    assert!(place("fa00000001") < place("fa00000003"), "without a number it comes last");
}

#[test]
fn it_opens_with_what_broke_then_scenarios_and_modules_then_metrics() {
    let world = SampleData::new(PLAIN_TEXT);
    let page = render_report(&world.data_source(), None, None).unwrap();
    let headings = ["failures", "heat", "weakest", "sections", "metrics", "roi"];
    let places = headings.map(|id| page.find(&format!("<h2 id=\"{id}\"")).expect(id));
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(page.find("<h2"), Some(places[0]), "nothing comes before failures");
}

#[test]
fn the_worst_kinds_of_failures_come_first() {
    let world = SampleData::new(PLAIN_TEXT);
    let failure = |id, kind, function| menace_model::Failure {
        kind,
        ..sample_failure(id, crate::sample::SampleText { function, ..PLAIN_TEXT })
    };
    let failures = [
        failure("fa00000001", WeaknessKind::Slow, "total"),
        failure("fa00000002", WeaknessKind::Unhandled, "total"),
        failure("fz00000003", WeaknessKind::Injection, "a_better_one"),
    ];
    add_run(&world.data_dir(), &world.data_dir(), "r-3", 3_000_000, 0.1, PLAIN_TEXT, &failures);
    let page = render_report(&world.data_source(), None, None).unwrap();
    let ids = ["fz00000003", "fa00000002", "fa00000001"];
    let places = ids.map(|id| page.find(&format!("<div id=\"{id}\">")).expect(id));
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn test_modules_are_not_ranked() {
    let world = SampleData::new(PLAIN_TEXT);
    let tests = crate::sample::SampleText { module: "tests/test_cart.py", ..PLAIN_TEXT };
    let failure = sample_failure("fa00000001", tests);
    add_run(&world.data_dir(), &world.data_dir(), "r-3", 3_000_000, 0.1, tests, &[failure]);
    let page = render_report(&world.data_source(), None, None).unwrap();
    for id in ["weakest", "sections"] {
        let ranking = section_below(&page, &format!("id=\"{id}\""));
        assert!(ranking.contains("shop/till.py"), "{ranking}");
        assert!(!ranking.contains("test_cart.py"), "{ranking}");
    }
    assert!(section_below(&page, "id=\"failures\"").contains("test_cart.py"), "it is a failure");
}

/// The part of a report below a heading.
fn section_below<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, part) = page.split_once(heading).unwrap_or_else(|| panic!("no {heading}"));
    part.split_once("<h2").unwrap().0
}

#[test]
fn every_part_shows_what_was_stored() {
    let world = SampleData::new(PLAIN_TEXT);
    let (store, _) =
        menace_store::Store::open(&world.data_dir(), crate::sample::DATABASE_URL).unwrap();
    let mut small = sample_failure("fb22222222", PLAIN_TEXT);
    small.call.conditions.network.latency_ms = 250.0;
    small.call.args = vec![menace_model::Value::from("tiny")];
    store.set_shrunk(&small.id, &small.call).unwrap();
    let wave: Vec<f64> = (0..24).map(|n| 0.5 + 0.1 * f64::from(n * n % 7)).collect();
    let history = serde_json::json!({"cycles": 24, "roi_history": wave});
    std::fs::write(world.data_dir().join("roi_history.json"), history.to_string()).unwrap();
    let page = render_report(&world.data_source(), None, None).unwrap();

    let strip = section_below(&page, "<h2>How calls ended</h2>");
    assert!(strip.contains("How calls ended: 7 returned, 2 raised"), "{strip}");
    assert!(strip.contains("class=\"f c-good\"") && strip.contains("class=\"f c-bad\""), "{strip}");
    let heat = section_below(&page, "id=\"heat\"");
    assert!(heat.contains("<th scope=\"col\">hostile input:high</th>"), "{heat}");
    // Two calls under each scenario; one of each did not go well.
    let cell = "<td class=\"h0\" title=\"2 calls, 1 neither returned nor refused\">0.250</td>";
    assert_eq!(heat.matches(cell).count(), 2, "{heat}");
    assert!(heat.contains("<td class=\"h8\""), "the best has another colour: {heat}");
    let roi = section_below(&page, "id=\"roi\"");
    assert!(roi.contains("ROI: 24 values") && roi.contains("c-actual"), "{roi}");
    assert!(roi.contains("% interval") && roi.contains("<polygon class=\"f c-band\""), "{roi}");
    let metrics = section_below(&page, "id=\"metrics\"");
    assert_eq!(metrics.matches("<svg class=\"chart\"").count(), 2, "one for each: {metrics}");
    let failures = section_below(&page, "id=\"failures\"");
    let smallest = "<dt>Smallest call</dt><dd><code>total(&#39;tiny&#39;)</code>";
    let network = "<br>network: 250 ms latency";
    assert!(failures.contains(&format!("{smallest}{network}")), "with what it needs: {failures}");
    assert!(!failures.contains("menace shrink"), "it is small already");
}

/// Metrics by name, as the report of a run tells them.
fn reported_metrics(page: &str) -> Vec<(String, String)> {
    let page = join_lines(page);
    let tiles = section_below(&page, "id=\"metrics\"").split("<span class=\"what\">").skip(1);
    tiles
        .map(|tile| {
            let (name, rest) = tile.split_once("</span><div class=\"value\">").unwrap();
            (name.to_owned(), rest.split_once(' ').unwrap().0.to_owned())
        })
        .collect()
}

#[test]
fn metrics_are_those_of_the_run_that_is_asked_for() {
    let world = SampleData::new(PLAIN_TEXT);
    let of = |run| render_report(&world.data_source(), run, None).unwrap();
    let metrics = |reliability: &str, security: &str| {
        [("reliability", reliability), ("security score", security)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    assert_eq!(reported_metrics(&of(Some("r-1"))), metrics("0.750", "0.500"));
    let last = of(None);
    assert_eq!(reported_metrics(&last), metrics("0.500", "0.250"));
    assert!(last.contains("<span class=\"bad\">−0.250</span>"), "with the change: {last}");
    assert!(!of(Some("r-1")).contains("<span class=\"bad\">"), "there was none before");
}

#[test]
fn roi_ends_with_the_run_that_is_asked_for() {
    let world = SampleData::new(PLAIN_TEXT);
    let roi = |run| {
        section_below(&render_report(&world.data_source(), run, None).unwrap(), "id=\"roi\"")
            .to_owned()
    };
    assert!(roi(None).contains("ROI: 2 values, the last 0.2500"), "{}", roi(None));
    let first = roi(Some("r-1"));
    assert!(first.contains("ROI: 1 value, the last 0.5000"), "{first}");
    assert!(!first.contains("forecast"), "there was no forecast then: {first}");
}

#[test]
fn it_needs_no_network() {
    let world = SampleData::new(PLAIN_TEXT);
    let page = render_report(&world.data_source(), None, None).unwrap();
    for outside in ["src=", "<link", "@import", "url(", "http://", "https://", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn ever_so_many_failures_make_no_huge_report() {
    let world = SampleData::new(PLAIN_TEXT);
    let huge = crate::sample::SampleText {
        message: Box::leak("x".repeat(5_000).into_boxed_str()),
        input: Box::leak("y".repeat(5_000).into_boxed_str()),
        output: Box::leak("z".repeat(5_000).into_boxed_str()),
        ..PLAIN_TEXT
    };
    let failures: Vec<_> =
        (0..900).map(|number| sample_failure(&format!("fc{number:08}"), huge)).collect();
    add_run(&world.data_dir(), &world.data_dir(), "r-3", 3_000_000, 0.1, PLAIN_TEXT, &failures);
    let page = render_report(&world.data_source(), None, None).unwrap();
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    assert!(page.contains("800 more"), "100 are shown in full");
    assert!(page.contains("300 are left out here"), "500 are listed");
}

#[test]
fn a_run_that_was_cut_off_has_a_report_that_says_so() {
    let world = SampleData::new(PLAIN_TEXT);
    let (store, _) =
        menace_store::Store::open(&world.data_dir(), crate::sample::DATABASE_URL).unwrap();
    let run = menace_store::RunStartRecord {
        id: menace_store::RunId("r-4".into()),
        seed: 1,
        repository: "/nowhere".into(),
        started_ms: 4_000_000,
        settings: serde_json::json!({}),
    };
    drop(store.start_run(&run).unwrap());
    let page = render_report(&world.data_source(), Some("r-4"), None).unwrap();
    assert!(page.contains("has not come to its end"), "{page}");
    assert_eq!(reported_metrics(&page), [], "those of the run before are not its own");
    assert!(page.contains("None was stored: no cycle"), "{page}");
    let none = render_report(&SampleData::empty().data_source(), None, None);
    assert!(none.unwrap_err().to_string().contains("has not been used yet"));
}
