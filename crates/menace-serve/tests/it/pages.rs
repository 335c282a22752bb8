//! Every page, with and without something to show.

use axum::http::{StatusCode, header};

use crate::sample::{PLAIN_TEXT, SampleData, fetch_as_browser, fetch_as_program};

pub(crate) const PAGE_PATHS: &[&str] = &[
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
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    for path in PAGE_PATHS {
        let page = fetch_as_browser(&routes, path);
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.text());
        assert!(page.text().contains("<main id=\"main\""), "{path}");
        assert!(page.text().ends_with("</html>\n") || page.text().ends_with("</html>"), "{path}");
        assert_eq!(page.header(header::CONTENT_TYPE), "text/html; charset=utf-8", "{path}");
    }
}

#[test]
fn before_the_first_run_pages_say_so() {
    let world = SampleData::empty();
    let routes = world.routes();
    assert!(fetch_as_browser(&routes, "/").text().contains("Nothing has been run yet"));
    for path in ["/failures", "/scenarios", "/forecasts", "/synergy", "/runs", "/settings"] {
        assert_eq!(fetch_as_browser(&routes, path).status, StatusCode::OK, "{path}");
    }
    for path in ["/modules", "/compare", "/failures/f1", "/runs/r-1"] {
        assert_ne!(
            fetch_as_browser(&routes, path).status,
            StatusCode::INTERNAL_SERVER_ERROR,
            "{path}"
        );
    }
    assert_eq!(fetch_as_program(&routes, "/roi").json()["roi"], serde_json::json!([]));
    assert_eq!(fetch_as_program(&routes, "/metrics").status, StatusCode::OK);
}

#[test]
fn a_dashboard_that_was_started_first_sees_the_first_run() {
    let world = SampleData::empty();
    let routes = world.routes();
    assert!(fetch_as_browser(&routes, "/").text().contains("Nothing has been run yet"));
    let failure = crate::sample::sample_failure("fa11111111", PLAIN_TEXT);
    crate::sample::add_run(
        &world.data_dir(),
        &world.data_dir(),
        "r-9",
        9_000,
        0.5,
        PLAIN_TEXT,
        &[failure],
    );
    assert!(fetch_as_browser(&routes, "/").text().contains("r-9"));
}

#[test]
fn the_overview_shows_the_last_run() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let page = fetch_as_browser(&routes, "/");
    for expected in ["r-2", "shop/cart.py", "fb22222222", "hostile input", "<dd>9<", "18 in 2 runs"]
    {
        assert!(page.text().contains(expected), "{expected}");
    }
    assert!(!page.text().contains("fa11111111"), "that one is of the run before");
    assert!(fetch_as_browser(&routes, "/runs/r-1").text().contains("fa11111111"));
}

#[test]
fn the_overview_opens_with_failures_then_modules_then_metrics() {
    let world = SampleData::new(PLAIN_TEXT);
    let page = fetch_as_browser(&world.routes(), "/");
    let headings = [
        ">Failures of this run</h2>",
        ">Scenarios and modules</h2>",
        ">Weakest modules</h2>",
        ">Metrics</h2>",
    ];
    let places = headings.map(|heading| page.text().find(heading).expect(heading));
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn tables_are_sorted_and_searched_by_address() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let order = |path: &str| {
        let page = fetch_as_browser(&routes, path);
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
    assert!(order("/modules?sort=roi&dir=asc&page=7").0.is_some(), "there is one page");
    // A column that cannot be sorted by is ignored.
    assert!(order("/modules?sort=%27;DROP%20TABLE&dir=x").0.is_some());
}

#[test]
fn failures_are_found_by_text_kind_place_and_run() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let count = |query: &str| {
        let page = fetch_as_browser(&routes, &format!("/failures?{query}"));
        assert_eq!(page.status, StatusCode::OK, "{}", page.text());
        page.text().matches("href=\"/failures/f").count()
    };
    assert_eq!(count(""), 2);
    assert_eq!(count("q=DIVISION"), 2);
    assert_eq!(count("q=fa1"), 1);
    assert_eq!(count("q=%25"), 0, "a percent sign is a percent sign");
    assert_eq!(count("kind=unhandled"), 2);
    assert_eq!(count("kind=race"), 0);
    assert_eq!(count("kind=no_such_kind"), 0);
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
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let page = fetch_as_browser(&routes, "/failures/fb22");
    let text = page.text();
    for expected in
        ["return 1 / n  # here", "menace repro fb22222222", "total(&#39;none&#39;)", "r-2"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(fetch_as_browser(&routes, "/failures/nosuch").status, StatusCode::NOT_FOUND);
    assert_eq!(
        fetch_as_browser(&routes, "/failures/f").status,
        StatusCode::NOT_FOUND,
        "it may be any of two"
    );
}

#[test]
fn only_what_takes_an_input_can_be_made_small() {
    let world = SampleData::new(PLAIN_TEXT);
    let story = || fetch_as_browser(&world.routes(), "/failures/fb22").text().to_owned();
    assert!(story().contains("menace shrink fb22222222"));
    let database = rusqlite::Connection::open(world.data_dir().join("menace.db")).unwrap();
    database.execute("INSERT OR IGNORE INTO names (text) VALUES ('import')", []).unwrap();
    let kind = "(SELECT key FROM names WHERE text = 'import')";
    let sql = format!("UPDATE failures SET kind = {kind} WHERE id = 'fb22222222'");
    assert_eq!(database.execute(&sql, []).unwrap(), 1);
    let text = story();
    assert!(text.contains("menace repro fb22222222") && !text.contains("menace shrink"), "{text}");
}

#[test]
fn calls_are_shown_worst_first_and_filtered() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let rows = |query: &str| {
        let page = fetch_as_browser(&routes, &format!("/section?id=shop/cart.py::total{query}"));
        let text = page.text().split("<table id=\"calls\"").nth(1).unwrap().to_owned();
        let body =
            text.split("<tbody>").nth(1).unwrap().split("</tbody>").next().unwrap().to_owned();
        (body.matches("<tr>").count(), body.find("v-raised"), body.find("v-returned"))
    };
    let (count, raised, returned) = rows("");
    assert_eq!(count, 6);
    assert!(raised.unwrap() < returned.unwrap());
    assert_eq!(rows("&verdict=raised").0, 2);
    assert_eq!(rows("&scenario=normal").0, 2);
    assert_eq!(rows("&verdict=crashed").0, 0);
    let missing = fetch_as_browser(&routes, "/section?id=shop/cart.py::nothing");
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    assert_eq!(fetch_as_browser(&routes, "/section?id=x").status, StatusCode::NOT_FOUND);
}

