//! Every page, with and without something to show.

use axum::http::{StatusCode, header};

use crate::sample::{PLAIN, World, browse, fetch};

pub(crate) const PAGES: &[&str] = &[
    "/",
    "/runs",
    "/runs/r-1",
    "/compare?a=r-1&b=r-2",
    "/modules",
    "/module?path=shop/cart.py",
    "/section?id=shop/cart.py::total",
    "/failures",
    "/failures/fb22222222",
    "/scenarios",
    "/forecasts",
    "/forecasts?metric=security_score",
    "/synergy",
    "/settings",
];

#[test]
fn every_page_is_there() {
    let world = World::new(PLAIN);
    let routes = world.routes();
    for path in PAGES {
        let page = browse(&routes, path);
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.text());
        assert!(page.text().contains("<main id=\"main\""), "{path}");
        assert!(page.text().ends_with("</html>\n") || page.text().ends_with("</html>"), "{path}");
        assert_eq!(page.header(header::CONTENT_TYPE), "text/html; charset=utf-8", "{path}");
    }
}

#[test]
fn before_the_first_run_pages_say_so() {
    let world = World::empty();
    let routes = world.routes();
    assert!(browse(&routes, "/").text().contains("Nothing has been run yet"));
    for path in ["/failures", "/scenarios", "/forecasts", "/synergy", "/runs", "/settings"] {
        assert_eq!(browse(&routes, path).status, StatusCode::OK, "{path}");
    }
    for path in ["/modules", "/compare", "/failures/f1", "/runs/r-1"] {
        assert_ne!(browse(&routes, path).status, StatusCode::INTERNAL_SERVER_ERROR, "{path}");
    }
    assert_eq!(fetch(&routes, "/roi").json()["roi"], serde_json::json!([]));
    assert_eq!(fetch(&routes, "/metrics").status, StatusCode::OK);
}

#[test]
fn a_dashboard_that_was_started_first_sees_the_first_run() {
    let world = World::empty();
    let routes = world.routes();
    assert!(browse(&routes, "/").text().contains("Nothing has been run yet"));
    let failure = crate::sample::failure("fa11111111", PLAIN);
    crate::sample::add_run(&world.data(), &world.data(), "r-9", 9_000, 0.5, PLAIN, &[failure]);
    assert!(browse(&routes, "/").text().contains("r-9"));
}

#[test]
fn the_overview_shows_the_last_run() {
    let world = World::new(PLAIN);
    let routes = world.routes();
    let page = browse(&routes, "/");
    for told in ["r-2", "shop/cart.py", "fb22222222", "hostile input", "<dd>8<", "16 in 2 runs"] {
        assert!(page.text().contains(told), "{told}");
    }
    assert!(!page.text().contains("fa11111111"), "that one is of the run before");
    assert!(browse(&routes, "/runs/r-1").text().contains("fa11111111"));
}

#[test]
fn tables_are_sorted_and_searched_by_address() {
    let world = World::new(PLAIN);
    let routes = world.routes();
    let order = |path: &str| {
        let page = browse(&routes, path);
        let text = page.text().to_owned();
        let body =
            text.split("<tbody>").nth(1).unwrap().split("</tbody>").next().unwrap().to_owned();
        (body.find("shop/cart.py"), body.find("shop/till.py"))
    };
    let (cart, till) = order("/modules?sort=roi&dir=asc");
    assert!(cart.unwrap() < till.unwrap());
    let (cart, till) = order("/modules?sort=roi&dir=desc");
    assert!(cart.unwrap() > till.unwrap());
    assert_eq!(order("/modules?q=TILL").0, None);
    assert!(order("/modules?q=TILL").1.is_some());
    // What nobody can sort by is ignored.
    assert!(order("/modules?sort=%27;DROP%20TABLE&dir=x").0.is_some());
}

#[test]
fn failures_are_found_by_text_kind_place_and_run() {
    let world = World::new(PLAIN);
    let routes = world.routes();
    let count = |query: &str| {
        let page = browse(&routes, &format!("/failures?{query}"));
        assert_eq!(page.status, StatusCode::OK, "{}", page.text());
        page.text().matches("href=\"/failures/f").count()
    };
    assert_eq!(count(""), 2);
    assert_eq!(count("q=DIVISION"), 2);
    assert_eq!(count("q=fa1"), 1);
    assert_eq!(count("q=%25"), 0, "a percent sign is a percent sign");
    assert_eq!(count("kind=unhandled"), 2);
    assert_eq!(count("kind=race"), 0);
    assert_eq!(count("run=r-1"), 1);
    assert_eq!(count("place=shop/cart.py"), 2);
    assert_eq!(count("place=shop/cart.py::total"), 2);
    assert_eq!(count("place=shop/car"), 0);
    assert_eq!(count("scenario=hostile_input"), 2);
    assert_eq!(count("scenario=normal"), 0);
    for sort in ["section", "kind", "count", "first", "last"] {
        assert_eq!(count(&format!("sort={sort}&dir=asc")), 2, "{sort}");
    }
}

