//! What an address asks for stays asked for: in links, in forms, in files.

use axum::http::StatusCode;

use crate::sample::{PLAIN_TEXT, SampleData, fetch_as_browser, fetch_as_program};

/// The page between two marks.
fn text_between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = page.split_once(from).unwrap_or_else(|| panic!("no {from}: {page}"));
    rest.split_once(to).unwrap_or_else(|| panic!("no {to}: {rest}")).0
}

#[test]
fn a_scenario_leads_to_its_failures_whatever_their_severity() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let scenarios = fetch_as_browser(&routes, "/scenarios?run=r-1");
    let link = "/failures?scenario=hostile_input&amp;run=r-1";
    assert!(scenarios.text().contains(link), "{}", scenarios.text());
    let page = fetch_as_browser(&routes, &link.replace("&amp;", "&"));
    assert!(page.text().contains("/failures/fa11111111"), "{}", page.text());
    assert!(!page.text().contains("fb22222222"), "that one is of another run");
    for (scenario, count) in
        [("hostile_input", 2), ("hostile_input:high", 2), ("hostile_input:low", 0), ("hostile", 0)]
    {
        let page = fetch_as_browser(&routes, &format!("/failures?scenario={scenario}"));
        let found = page.text().matches("href=\"/failures/f").count();
        assert_eq!(found, count, "{scenario}");
    }
}

#[test]
fn failures_say_what_they_are_limited_to_and_how_to_see_the_others() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let page =
        fetch_as_browser(&routes, "/failures?scenario=hostile_input&run=r-1&sort=kind&dir=asc");
    let limits = text_between(page.text(), "class=\"limits\"", "</p>");
    assert!(limits.contains(">scenario hostile_input<"), "{limits}");
    assert!(limits.contains("href=\"/failures?run=r-1&amp;sort=kind&amp;dir=asc\""), "{limits}");
    assert!(limits.contains("href=\"/failures?scenario=hostile_input&amp;sort"), "{limits}");
    assert!(!fetch_as_browser(&routes, "/failures").text().contains("class=\"limits\""));
}

#[test]
fn forms_keep_what_else_was_asked_for() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    for (path, kept) in [
        ("/runs?sort=roi&dir=desc", "sort=roi dir=desc"),
        ("/modules?run=r-1&sort=roi&dir=desc", "run=r-1 sort=roi dir=desc"),
        ("/module?path=shop/cart.py&run=r-1", "path=shop/cart.py run=r-1"),
        (
            "/section?id=shop/cart.py::total&run=r-1&sort=time&dir=desc",
            "id=shop/cart.py::total run=r-1 sort=time dir=desc",
        ),
        (
            "/forecasts?metric=security_score&sort=error&dir=asc",
            "metric=security_score sort=error dir=asc",
        ),
        ("/synergy?sort=mean&dir=asc", "sort=mean dir=asc"),
        ("/settings?sort=name&dir=asc", "sort=name dir=asc"),
        ("/runs/r-1?sort=question&dir=asc", "sort=question dir=asc"),
        ("/compare?a=r-1&b=r-2&q=cart&sort=a&dir=asc", "q=cart sort=a dir=asc"),
        ("/scenarios?run=r-1&sort=delta&dir=asc", "run=r-1 sort=delta dir=asc"),
        (
            "/failures?run=r-1&scenario=hostile_input&place=shop/cart.py&sort=kind&dir=asc",
            "scenario=hostile_input place=shop/cart.py run=r-1 sort=kind dir=asc",
        ),
    ] {
        let page = fetch_as_browser(&routes, path);
        let form = text_between(page.text(), "<form class=\"filters\"", "</form>");
        let hidden: Vec<String> = form
            .split("<input type=\"hidden\" name=\"")
            .skip(1)
            .map(|field| {
                let (name, rest) = field.split_once("\" value=\"").unwrap();
                format!("{name}={}", rest.split_once('"').unwrap().0)
            })
            .collect();
        assert_eq!(hidden.join(" "), kept, "{path}: {form}");
    }
}

#[test]
fn sorting_forecasts_keeps_the_search() {
    let world = SampleData::new(PLAIN_TEXT);
    let page = fetch_as_browser(&world.routes(), "/forecasts?metric=security_score&q=sec");
    let head = text_between(page.text(), "<table id=\"forecasts\">", "</thead>");
    let link = "/forecasts?metric=security_score&amp;q=sec&amp;sort=error&amp;dir=desc";
    assert!(head.contains(link), "{head}");
}