#[test]
fn a_run_counts_the_same_while_it_goes_on_and_after() {
    let world = SampleData::new(PLAIN_TEXT);
    let (store, _) =
        menace_store::Store::open(&world.data_dir(), crate::sample::DATABASE_URL).unwrap();
    let run = menace_store::RunId("r-2".into());
    let (live, after) =
        (store.live_stats(&run).unwrap(), store.run_list_row(&run).unwrap().unwrap());
    assert_eq!((Some(live.calls), live.verdicts), (after.calls, after.verdicts));
    assert_eq!(live.auxiliary_calls, 1);
    let routes = world.routes();
    assert!(fetch_as_browser(&routes, "/").text().contains("and 1 to measure time"));
    let page = fetch_as_browser(&routes, "/section?id=shop/cart.py::total");
    for (name, note) in [("depth", "under no scenario"), ("auxiliary", "not among the calls")] {
        let row = page.text().split(&format!("<th scope=\"row\">{name}<br>")).nth(1).unwrap();
        let row = row.split("</tr>").next().unwrap();
        assert!(row.contains(note) && row.contains("<td class=\"n\">1</td>"), "{name}: {row}");
        assert!(row.contains("1 returned"), "{name}: {row}");
    }
}

#[test]
fn metrics_have_their_place_on_pages() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    for (path, value) in [("/", "0.250"), ("/runs/r-1", "0.500")] {
        let page = fetch_as_browser(&routes, path);
        let tile = page.text().split("<a href=\"/forecasts?metric=security_score\">").nth(1);
        let tile = tile.unwrap_or_else(|| panic!("{path}: {}", page.text()));
        let expected = format!("<div class=\"value\">{value} ");
        assert!(tile.split("</li>").next().unwrap().contains(&expected), "{path}: {tile}");
    }
    let forecasts = fetch_as_browser(&routes, "/forecasts");
    for name in ["ROI", "reliability", "security_score", "hostile_input%3Aresilience"] {
        let link = format!("href=\"/forecasts?metric={name}\"");
        assert!(forecasts.text().contains(&link), "{name}: {}", forecasts.text());
    }
    let scenarios = fetch_as_browser(&routes, "/scenarios?sort=resilience&dir=asc");
    let (_, table) = scenarios.text().split_once("id=\"scenario-metrics\"").unwrap();
    let (table, _) = table.split_once("</table>").unwrap();
    let way = "<a href=\"/forecasts?metric=hostile_input%3Aresilience\">0.500</a>";
    assert!(table.contains(way), "{table}");
    assert!(table.contains("href=\"/scenarios?sort=reliability&amp;dir=desc\""), "{table}");
}

