//! Every page in light and dark: no accessibility violation and no console error.

use menace_serve::{
    DataLocations, DataSource, HttpServer, ImportGraph, ImportGraphNode, ListenAddress,
    render_report,
};
use serde_json::Value;

use crate::driver::{BrowserSession, axe_script, target_dir};
use crate::large;
use crate::sample::{HOSTILE_TEXT, PLAIN_TEXT, SampleData};

const PAGES_WITH_DATA: &[(&str, &str)] = &[
    ("overview", ""),
    ("run", "runs/r-1"),
    ("modules", "modules"),
    ("module", "module?path=shop/cart.py"),
    ("section", "section?id=shop/cart.py::total"),
    ("failures", "failures"),
    ("failure", "failures/fb22222222"),
    ("scenarios", "scenarios"),
    ("forecasts", "forecasts?metric=security_score"),
    ("synergy", "synergy"),
    ("runs", "runs"),
    ("compare", "compare?a=r-1&b=r-2"),
    ("settings", "settings?set=1"),
];

/// Before the first run.
const EMPTY_PAGES: &[(&str, &str)] = &[
    ("empty-overview", ""),
    ("empty-failures", "failures"),
    ("empty-scenarios", "scenarios"),
    ("empty-forecasts", "forecasts"),
    ("empty-synergy", "synergy"),
    ("empty-runs", "runs"),
    ("empty-compare", "compare"),
    ("empty-settings", "settings?q=nothing+fits"),
];

const LOCAL_ADDRESS: ListenAddress =
    ListenAddress { host: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), port: 0 };

/// What axe finds wrong, by rule.
fn accessibility_violations(browser: &BrowserSession, axe: &str) -> Vec<String> {
    browser.run_script(axe);
    let found = browser.run_async_script(
        "const done = arguments[arguments.length - 1]; \
         axe.run().then((result) => done(result.violations.map((one) => \
             `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(' | ')}`)));",
    );
    let found = found.as_array().unwrap_or_else(|| panic!("axe said {found}"));
    found.iter().map(Value::to_string).collect()
}

/// The colour behind everything.
fn background_colour(browser: &BrowserSession) -> Value {
    browser.run_script("return getComputedStyle(document.body).backgroundColor")
}

/// Looks at pages in light and in dark, and says what is wrong with them.
fn check_pages(browser: &BrowserSession, url: &str, pages: &[(&str, &str)]) -> Vec<String> {
    let axe = axe_script();
    let mut wrong = Vec::new();
    for (name, path) in pages {
        let mut papers = Vec::new();
        for dark in [false, true] {
            browser.set_dark_mode(dark);
            browser.open_url(&format!("{url}{path}"));
            let found = accessibility_violations(browser, &axe);
            wrong.extend(found.into_iter().map(|one| format!("{name}, dark {dark}: {one}")));
            browser.save_screenshot(&format!("{name}{}", if dark { "-dark" } else { "" }));
            let too_wide = "return document.documentElement.scrollWidth > innerWidth";
            assert_eq!(browser.run_script(too_wide), false, "{name} is wider than the window");
            papers.push(background_colour(browser));
        }
        assert_ne!(papers[0], papers[1], "{name} is as bright in the dark");
    }
    wrong
}

#[test]
fn every_page_is_fine_in_light_and_in_dark() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = HttpServer::start(LOCAL_ADDRESS, None, world.routes()).unwrap();
    let browser = BrowserSession::open();
    assert_eq!(check_pages(&browser, &server.url(), PAGES_WITH_DATA), [] as [String; 0]);
    assert_eq!(browser.console_errors(), [] as [String; 0]);
}

#[test]
fn every_page_fits_a_narrow_window_and_a_sheet_of_paper() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = HttpServer::start(LOCAL_ADDRESS, None, world.routes()).unwrap();
    let browser = BrowserSession::open();
    let axe = axe_script();
    browser.set_phone_width(360);
    // What is wider than the window, unless it can be scrolled by itself.
    let too_wide = "return document.documentElement.scrollWidth <= innerWidth ? [] : \
        [...document.querySelectorAll('main, main *')] \
        .filter((one) => one.getBoundingClientRect().right > innerWidth + 1) \
        .filter((one) => !one.closest('.scroll, .source, pre')) \
        .map((one) => one.outerHTML.slice(0, 80)).concat(['the page'])";
    let mut wrong = Vec::new();
    for (name, path) in PAGES_WITH_DATA {
        browser.open_url(&format!("{}{path}", server.url()));
        let wide = browser.run_script(too_wide);
        let wide = wide.as_array().into_iter().flatten().map(Value::to_string);
        let found = wide.chain(accessibility_violations(&browser, &axe));
        wrong.extend(found.map(|one| format!("{name}: {one}")));
    }
    assert_eq!(wrong, [] as [String; 0]);
    browser.set_dark_mode(true);
    browser.devtools_command("Emulation.setEmulatedMedia", &serde_json::json!({"media": "print"}));
    for (name, path) in PAGES_WITH_DATA {
        browser.open_url(&format!("{}{path}", server.url()));
        assert_eq!(background_colour(&browser), "rgb(255, 255, 255)", "{name}");
        let bar = "return document.querySelector('.bar').checkVisibility()";
        assert_eq!(browser.run_script(bar), false, "{name}: links of the bar are not printed");
    }
}

