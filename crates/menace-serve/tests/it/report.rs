//! The report: one file that needs nothing and says all.

use menace_serve::{Graph, Node, report};

use crate::sample::{PLAIN, World, add_run, failure};

#[test]
fn it_says_what_was_run_what_broke_and_how_to_see_it_again() {
    let world = World::new(PLAIN);
    let node = |path: &str, orphan| Node { path: path.into(), orphan };
    let graph = Graph {
        nodes: vec![node("shop/cart.py", false), node("shop/till.py", true)],
        edges: vec![(1, 0)],
    };
    let page = report(&world.library(), None, Some(&graph)).unwrap();
    for told in [
        "r-2",
        "return 1 / n  # here",
        "menace repro fb22222222",
        "menace shrink fb22222222",
        "hostile input",
        "Nobody imports <code>shop/till.py</code>",
        "synergy_roi",
        "How to read it",
        "division by zero",
        "total(&#39;none&#39;)",
    ] {
        assert!(page.contains(told), "{told}");
    }
    assert!(!page.contains("fa11111111"), "that one is of the run before");
    assert!(report(&world.library(), Some("r-1"), None).unwrap().contains("fa11111111"));
}

#[test]
fn the_weakest_sections_have_their_failures_beside_them() {
    let world = World::new(PLAIN);
    let page = report(&world.library(), None, None).unwrap();
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
    let world = World::new(PLAIN);
    let words = |module, function| crate::sample::Words { module, function, ..PLAIN };
    // By name the other way round: till's section is the better one.
    let strong = failure("fa00000001", words("shop/till.py", "open"));
    let weak = failure("fz00000002", PLAIN);
    let unknown = failure("fa00000003", words("a.py", "never_called"));
    let failures = [strong, unknown, weak];
    add_run(&world.data(), &world.data(), "r-3", 3_000_000, 0.1, PLAIN, &failures);
    let page = report(&world.library(), None, None).unwrap();
    let place = |id: &str| page.find(&format!("<div id=\"{id}\">")).expect("a story");
    assert!(place("fz00000002") < place("fa00000001"));
    assert!(place("fa00000001") < place("fa00000003"), "without a number it comes last");
}

/// The part of a report below a heading.
fn part<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, part) = page.split_once(heading).unwrap_or_else(|| panic!("no {heading}"));
    part.split_once("<h2").unwrap().0
}

#[test]
fn every_part_shows_what_was_stored() {
    let world = World::new(PLAIN);
    let (store, _) = menace_store::Store::open(&world.data(), crate::sample::URL).unwrap();
    let mut small = failure("fb22222222", PLAIN);
    small.call.conditions.network.latency_ms = 250.0;
    small.call.args = vec![menace_model::Value::from("tiny")];
    store.set_shrunk(&small.id, &small.call).unwrap();
    let wave: Vec<f64> = (0..24).map(|n| 0.5 + 0.1 * f64::from(n * n % 7)).collect();
    let history = serde_json::json!({"cycles": 24, "roi_history": wave});
    std::fs::write(world.data().join("roi_history.json"), history.to_string()).unwrap();
    let page = report(&world.library(), None, None).unwrap();

    let strip = part(&page, "<h2>How calls ended</h2>");
    assert!(strip.contains("How calls ended: 7 returned, 2 raised"), "{strip}");
    assert!(strip.contains("class=\"f c-good\"") && strip.contains("class=\"f c-bad\""), "{strip}");
    let heat = part(&page, "id=\"heat\"");
    assert!(heat.contains("<th scope=\"col\">hostile input:high</th>"), "{heat}");
    // Two calls under each scenario; one of each did not go well.
    let cell = "<td class=\"h0\" title=\"2 calls, 1 neither returned nor refused\">0.250</td>";
    assert_eq!(heat.matches(cell).count(), 2, "{heat}");
    assert!(heat.contains("<td class=\"h8\""), "the best has another colour: {heat}");
    let roi = part(&page, "id=\"roi\"");
    assert!(roi.contains("ROI: 24 values") && roi.contains("c-actual"), "{roi}");
    assert!(roi.contains("% interval") && roi.contains("<polygon class=\"f c-band\""), "{roi}");
    let metrics = part(&page, "id=\"metrics\"");
    assert_eq!(metrics.matches("<svg class=\"chart\"").count(), 2, "one for each: {metrics}");
    let told = part(&page, "id=\"failures\"");
    let smallest = "<dt>Smallest call</dt><dd><code>total(&#39;tiny&#39;)</code>";
    let trouble = "<br>a network with 250 ms latency";
    assert!(told.contains(&format!("{smallest}{trouble}")), "with what it needs: {told}");
    assert!(!told.contains("menace shrink"), "it is small already");
}