#[test]
fn runs_are_compared_side_by_side() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let page = fetch_as_browser(&routes, "/compare?a=r-1&b=r-2");
    let text = page.text();
    assert!(text.contains("−0.250"), "ROI fell: {text}");
    let (appeared, rest) = text
        .split_once("Only in the second")
        .map(|(_, rest)| rest.split_once("Only in the first").unwrap())
        .unwrap();
    assert!(appeared.contains("fb22222222") && !appeared.contains("fa11111111"));
    assert!(rest.contains("fa11111111"));
    let table = |what: &str| {
        let (_, table) = text.split_once(&format!("{what} of two runs")).expect(what);
        table.split_once("</table>").unwrap().0
    };
    let metrics = table("Metrics");
    assert!(metrics.contains(">reliability<") && metrics.contains(">worse<"), "{metrics}");
    let synergy = table("Synergy");
    assert!(synergy.contains(">synergy_roi<") && !synergy.contains(">worse<"), "{synergy}");
    assert!(text.contains("The same, with the same settings."), "{text}");
    let words = crate::sample::SampleText { message: "strict", ..PLAIN_TEXT };
    crate::sample::add_run(&world.data_dir(), &world.data_dir(), "r-3", 3_000_000, 0.5, words, &[]);
    let page = fetch_as_browser(&routes, "/compare?a=r-2&b=r-3");
    let (_, settings) = page.text().split_once("<table id=\"settings\">").unwrap();
    let (settings, _) = settings.split_once("</table>").unwrap();
    for expected in [">profile<", ">division by zero<", ">strict<", ">repository<"] {
        assert!(settings.contains(expected), "{expected}: {settings}");
    }
    let (_, risen) = page.text().split_once("Metrics of two runs").unwrap();
    assert!(!risen.split_once("</table>").unwrap().0.contains(">worse<"), "more is better");
    let file = fetch_as_program(&routes, "/compare.csv?a=r-2&b=r-3");
    for expected in
        ["setting,profile,division by zero,strict,,", "metric,reliability,0.5,0.75,0.25,better"]
    {
        assert!(file.text().lines().any(|line| line == expected), "{expected}: {}", file.text());
    }
    // Without names: the last one and the one before.
    assert!(fetch_as_browser(&routes, "/compare").text().contains("<option>r-3</option>"));
}

#[test]
fn one_run_is_distinguished_from_many() {
    let world = SampleData::empty();
    let routes = world.routes();
    assert!(fetch_as_browser(&routes, "/compare").text().contains("This needs two runs"));
    crate::sample::add_run(
        &world.data_dir(),
        &world.data_dir(),
        "r-9",
        9_000,
        0.5,
        PLAIN_TEXT,
        &[],
    );
    let one = r#"{"cycles": 1, "roi_history": [0.5], "metrics_history": {"reliability": [0.5]}}"#;
    std::fs::write(world.data_dir().join("roi_history.json"), one).unwrap();
    for path in ["/compare", "/compare?b=r-9"] {
        let page = fetch_as_browser(&routes, path);
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(page.text().contains("there is no run before r-9"), "{path}: {}", page.text());
    }
    assert_eq!(fetch_as_browser(&routes, "/compare?a=r-7").status, StatusCode::NOT_FOUND);
    let overview = fetch_as_browser(&routes, "/");
    assert!(overview.text().contains("in 1 run<"), "{}", overview.text());
    assert!(overview.text().contains("ROI of the last 1 run "), "{}", overview.text());
    for path in ["/forecasts", "/forecasts?metric=reliability"] {
        let page = fetch_as_browser(&routes, path);
        assert!(page.text().contains("A forecast needs two values."), "{path}");
        assert!(page.text().contains(": 1 value, the last 0.5000"), "{path}: {}", page.text());
        assert!(!page.text().contains("forecast: "), "no line leads on: {}", page.text());
    }
    for path in ["/", "/runs", "/modules", "/forecasts", "/synergy"] {
        let page = fetch_as_browser(&routes, path);
        for wrong in [">1 runs", " 1 runs", " 1 values", ">1 modules"] {
            assert!(!page.text().contains(wrong), "{path}: {wrong}");
        }
    }
}