#[test]
fn a_failure_comes_with_its_source_and_its_commands() {
    let world = World::new(PLAIN);
    let routes = world.routes();
    let page = browse(&routes, "/failures/fb22");
    let text = page.text();
    for told in ["return 1 / n  # here", "menace repro fb22222222", "total(&#39;none&#39;)", "r-2"]
    {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert_eq!(browse(&routes, "/failures/nosuch").status, StatusCode::NOT_FOUND);
    assert_eq!(
        browse(&routes, "/failures/f").status,
        StatusCode::NOT_FOUND,
        "it may be any of two"
    );
}

#[test]
fn calls_are_shown_worst_first_and_filtered() {
    let world = World::new(PLAIN);
    let routes = world.routes();
    let rows = |query: &str| {
        let page = browse(&routes, &format!("/section?id=shop/cart.py::total{query}"));
        let text = page.text().split("<table id=\"calls\"").nth(1).unwrap().to_owned();
        let body =
            text.split("<tbody>").nth(1).unwrap().split("</tbody>").next().unwrap().to_owned();
        (body.matches("<tr>").count(), body.find("v-raised"), body.find("v-returned"))
    };
    let (count, raised, returned) = rows("");
    assert_eq!(count, 4);
    assert!(raised.unwrap() < returned.unwrap());
    assert_eq!(rows("&verdict=raised").0, 2);
    assert_eq!(rows("&scenario=normal").0, 2);
    assert_eq!(rows("&verdict=crashed").0, 0);
    let missing = browse(&routes, "/section?id=shop/cart.py::nothing");
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    assert_eq!(browse(&routes, "/section?id=x").status, StatusCode::NOT_FOUND);
}

#[test]
fn runs_are_compared_side_by_side() {
    let world = World::new(PLAIN);
    let routes = world.routes();
    let page = browse(&routes, "/compare?a=r-1&b=r-2");
    let text = page.text();
    assert!(text.contains("−0.250"), "ROI fell: {text}");
    let (appeared, rest) = text
        .split_once("Only in the second")
        .map(|(_, rest)| rest.split_once("Only in the first").unwrap())
        .unwrap();
    assert!(appeared.contains("fb22222222") && !appeared.contains("fa11111111"));
    assert!(rest.contains("fa11111111"));
    // Without names: the last one and the one before.
    assert!(browse(&routes, "/compare").text().contains("−0.250"));
}

#[test]
fn one_run_is_told_apart_from_many() {
    let world = World::empty();
    let routes = world.routes();
    assert!(browse(&routes, "/compare").text().contains("This needs two runs"));
    crate::sample::add_run(&world.data(), &world.data(), "r-9", 9_000, 0.5, PLAIN, &[]);
    let one = r#"{"cycles": 1, "roi_history": [0.5], "metrics_history": {"reliability": [0.5]}}"#;
    std::fs::write(world.data().join("roi_history.json"), one).unwrap();
    for path in ["/compare", "/compare?b=r-9"] {
        let page = browse(&routes, path);
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(page.text().contains("there is no run before r-9"), "{path}: {}", page.text());
    }
    assert_eq!(browse(&routes, "/compare?a=r-7").status, StatusCode::NOT_FOUND);
    let overview = browse(&routes, "/");
    assert!(overview.text().contains("in 1 run<"), "{}", overview.text());
    assert!(overview.text().contains("ROI of the last 1 run "), "{}", overview.text());
    for path in ["/forecasts", "/forecasts?metric=reliability"] {
        let page = browse(&routes, path);
        assert!(page.text().contains("A forecast needs two values."), "{path}");
        assert!(page.text().contains(": 1 value, the last 0.5000"), "{path}: {}", page.text());
        assert!(!page.text().contains("forecast: "), "no line leads on: {}", page.text());
    }
    for path in ["/", "/runs", "/modules", "/forecasts", "/synergy"] {
        let page = browse(&routes, path);
        for wrong in [">1 runs", " 1 runs", " 1 values", ">1 modules"] {
            assert!(!page.text().contains(wrong), "{path}: {wrong}");
        }
    }
}

#[test]
fn decisions_are_shown_with_what_they_rest_on() {
    let world = World::new(PLAIN);
    let page = browse(&world.routes(), "/runs/r-2");
    let (_, table) = page.text().split_once("id=\"decisions\"").expect("a table");
    let (table, _) = table.split_once("</table>").unwrap();
    for told in
        ["gains of the run have faded", "equivalence", ">0.375<", ">0.062<", ">0.875<", ">17<"]
    {
        assert!(table.contains(told), "{told}: {table}");
    }
    assert!(table.contains("too few samples") && table.contains("1 sample of 3"), "{table}");
}

#[test]
fn what_is_expected_is_shown() {
    let world = World::new(PLAIN);
    let page = browse(&world.routes(), "/runs/r-2");
    let (_, table) = page.text().split_once("id=\"outlook\"").expect("a table");
    let (table, _) = table.split_once("</table>").unwrap();
    let rows: Vec<&str> = table.split("<tr>").skip(2).collect();
    for (row, told) in rows.iter().zip([
        ["the run", "ROI of the next cycle, calibrated", "0.312", "not to be trusted much"],
        ["till", "collapse", "–", "immediate collapse risk, in 2 cycles, brittle, from 5 cycles"],
        ["cart", "RAROI on the border", "0.062", "its micro-pilot went well, confidence 0.50"],
        ["shop", "held back by veto", "0.500", "be safe"],
        ["shop", "confidence", "0.125", ""],
        ["the run", "pred_resilience", "0.688", ""],
    ]) {
        for part in told {
            assert!(row.contains(&format!(">{part}<")), "{part}: {row}");
        }
    }
    assert_eq!(rows.len(), 6, "{table}");
}

#[test]
fn secrets_are_masked() {
    let world = World::new(PLAIN);
    let routes = world.routes();
    let page = browse(&routes, "/settings?set=1");
    assert!(page.text().contains("OPENAI_API_KEY") && page.text().contains("********"));
    assert!(page.text().contains("ROI_CYCLES"));
    assert!(!page.text().contains("sk-very-secret"));
}

#[test]
fn what_is_shown_can_be_taken_along() {
    let world = World::new(PLAIN);
    let routes = world.routes();
    for (path, head, rows) in [
        ("/modules.csv", "module,roi", 2),
        ("/failures.csv", "id,section", 2),
        ("/runs.csv", "run,started_ms", 2),
        ("/calls.csv?id=shop/cart.py::total", "number,scenario", 4),
        ("/scenarios.csv", "scenario,metric", 10),
        ("/forecasts.csv?metric=security_score", "forecast,predicted", 2),
        ("/synergy.csv", "cycle,metric", 2),
    ] {
        let file = fetch(&routes, path);
        assert_eq!(file.status, StatusCode::OK, "{path}: {}", file.text());
        assert!(file.text().starts_with(head), "{path}: {}", file.text());
        assert_eq!(file.text().lines().count(), rows + 1, "{path}: {}", file.text());
        assert!(file.header(header::CONTENT_DISPOSITION).starts_with("attachment"), "{path}");
    }
    for path in [
        "/plots/predictions.png",
        "/plots/roi.png",
        "/plots/metric.png?metric=reliability",
        "/plots/synergy.png",
    ] {
        let picture = fetch(&routes, path);
        assert_eq!(picture.header(header::CONTENT_TYPE), "image/png", "{path}");
        assert!(picture.bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{path}");
    }
    assert_eq!(fetch(&routes, "/plots/other.png").status, StatusCode::NOT_FOUND);
}

#[test]
fn runs_and_calls_are_sorted_and_searched_by_their_address() {
    let world = World::new(PLAIN);
    let routes = world.routes();
    let place = |page: &str, id: &str| page.find(&format!("/runs/{id}\"")).expect("a row");
    let latest = browse(&routes, "/runs");
    assert!(place(latest.text(), "r-2") < place(latest.text(), "r-1"), "{}", latest.text());
    let oldest = browse(&routes, "/runs?sort=started&dir=asc");
    assert!(place(oldest.text(), "r-1") < place(oldest.text(), "r-2"), "{}", oldest.text());
    assert!(oldest.text().contains("aria-sort=\"ascending\""));
    let one = browse(&routes, "/runs?q=r-1");
    assert!(one.text().contains("/runs/r-1\"") && !one.text().contains("/runs/r-2\""));
    let nothing = browse(&routes, "/runs?q=%25");
    assert!(!nothing.text().contains("/runs/r-1\""), "signs of patterns are taken as they are");
}
