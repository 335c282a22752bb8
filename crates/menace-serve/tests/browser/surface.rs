//! Every page in light and dark: nothing to complain about, for anybody.

use menace_serve::{Address, Graph, Library, Node, Place, Server, report};
use serde_json::Value;

use crate::driver::{Browser, axe, target};
use crate::large;
use crate::sample::{EVIL, PLAIN, World};

const PAGES: &[(&str, &str)] = &[
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
const EMPTY: &[(&str, &str)] = &[
    ("empty-overview", ""),
    ("empty-failures", "failures"),
    ("empty-scenarios", "scenarios"),
    ("empty-forecasts", "forecasts"),
    ("empty-synergy", "synergy"),
    ("empty-runs", "runs"),
    ("empty-compare", "compare"),
    ("empty-settings", "settings?q=nothing+fits"),
];

const LOCAL: Address =
    Address { host: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), port: 0 };

/// What axe finds wrong, by rule.
fn barriers(browser: &Browser, axe: &str) -> Vec<String> {
    browser.run(axe);
    let found = browser.run_later(
        "const done = arguments[arguments.length - 1]; \
         axe.run().then((result) => done(result.violations.map((one) => \
             `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(' | ')}`)));",
    );
    let found = found.as_array().unwrap_or_else(|| panic!("axe said {found}"));
    found.iter().map(Value::to_string).collect()
}

/// The colour behind everything.
fn paper(browser: &Browser) -> Value {
    browser.run("return getComputedStyle(document.body).backgroundColor")
}

/// Looks at pages in light and in dark, and says what is wrong with them.
fn looked_at(browser: &Browser, url: &str, pages: &[(&str, &str)]) -> Vec<String> {
    let axe = axe();
    let mut wrong = Vec::new();
    for (name, path) in pages {
        let mut papers = Vec::new();
        for dark in [false, true] {
            browser.dark(dark);
            browser.go(&format!("{url}{path}"));
            let found = barriers(browser, &axe);
            wrong.extend(found.into_iter().map(|one| format!("{name}, dark {dark}: {one}")));
            browser.picture(&format!("{name}{}", if dark { "-dark" } else { "" }));
            let too_wide = "return document.documentElement.scrollWidth > innerWidth";
            assert_eq!(browser.run(too_wide), false, "{name} is wider than the window");
            papers.push(paper(browser));
        }
        assert_ne!(papers[0], papers[1], "{name} is as bright in the dark");
    }
    wrong
}

