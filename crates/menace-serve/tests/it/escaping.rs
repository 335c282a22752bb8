//! Whatever a guest says stays text, on every page and in every file.

use axum::http::StatusCode;

use crate::pages::PAGE_PATHS;
use crate::sample::{
    HOSTILE_TEXT, PLAIN_TEXT, SampleData, SampleText, fetch_as_browser, fetch_as_program,
};

/// Tags, attributes and schemes that would run something.
fn assert_harmless(page: &str, path: &str) {
    let lower = page.to_lowercase();
    for (start, _) in lower.match_indices("<script") {
        let tag = &lower[start..lower.len().min(start + 60)];
        assert!(tag.starts_with("<script src=\"/assets/dashboard.js\" defer>"), "{path}: {tag}");
    }
    for bad in ["<img src=x", "<iframe", "javascript:", "\u{1b}", "\0", "\u{202e}"] {
        assert!(!lower.contains(bad), "{path} has {bad:?}");
    }
    // Whatever looks like a handler stands in text: its quotes and brackets are not real.
    for (start, _) in lower.match_indices("onerror=") {
        let before = &lower[..start];
        let (open, close) = (before.rfind('<'), before.rfind('>'));
        // In quotes it is the value of an attribute, such as the title of a chart.
        let is_quoted = before[open.unwrap_or_default()..].matches('"').count() % 2 == 1;
        assert!(open < close || is_quoted, "{path}: a handler is inside of a tag");
    }
    assert!(!lower.contains("' onmouseover="), "{path}");
}

#[test]
fn no_page_runs_what_a_guest_said() {
    let world = SampleData::new(HOSTILE_TEXT);
    let routes = world.routes();
    let others =
        PAGE_PATHS.iter().filter(|path| !path.contains("shop/")).map(|path| (*path).to_owned());
    let own = HOSTILE_TEXT.addresses().map(|address| format!("/{address}"));
    for path in others.chain(own) {
        let page = fetch_as_browser(&routes, &path);
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.text());
        assert_harmless(page.text(), &path);
    }
    // They are shown as text.
    let name = "&lt;img src=x onerror=alert(9)&gt;";
    for (path, expected) in [
        ("/failures/fb22222222", "&lt;script&gt;alert(3)"),
        ("/failures/fb22222222", name),
        ("/forecasts", name),
        ("/synergy?q=synergy_", &format!("synergy_{name}")),
        ("/synergy", &format!("<th scope=\"row\">{name}")),
        ("/runs/r-1", name),
    ] {
        let page = fetch_as_browser(&routes, path);
        assert!(page.text().contains(expected), "{path} has no {expected}: {}", page.text());
    }
}

#[test]
fn files_hold_text_and_no_formulas() {
    let formula = SampleText {
        module: "=cmd|' /C calc'!A0/shop.py",
        function: "@SUM(1)",
        message: "=HYPERLINK(\"http://x\",\"y\")\r\nr-9,1",
        scenario: "+1+cmd",
        extra: "-2+3+cmd",
        ..PLAIN_TEXT
    };
    let [module, section] = formula.addresses();
    let (sections, calls) =
        (module.replace("module?", "/sections.csv?"), section.replace("section?", "/calls.csv?"));
    let world = SampleData::new(formula);
    let routes = world.routes();
    let names = "modules failures runs scenarios forecasts forecast_errors decisions outlook \
                 compare synergy weights settings";
    let others = names.split_whitespace().map(|name| format!("/{name}.csv"));
    let mut guarded = 0;
    for path in others.chain([sections, calls]) {
        let file = fetch_as_program(&routes, &path);
        assert_eq!(file.status, StatusCode::OK, "{path}: {}", file.text());
        assert_eq!(file.header("x-content-type-options"), "nosniff", "{path}");
        for cell in csv_cells(file.text()) {
            let is_number = cell.parse::<f64>().is_ok();
            let bad = ['=', '+', '-', '@', '\t', '\r'];
            assert!(is_number || !cell.starts_with(bad), "{path}: {cell:?}");
            guarded += usize::from(cell.starts_with('\''));
        }
    }
    assert!(guarded > 8, "{guarded}");
}

/// The cells of a file, as a spreadsheet reads them.
fn csv_cells(text: &str) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' | '\n' if !is_quoted => cells.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted && chars.peek() == Some(&'\n') => {}
            char => cell.push(char),
        }
    }
    assert!(!is_quoted && cell.is_empty(), "a file ends with its last row: {cell:?}");
    cells
}

#[test]
fn what_an_address_says_is_text_too() {
    let world = SampleData::new(crate::sample::PLAIN_TEXT);
    let routes = world.routes();
    let evil = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E";
    for path in [
        format!("/modules?q={evil}&run={evil}"),
        format!("/modules?q={evil}"),
        format!("/failures?q={evil}&kind={evil}&place={evil}&scenario={evil}"),
        format!("/failures/{evil}"),
        format!("/runs/{evil}"),
        format!("/section?id={evil}::{evil}"),
        format!("/module?path={evil}"),
        format!("/forecasts?metric={evil}"),
        format!("/metrics/{evil}"),
        format!("/settings?q={evil}"),
        format!("/scenarios?q={evil}"),
        format!("/compare?a={evil}&b={evil}"),
        format!("/{evil}"),
    ] {
        assert_harmless(fetch_as_browser(&routes, &path).text(), &path);
    }
}

#[test]
fn the_report_runs_nothing_at_all() {
    let world = SampleData::new(HOSTILE_TEXT);
    let node = |path: &str, orphan| menace_serve::ImportGraphNode { path: path.into(), orphan };
    let nodes =
        vec![node(HOSTILE_TEXT.module, true), node("</svg><script>alert(8)</script>", false)];
    let graph = menace_serve::ImportGraph { nodes, edges: vec![(0, 1)] };
    let page = menace_serve::render_report(&world.data_source(), None, Some(&graph)).unwrap();
    assert!(page.contains("&lt;script&gt;alert(8)"), "it is drawn, as text");
    assert!(!page.to_lowercase().contains("<script"), "not even our own");
    assert!(page.contains("&lt;script&gt;alert(3)"));
    assert_harmless(&page, "report");
}

#[test]
fn no_name_leads_out_of_the_repository() {
    let words = SampleText { module: "../secret.py", ..crate::sample::PLAIN_TEXT };
    let world = SampleData::new(words);
    std::fs::write(world.data_dir().join("../secret.py"), "password = 'hunter2'\npassword = 2\n")
        .unwrap();
    let routes = world.routes();
    let page = fetch_as_browser(&routes, "/failures/fb22222222");
    assert_eq!(page.status, StatusCode::OK);
    assert!(!page.text().contains("password"), "{}", page.text());
    for path in [
        "/assets/../Cargo.toml",
        "/assets/%2e%2e/menace.db",
        "/plots/..%2fmenace.db",
        "/../menace.db",
    ] {
        assert_eq!(fetch_as_program(&routes, path).status, StatusCode::NOT_FOUND, "{path}");
    }
}