#[test]
fn pages_with_nothing_to_show_are_fine_too() {
    let browser = BrowserSession::open();
    let empty = SampleData::empty();
    let server = HttpServer::start(LOCAL_ADDRESS, None, empty.routes()).unwrap();
    let wrong = check_pages(&browser, &server.url(), EMPTY_PAGES);
    assert_eq!(wrong, [] as [String; 0]);
    assert_eq!(browser.console_errors(), [] as [String; 0]);
    // A browser logs an error for a missing page, which is no error of the page.
    let wrong = check_pages(&browser, &server.url(), &[("error", "nothing/here")]);
    assert_eq!(wrong, [] as [String; 0]);
    let guarded = HttpServer::start(LOCAL_ADDRESS, None, empty.guarded_routes()).unwrap();
    assert_eq!(check_pages(&browser, &guarded.url(), &[("login", "login")]), [] as [String; 0]);
}

#[test]
fn the_report_is_fine_without_scripts_and_on_paper() {
    let world = SampleData::new(PLAIN_TEXT);
    let node = |path: &str, orphan| ImportGraphNode { path: path.into(), orphan };
    let nodes =
        vec![node("shop/cart.py", false), node("shop/till.py", false), node("shop/old.py", true)];
    let graph = ImportGraph { nodes, edges: vec![(1, 0), (2, 1)] };
    let page = render_report(&world.data_source(), None, Some(&graph)).unwrap();
    let directory = target_dir().join("screenshots");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("report.html"), page).unwrap();
    let browser = BrowserSession::open();
    let url = format!("file://{}/", directory.canonicalize().unwrap().display());
    assert_eq!(check_pages(&browser, &url, &[("report", "report.html")]), [] as [String; 0]);
    assert_eq!(browser.console_errors(), [] as [String; 0]);
    browser.set_phone_width(360);
    assert_eq!(accessibility_violations(&browser, &axe_script()), [] as [String; 0], "on a phone");
    let too_wide = "return document.documentElement.scrollWidth > innerWidth";
    assert_eq!(browser.run_script(too_wide), false, "wider than a phone");
    browser.set_phone_width(1280);
    // Without scripts nothing is missing: there are none.
    assert_eq!(browser.run_script("return document.scripts.length"), 0);
    assert!(browser.text("main").contains("menace repro fb22222222"));
    // A run of 20,000 calls with every part of a report: a hundred failures are shown in full and
    // three hundred more are listed.
    let home = tempfile::tempdir().unwrap();
    let graph = large::make_large_run(home.path()).unwrap();
    let source = DataSource::new(DataLocations::from_data_dir(
        &home.path().join("data"),
        large::DATABASE_URL,
    ));
    let page = render_report(&source, None, Some(&graph)).unwrap();
    for expected in
        ["value = compute(value, ", "Standard output", "Standard error", "Import graph of 120"]
    {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    std::fs::write(directory.join("large-report.html"), page).unwrap();
    browser.open_url(&format!("{url}large-report.html"));
    assert_eq!(browser.run_script("return document.querySelectorAll('details').length"), 100);
    let opened = "return performance.getEntriesByType('navigation')[0].loadEventEnd";
    assert!(browser.run_script(opened).as_f64().unwrap() < 2000.0, "it opens at once");
    // Details of all failures are printed, also those that are folded on the screen.
    let commands = "return [...document.querySelectorAll('details code.command')]\
        .filter((command) => command.checkVisibility()).length";
    assert_eq!(browser.run_script(commands), 1, "the others are folded");
    browser.devtools_command("Emulation.setEmulatedMedia", &serde_json::json!({"media": "print"}));
    assert_eq!(browser.run_script(commands), 100);
    assert_eq!(
        browser.run_script("return document.querySelector('.bar').checkVisibility()"),
        false
    );
    assert_eq!(background_colour(&browser), "rgb(255, 255, 255)");
}

#[test]
fn nothing_that_a_guest_says_runs_in_a_browser() {
    let world = SampleData::new(HOSTILE_TEXT);
    let server = HttpServer::start(LOCAL_ADDRESS, None, world.routes()).unwrap();
    let browser = BrowserSession::open();
    let own = HOSTILE_TEXT.addresses();
    let pages =
        PAGES_WITH_DATA.iter().map(|(_, path)| *path).filter(|path| !path.contains("shop/"));
    for path in pages.chain(own.iter().map(String::as_str)) {
        browser.open_url(&format!("{}{path}", server.url()));
        // An open dialog would make this call fail, and a blocked script is logged as a console
        // error.
        assert_eq!(browser.run_script("return document.images.length"), 1, "{path}: ours alone");
        assert_eq!(browser.console_errors(), [] as [String; 0], "{path}");
    }
    let directory = target_dir().join("screenshots");
    std::fs::create_dir_all(&directory).unwrap();
    let page = render_report(&world.data_source(), None, None).unwrap();
    std::fs::write(directory.join("evil-report.html"), page).unwrap();
    let directory = directory.canonicalize().unwrap();
    browser.open_url(&format!("file://{}/evil-report.html", directory.display()));
    assert_eq!(browser.run_script("return document.images.length + document.scripts.length"), 0);
    assert_eq!(browser.console_errors(), [] as [String; 0]);
}