#[test]
fn decisions_are_shown_with_what_they_rest_on() {
    let world = SampleData::new(PLAIN_TEXT);
    let page = fetch_as_browser(&world.routes(), "/runs/r-2");
    let page = crate::sample::join_lines(page.text());
    let (_, table) = page.split_once("id=\"decisions\"").expect("a table");
    let (table, _) = table.split_once("</table>").unwrap();
    for expected in
        ["ROI of the run has converged", "equivalence", ">0.375<", ">0.062<", ">0.875<", ">17<"]
    {
        assert!(table.contains(expected), "{expected}: {table}");
    }
    assert!(table.contains("too few samples") && table.contains("1 sample of 3"), "{table}");
    // One row for each check: what was decided, statistic, threshold, p-value, samples, whether it
    // holds.
    for expected in [
        "cart holds the border</th><td rowspan=\"2\">no</td><td>raroi</td>\
         <td class=\"n\">0.062</td><td class=\"n\">0.100</td><td class=\"n\">–</td>\
         <td class=\"n\">1</td><td>no</td>",
        "<td>workflow confidence</td><td class=\"n\">0.500</td><td class=\"n\">0.250</td>",
        "forecasts of resilience look as in training</th><td rowspan=\"2\">no</td>\
         <td>population stability</td><td class=\"n\">0.188</td><td class=\"n\">0.250</td>\
         <td class=\"n\">0.500</td><td class=\"n\">13</td><td>yes</td>",
        "<td>distance</td><td class=\"n\">0.438</td><td class=\"n\">0.200</td>\
         <td class=\"n\">0.0010</td><td class=\"n\">13</td><td>no</td>",
        "forecasts of roi look as in training</th><td rowspan=\"2\">yes</td>",
    ] {
        assert!(table.contains(expected), "{expected}: {table}");
    }
    let place = |what: &str| table.find(what).unwrap();
    assert!(place("forecasts of resilience") < place("ROI of shop/cart.py"), "what moved first");
    assert!(place("ROI of shop/cart.py") < place("forecasts of roi"), "what did not, last");
}

#[test]
fn what_is_expected_is_shown() {
    let world = SampleData::new(PLAIN_TEXT);
    let page = fetch_as_browser(&world.routes(), "/runs/r-2");
    let (_, table) = page.text().split_once("id=\"outlook\"").expect("a table");
    let (table, _) = table.split_once("</table>").unwrap();
    let rows: Vec<&str> = table.split("<tr>").skip(2).collect();
    for (row, expected) in rows.iter().zip([
        ["the run", "ROI of the next cycle, calibrated", "0.312", "not to be trusted much"],
        ["till", "collapse", "–", "immediate collapse risk, in 2 cycles, brittle, from 5 cycles"],
        ["cart", "RAROI on the border", "0.062", "its micro-pilot went well, confidence 0.50"],
        ["shop", "held back by veto", "0.500", "be safe"],
        ["shop", "confidence", "0.125", ""],
        ["the run", "pred_resilience", "0.688", ""],
    ]) {
        for part in expected {
            assert!(row.contains(&format!(">{part}<")), "{part}: {row}");
        }
    }
    assert_eq!(rows.len(), 6, "{table}");
}

#[test]
fn secrets_are_masked() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let page = fetch_as_browser(&routes, "/settings?set=1");
    assert!(page.text().contains("OPENAI_API_KEY") && page.text().contains("********"));
    assert!(page.text().contains("ROI_CYCLES"));
    assert!(!page.text().contains("sk-very-secret"));
}

#[test]
fn what_is_shown_can_be_taken_along() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    for (path, head, rows) in [
        ("/modules.csv", "module,roi", 2),
        ("/failures.csv", "id,section", 2),
        ("/runs.csv", "run,started_ms", 2),
        ("/calls.csv?id=shop/cart.py::total", "number,scenario", 6),
        ("/module_metrics.csv?path=shop/cart.py", "metric,value", 2),
        (
            "/section_scenarios.csv?id=shop/cart.py::total",
            "scenario,severity,calls,roi,returned,",
            4,
        ),
        ("/scenarios.csv", "scenario,metric", 10),
        ("/forecasts.csv?metric=security_score", "forecast,predicted", 2),
        ("/synergy.csv", "cycle,metric", 2),
    ] {
        let file = fetch_as_program(&routes, path);
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
        let picture = fetch_as_program(&routes, path);
        assert_eq!(picture.header(header::CONTENT_TYPE), "image/png", "{path}");
        assert!(picture.bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{path}");
    }
    assert_eq!(fetch_as_program(&routes, "/plots/other.png").status, StatusCode::NOT_FOUND);
}

#[test]
fn runs_and_calls_are_sorted_and_searched_by_their_address() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let place = |page: &str, id: &str| page.find(&format!("/runs/{id}\"")).expect("a row");
    let latest = fetch_as_browser(&routes, "/runs");
    assert!(place(latest.text(), "r-2") < place(latest.text(), "r-1"), "{}", latest.text());
    let oldest = fetch_as_browser(&routes, "/runs?sort=started&dir=asc");
    assert!(place(oldest.text(), "r-1") < place(oldest.text(), "r-2"), "{}", oldest.text());
    assert!(oldest.text().contains("aria-sort=\"ascending\""));
    let one = fetch_as_browser(&routes, "/runs?q=r-1");
    assert!(one.text().contains("/runs/r-1\"") && !one.text().contains("/runs/r-2\""));
    let nothing = fetch_as_browser(&routes, "/runs?q=%25");
    assert!(!nothing.text().contains("/runs/r-1\""), "signs of patterns are taken as they are");
}