/// A file, what it is asked for, and the first cells of its rows then.
const FILTERED_CSV_ROWS: &[(&str, &[&str])] = &[
    ("/runs.csv?sort=roi&dir=desc", &["r-1", "r-2"]),
    ("/runs.csv?sort=roi&dir=asc", &["r-2", "r-1"]),
    ("/runs.csv?q=r-2", &["r-2"]),
    ("/modules.csv?sort=roi&dir=desc", &["shop/till.py", "shop/cart.py"]),
    ("/modules.csv?q=cart", &["shop/cart.py"]),
    ("/sections.csv?path=shop/cart.py&q=nothing", &[]),
    ("/sections.csv?path=shop/cart.py&sort=name&dir=asc", &["shop/cart.py::total"]),
    ("/module_metrics.csv?path=shop/cart.py&run=r-1", &["reliability", "resilience"]),
    (
        "/section_scenarios.csv?id=shop/cart.py::total",
        &["auxiliary", "depth", "hostile_input:high", "normal"],
    ),
    ("/failures.csv?q=fa11", &["fa11111111"]),
    ("/failures.csv?run=r-2", &["fb22222222"]),
    ("/failures.csv?sort=first&dir=asc", &["fa11111111", "fb22222222"]),
    ("/failures.csv?sort=first&dir=desc", &["fb22222222", "fa11111111"]),
    ("/calls.csv?id=shop/cart.py::total&verdict=raised&sort=number&dir=asc", &["1", "1"]),
    ("/calls.csv?id=shop/cart.py::total&scenario=depth", &["1"]),
    ("/calls.csv?id=shop/cart.py::total&q=nothing", &[]),
    ("/scenarios.csv?q=none", &[]),
    ("/heat.csv?run=r-1", &["shop/cart.py", "shop/cart.py", "shop/till.py", "shop/till.py"]),
    ("/forecasts.csv?metric=security_score", &["1", "2"]),
    ("/forecasts.csv?metric=ROI", &["1"]),
    ("/forecast_errors.csv?q=sec", &["security_score"]),
    (
        "/forecast_errors.csv?sort=name&dir=desc&q=r",
        &["security_score", "reliability", "hostile_input:resilience", "ROI"],
    ),
    ("/compare.csv?a=r-1&b=r-2&q=no+such+name", &["sum"; 7]),
    ("/synergy.csv?q=resilience", &[]),
    ("/synergy.csv?q=roi", &["1", "2"]),
    ("/weights.csv", &["resilience", "roi"]),
    ("/weights.csv?sort=worth&dir=desc", &["roi", "resilience"]),
    ("/weights.csv?q=res", &["resilience"]),
    ("/settings.csv?set=1&q=roi_cycles", &["Convergence"]),
    ("/settings.csv?set=1&q=nothing+has+this", &[]),
    ("/decisions.csv?q=of+the+run", &["ROI of the run has converged"]),
    (
        "/decisions.csv?q=converged&sort=question&dir=asc",
        &["ROI of shop/cart.py has converged", "ROI of the run has converged"],
    ),
    (
        "/decisions.csv?q=converged&sort=question&dir=desc",
        &["ROI of the run has converged", "ROI of shop/cart.py has converged"],
    ),
    ("/decisions.csv?q=border", &["cart holds the border"; 2]),
    ("/decisions.csv?q=of+resilience", &["forecasts of resilience look as in training"; 2]),
    ("/outlook.csv?q=veto", &["shop"]),
    (
        "/outlook.csv?sort=value&dir=desc&run=r-1",
        &["the run", "shop", "the run", "shop", "cart", "till"],
    ),
];

#[test]
fn files_have_the_filters_of_their_pages() {
    let world = SampleData::new(PLAIN_TEXT);
    let weights = r#"{"roi": 1.25, "resilience": 0.5}"#;
    std::fs::write(world.data_dir().join("synergy_weights.json"), weights).unwrap();
    let routes = world.routes();
    for (path, rows) in FILTERED_CSV_ROWS {
        let file = fetch_as_program(&routes, path);
        assert_eq!(file.status, StatusCode::OK, "{path}: {}", file.text());
        let found: Vec<&str> =
            file.text().lines().skip(1).filter_map(|line| line.split(',').next()).collect();
        assert_eq!(found, *rows, "{path}: {}", file.text());
    }
    // Every file that there is, is among them.
    let program = include_str!("../../src/http/mod.rs");
    for route in program.split(".route(\"").skip(1) {
        let route = route.split('"').next().unwrap();
        let is_asked =
            FILTERED_CSV_ROWS.iter().any(|(path, _)| path.split('?').next() == Some(route));
        assert!(!route.contains(".csv") || is_asked, "{route}");
    }
    let page = fetch_as_browser(&routes, "/runs?q=r-2&sort=roi&dir=desc");
    assert!(page.text().contains("href=\"/runs.csv?q=r-2&amp;sort=roi&amp;dir=desc\""));
}

#[test]
fn long_tables_of_comparisons_and_synergy_are_sorted_and_searched() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let modules = |query: &str| {
        let page = fetch_as_browser(&routes, &format!("/compare?a=r-1&b=r-2&{query}"));
        let table = text_between(page.text(), "Modules of two runs", "</table>").to_owned();
        (table.find("shop/cart.py"), table.find("shop/till.py"), table)
    };
    let (cart, till, table) = modules("sort=b&dir=desc");
    assert!(till.unwrap() < cart.unwrap(), "{table}");
    assert!(table.contains("aria-sort=\"descending\""), "{table}");
    let (cart, till, table) = modules("sort=name&dir=asc");
    assert!(cart.unwrap() < till.unwrap(), "{table}");
    assert_eq!(modules("q=TILL").0, None);
    let synergy = fetch_as_browser(&routes, "/synergy?sort=mean&dir=desc");
    let head = text_between(synergy.text(), "<table id=\"synergy\">", "</thead>");
    assert!(head.contains("aria-sort=\"descending\""), "{head}");
    let nothing = fetch_as_browser(&routes, "/synergy?q=resilience");
    assert!(
        !text_between(nothing.text(), "<table id=\"synergy\">", "</table>").contains("synergy_roi")
    );
}

