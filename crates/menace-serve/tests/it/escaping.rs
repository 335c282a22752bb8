//! Whatever a guest says stays text, on every page and in every file.

use axum::http::StatusCode;

use crate::pages::PAGES;
use crate::sample::{Words, World, browse, fetch};

const EVIL: Words = Words {
    module: "shop/<script>alert(1)</script>\"'.py",
    function: "<script>alert(2)</script>\"",
    message: "<script>alert(3)</script><img src=x onerror=alert(4)>\"' onmouseover='x' \u{1b}[31m\u{202e}",
    input: "</code><script>alert(5)</script>",
    scenario: "<script>alert(6)</script>",
    output: "</pre><script>alert(7)</script>\0",
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
        assert!(open < close, "{path}: a handler is inside of a tag");
    }
    assert!(!lower.contains("' onmouseover="), "{path}");
}

#[test]
fn no_page_runs_what_a_guest_said() {
    let world = World::new(EVIL);
    let routes = world.routes();
    let percent = |text: &str| {
        let bytes: Vec<String> = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
        bytes.concat()
    };
    let module = format!("/module?path={}", percent(EVIL.module));
    let section =
        format!("/section?id={}", percent(&format!("{}::{}", EVIL.module, EVIL.function)));
    let own = [module.as_str(), section.as_str()];
    let others = PAGES.iter().copied().filter(|path| !path.contains("shop/"));
    for path in others.chain(own) {
        let page = browse(&routes, path);
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.text());
        assert_harmless(page.text(), path);
    }
    let told = browse(&routes, "/failures/fb22222222");
    assert!(told.text().contains("&lt;script&gt;alert(3)"), "it is told, as text");
}

#[test]
fn what_an_address_says_is_text_too() {
    let world = World::new(crate::sample::PLAIN);
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
        assert_harmless(browse(&routes, &path).text(), &path);
    }
}

#[test]
fn the_report_runs_nothing_at_all() {
    let world = World::new(EVIL);
    let node = |path: &str, orphan| menace_serve::Node { path: path.into(), orphan };
    let nodes = vec![node(EVIL.module, true), node("</svg><script>alert(8)</script>", false)];
    let graph = menace_serve::Graph { nodes, edges: vec![(0, 1)] };
    let page = menace_serve::report(&world.library(), None, Some(&graph)).unwrap();
    assert!(page.contains("&lt;script&gt;alert(8)"), "it is drawn, as text");
    assert!(!page.to_lowercase().contains("<script"), "not even our own");
    assert!(page.contains("&lt;script&gt;alert(3)"));
    assert_harmless(&page, "report");
}

#[test]
fn no_name_leads_out_of_the_repository() {
    let words = Words { module: "../secret.py", ..crate::sample::PLAIN };
    let world = World::new(words);
    std::fs::write(world.data().join("../secret.py"), "password = 'hunter2'\npassword = 2\n")
        .unwrap();
    let routes = world.routes();
    let page = browse(&routes, "/failures/fb22222222");
    assert_eq!(page.status, StatusCode::OK);
    assert!(!page.text().contains("password"), "{}", page.text());
    for path in [
        "/assets/../Cargo.toml",
        "/assets/%2e%2e/menace.db",
        "/plots/..%2fmenace.db",
        "/../menace.db",
    ] {
        assert_eq!(fetch(&routes, path).status, StatusCode::NOT_FOUND, "{path}");
    }
}