/// Metrics by name, as the report of a run tells them.
fn metrics(page: &str) -> Vec<(&str, &str)> {
    let tiles = part(page, "id=\"metrics\"").split("<span class=\"what\">").skip(1);
    tiles
        .map(|tile| {
            let (name, rest) = tile.split_once("</span><div class=\"value\">").unwrap();
            (name, rest.split_once(' ').unwrap().0)
        })
        .collect()
}

#[test]
fn metrics_are_those_of_the_run_that_is_asked_for() {
    let world = World::new(PLAIN);
    let of = |run| report(&world.library(), run, None).unwrap();
    assert_eq!(metrics(&of(Some("r-1"))), [("reliability", "0.750"), ("security score", "0.500")]);
    let last = of(None);
    assert_eq!(metrics(&last), [("reliability", "0.500"), ("security score", "0.250")]);
    assert!(last.contains("<span class=\"bad\">−0.250</span>"), "with the change: {last}");
    assert!(!of(Some("r-1")).contains("<span class=\"bad\">"), "there was none before");
}

#[test]
fn roi_ends_with_the_run_that_is_asked_for() {
    let world = World::new(PLAIN);
    let roi = |run| part(&report(&world.library(), run, None).unwrap(), "id=\"roi\"").to_owned();
    assert!(roi(None).contains("ROI: 2 values, the last 0.2500"), "{}", roi(None));
    let first = roi(Some("r-1"));
    assert!(first.contains("ROI: 1 value, the last 0.5000"), "{first}");
    assert!(!first.contains("forecast"), "nobody knew more then: {first}");
}

#[test]
fn it_needs_no_network() {
    let world = World::new(PLAIN);
    let page = report(&world.library(), None, None).unwrap();
    for outside in ["src=", "<link", "@import", "url(", "http://", "https://", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn ever_so_many_failures_make_no_huge_report() {
    let world = World::new(PLAIN);
    let huge = crate::sample::Words {
        message: Box::leak("x".repeat(5_000).into_boxed_str()),
        input: Box::leak("y".repeat(5_000).into_boxed_str()),
        output: Box::leak("z".repeat(5_000).into_boxed_str()),
        ..PLAIN
    };
    let failures: Vec<_> =
        (0..900).map(|number| failure(&format!("fc{number:08}"), huge)).collect();
    add_run(&world.data(), &world.data(), "r-3", 3_000_000, 0.1, PLAIN, &failures);
    let page = report(&world.library(), None, None).unwrap();
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    assert!(page.contains("800 more"), "100 are told in full");
    assert!(page.contains("300 are left out here"), "500 are listed");
}

#[test]
fn a_run_that_was_cut_off_has_a_report_that_says_so() {
    let world = World::new(PLAIN);
    let (store, _) = menace_store::Store::open(&world.data(), crate::sample::URL).unwrap();
    let run = menace_store::NewRun {
        id: menace_store::RunId("r-4".into()),
        seed: 1,
        repository: "/nowhere".into(),
        started_ms: 4_000_000,
        settings: serde_json::json!({}),
    };
    drop(store.start_run(&run).unwrap());
    let page = report(&world.library(), Some("r-4"), None).unwrap();
    assert!(page.contains("has not come to its end"), "{page}");
    assert_eq!(metrics(&page), [], "those of the run before are not its own");
    assert!(page.contains("None is kept: no cycle"), "{page}");
    let none = report(&World::empty().library(), None, None);
    assert!(none.unwrap_err().to_string().contains("has not been used yet"));
}