/// The page, and a file that it leads to.
const OFFERED_DOWNLOADS: &[(&str, &str)] = &[
    ("/", "/plots/runs.png"),
    ("/", "/plots/heat.png?run=r-2"),
    ("/", "/heat.csv?run=r-2"),
    ("/scenarios?run=r-1", "/plots/heat.png?run=r-1"),
    ("/scenarios?run=r-1", "/heat.csv?run=r-1"),
    ("/synergy", "/plots/synergy_latest.png"),
    ("/module?path=shop/cart.py", "/plots/module.png?path=shop/cart.py"),
    ("/module?path=shop/cart.py&run=r-1", "/sections.csv?path=shop/cart.py&run=r-1"),
    ("/module?path=shop/cart.py&run=r-1", "/module_metrics.csv?path=shop/cart.py&run=r-1"),
    (
        "/section?id=shop/cart.py::total&run=r-1",
        "/section_scenarios.csv?id=shop/cart.py%3A%3Atotal&run=r-1",
    ),
    ("/section?id=shop/cart.py::total", "/plots/section.png?id=shop/cart.py%3A%3Atotal"),
    ("/forecasts?metric=security_score", "/plots/metric.png?metric=security_score"),
    ("/forecasts?metric=security_score", "/plots/predictions.png?metric=security_score"),
    ("/forecasts?q=sec", "/forecast_errors.csv?q=sec"),
    ("/runs/r-2", "/decisions.csv?run=r-2"),
    ("/runs/r-2", "/outlook.csv?run=r-2"),
    ("/runs/r-2?q=run&sort=value&dir=asc", "/outlook.csv?run=r-2&q=run&sort=value&dir=asc"),
    ("/compare?a=r-1&b=r-2&q=cart", "/compare.csv?a=r-1&b=r-2&q=cart"),
    ("/synergy?sort=mean&dir=asc", "/synergy.csv?sort=mean&dir=asc"),
    ("/settings?set=1&sort=name&dir=desc", "/settings.csv?set=1&sort=name&dir=desc"),
];

#[test]
fn pages_offer_their_charts_and_tables_as_files() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    for (path, link) in OFFERED_DOWNLOADS {
        let page = fetch_as_browser(&routes, path);
        let href = format!("href=\"{}\"", link.replace('&', "&amp;"));
        assert!(page.text().contains(&href), "{path} has no {href}: {}", page.text());
        let file = fetch_as_program(&routes, link);
        assert_eq!(file.status, StatusCode::OK, "{link}");
        if link.contains(".png") {
            assert!(file.bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{link}");
        } else {
            assert!(file.text().lines().count() > 1, "{link}: {}", file.text());
        }
    }
    let runs = fetch_as_program(&routes, "/plots/runs.png");
    assert_ne!(runs.bytes, fetch_as_program(&routes, "/plots/roi.png").bytes, "cycles are no runs");
    let latest = fetch_as_program(&routes, "/plots/synergy_latest.png");
    assert_ne!(
        latest.bytes,
        fetch_as_program(&routes, "/plots/synergy.png").bytes,
        "one cycle is not all"
    );
    let [one, other] =
        ["r-1", "r-2"].map(|run| fetch_as_program(&routes, &format!("/heat.csv?run={run}")));
    assert_eq!(one.text().lines().nth(1), Some("shop/cart.py,normal,0.5,2,1"));
    assert_eq!(other.text().lines().nth(2), Some("shop/cart.py,hostile_input:high,0.25,2,1"));
    let sections = fetch_as_program(&routes, "/sections.csv?path=shop/cart.py");
    assert_eq!(sections.text().lines().nth(1), Some("shop/cart.py::total,0.25,0.25,0.75,,"));
    let decisions = fetch_as_program(&routes, "/decisions.csv?run=r-2");
    assert_eq!(
        decisions.text().lines().nth(1),
        Some("ROI of the run has converged,no,0.5,17,3,equivalence,0.375,0.0625,0.875,false")
    );
    let compared = fetch_as_program(&routes, "/compare.csv?a=r-1&b=r-2&q=cart");
    assert_eq!(compared.text().lines().nth(8), Some("module,shop/cart.py,0.5,0.25,-0.25,worse"));
    let errors = fetch_as_program(&routes, "/forecast_errors.csv?q=security");
    assert_eq!(errors.text().lines().nth(1), Some("security_score,0.625,0.75,0.0625,2,0.75"));
}