#[test]
fn every_page_is_fine_in_light_and_in_dark() {
    let world = World::new(PLAIN);
    let server = Server::start(LOCAL, None, world.routes()).unwrap();
    let browser = Browser::open();
    assert_eq!(looked_at(&browser, &server.url(), PAGES), [] as [String; 0]);
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn every_page_fits_a_narrow_window_and_a_sheet_of_paper() {
    let world = World::new(PLAIN);
    let server = Server::start(LOCAL, None, world.routes()).unwrap();
    let browser = Browser::open();
    let axe = axe();
    browser.narrow(360);
    // What is wider than the window, unless it can be scrolled by itself.
    let too_wide = "return document.documentElement.scrollWidth <= innerWidth ? [] : \
        [...document.querySelectorAll('main, main *')] \
        .filter((one) => one.getBoundingClientRect().right > innerWidth + 1) \
        .filter((one) => !one.closest('.scroll, .source, pre')) \
        .map((one) => one.outerHTML.slice(0, 80)).concat(['the page'])";
    let mut wrong = Vec::new();
    for (name, path) in PAGES {
        browser.go(&format!("{}{path}", server.url()));
        let wide = browser.run(too_wide);
        let wide = wide.as_array().into_iter().flatten().map(Value::to_string);
        let found = wide.chain(barriers(&browser, &axe));
        wrong.extend(found.map(|one| format!("{name}: {one}")));
    }
    assert_eq!(wrong, [] as [String; 0]);
    browser.dark(true);
    browser.protocol("Emulation.setEmulatedMedia", &serde_json::json!({"media": "print"}));
    for (name, path) in PAGES {
        browser.go(&format!("{}{path}", server.url()));
        assert_eq!(paper(&browser), "rgb(255, 255, 255)", "{name}");
        let bar = "return document.querySelector('.bar').checkVisibility()";
        assert_eq!(browser.run(bar), false, "{name}: nobody follows a link on paper");
    }
}

#[test]
fn pages_with_nothing_to_show_are_fine_too() {
    let browser = Browser::open();
    let empty = World::empty();
    let server = Server::start(LOCAL, None, empty.routes()).unwrap();
    let wrong = looked_at(&browser, &server.url(), EMPTY);
    assert_eq!(wrong, [] as [String; 0]);
    assert_eq!(browser.complaints(), [] as [String; 0]);
    // A browser notes that a page is not there: that is no complaint about the page.
    let wrong = looked_at(&browser, &server.url(), &[("error", "nothing/here")]);
    assert_eq!(wrong, [] as [String; 0]);
    let guarded = Server::start(LOCAL, None, empty.guarded()).unwrap();
    assert_eq!(looked_at(&browser, &guarded.url(), &[("login", "login")]), [] as [String; 0]);
}

#[test]
fn the_report_is_fine_without_scripts_and_on_paper() {
    let world = World::new(PLAIN);
    let node = |path: &str, orphan| Node { path: path.into(), orphan };
    let nodes =
        vec![node("shop/cart.py", false), node("shop/till.py", false), node("shop/old.py", true)];
    let graph = Graph { nodes, edges: vec![(1, 0), (2, 1)] };
    let page = report(&world.library(), None, Some(&graph)).unwrap();
    let directory = target().join("screenshots");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("report.html"), page).unwrap();
    let browser = Browser::open();
    let url = format!("file://{}/", directory.canonicalize().unwrap().display());
    assert_eq!(looked_at(&browser, &url, &[("report", "report.html")]), [] as [String; 0]);
    assert_eq!(browser.complaints(), [] as [String; 0]);
    browser.narrow(360);
    assert_eq!(barriers(&browser, &axe()), [] as [String; 0], "on a phone");
    let too_wide = "return document.documentElement.scrollWidth > innerWidth";
    assert_eq!(browser.run(too_wide), false, "wider than a phone");
    browser.narrow(1280);
    // Without scripts nothing is missing: there are none.
    assert_eq!(browser.run("return document.scripts.length"), 0);
    assert!(browser.text("main").contains("menace repro fb22222222"));
    // One of 20,000 calls with all there can be, which tells a hundred failures in full and lists three
    // hundred more.
    let home = tempfile::tempdir().unwrap();
    let graph = large::make(home.path()).unwrap();
    let library = Library::new(Place::below(&home.path().join("data"), large::URL));
    let page = report(&library, None, Some(&graph)).unwrap();
    for told in ["value = compute(value, ", "It printed", "It complained", "Import graph of 120"] {
        assert!(page.contains(told), "{told}");
    }
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    std::fs::write(directory.join("large-report.html"), page).unwrap();
    browser.go(&format!("{url}large-report.html"));
    assert_eq!(browser.run("return document.querySelectorAll('details').length"), 100);
    let opened = "return performance.getEntriesByType('navigation')[0].loadEventEnd";
    assert!(browser.run(opened).as_f64().unwrap() < 2000.0, "it opens at once");
    // All stories are told on paper, also those that are folded on the screen.
    let commands = "return [...document.querySelectorAll('details code.command')]\
        .filter((command) => command.checkVisibility()).length";
    assert_eq!(browser.run(commands), 1, "the others are folded");
    browser.protocol("Emulation.setEmulatedMedia", &serde_json::json!({"media": "print"}));
    assert_eq!(browser.run(commands), 100);
    assert_eq!(browser.run("return document.querySelector('.bar').checkVisibility()"), false);
    assert_eq!(paper(&browser), "rgb(255, 255, 255)");
}

#[test]
fn nothing_that_a_guest_says_runs_in_a_browser() {
    let world = World::new(EVIL);
    let server = Server::start(LOCAL, None, world.routes()).unwrap();
    let browser = Browser::open();
    let own = EVIL.addresses();
    let pages = PAGES.iter().map(|(_, path)| *path).filter(|path| !path.contains("shop/"));
    for path in pages.chain(own.iter().map(String::as_str)) {
        browser.go(&format!("{}{path}", server.url()));
        // A dialog that is open would answer this with an error, and a script that is kept from running is a
        // complaint.
        assert_eq!(browser.run("return document.images.length"), 1, "{path}: ours alone");
        assert_eq!(browser.complaints(), [] as [String; 0], "{path}");
    }
    let directory = target().join("screenshots");
    std::fs::create_dir_all(&directory).unwrap();
    let page = report(&world.library(), None, None).unwrap();
    std::fs::write(directory.join("evil-report.html"), page).unwrap();
    let directory = directory.canonicalize().unwrap();
    browser.go(&format!("file://{}/evil-report.html", directory.display()));
    assert_eq!(browser.run("return document.images.length + document.scripts.length"), 0);
    assert_eq!(browser.complaints(), [] as [String; 0]);
}
