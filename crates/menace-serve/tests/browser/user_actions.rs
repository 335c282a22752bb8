//! What a user does: sorts, searches, follows a failure, watches a run, logs in.

use menace_model::{CallStage, InputIntent, Outcome, SectionId, Verdict};
use menace_serve::{HttpServer, ListenAddress};
use menace_store::{CallRecord, CellKey, RunId, RunStartRecord, RunWriter, Store};
use serde_json::Value;

use crate::driver::BrowserSession;
use crate::sample::{
    DATABASE_URL, PLAIN_TEXT, SampleData, TEST_TOKEN, add_section_score, sample_failure, section_id,
};

const LOCAL_ADDRESS: ListenAddress =
    ListenAddress { host: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), port: 0 };

#[test]
fn a_user_sorts_searches_and_follows_a_failure_to_its_reproducer() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = HttpServer::start(LOCAL_ADDRESS, None, world.routes()).unwrap();
    let browser = BrowserSession::open();
    browser.open_url(&format!("{}modules", server.url()));
    let first = || browser.text("#modules tbody tr:first-child th");
    assert_eq!(first(), "shop/cart.py", "the weakest first");
    browser.click("#modules thead th:nth-child(2) a");
    assert!(browser.url().contains("sort=roi&dir=desc"), "{}", browser.url());
    assert_eq!(first(), "shop/till.py");
    assert_eq!(
        browser.run_script("return document.querySelector('th[aria-sort]').ariaSort"),
        "descending"
    );
    browser.type_text("input[name=q]", "cart\n");
    browser.wait_for_script(
        "the search",
        "return document.querySelectorAll('#modules tbody tr').length == 1",
    );
    assert!(
        browser.url().contains("q=cart") && browser.url().contains("sort=roi"),
        "{}",
        browser.url()
    );

    browser.click("#modules tbody a");
    browser.click("#sections tbody a");
    assert_eq!(browser.text("h1"), "total");
    browser.click("table.failures a.mono");
    assert!(browser.text("main").contains("return 1 / n  # here"), "the source is there");
    assert_eq!(browser.text("code.command"), "menace repro fb22222222");

    browser.open_url(&format!("{}failures", server.url()));
    browser.type_text("input[name=q]", "fa11\n");
    browser.wait_for_script(
        "the search",
        "return document.querySelectorAll('#failures tbody tr').length == 1",
    );
    assert_eq!(browser.console_errors(), [] as [String; 0]);
}

#[test]
fn everything_is_found_without_scripts() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = HttpServer::start(LOCAL_ADDRESS, None, world.guarded_routes()).unwrap();
    let browser = BrowserSession::open();
    browser.disable_scripts();
    browser.open_url(&format!("{}modules", server.url()));
    browser.type_text("input[name=token]", &format!("{TEST_TOKEN}\n"));
    assert_eq!(browser.text("#modules tbody tr:first-child th"), "shop/cart.py");
    browser.click("#modules thead th:nth-child(2) a");
    browser.wait_for_url("sort=roi&dir=desc");
    assert_eq!(browser.text("#modules tbody tr:first-child th"), "shop/till.py");
    browser.type_text("input[name=q]", "cart\n");
    browser.wait_for_url("q=cart");
    browser.click("#modules tbody a");
    browser.wait_for_url("/module?");
    browser.click("#sections tbody a");
    browser.wait_for_url("/section?");
    browser.click("table.failures a.mono");
    assert_eq!(browser.text("code.command"), "menace repro fb22222222");
    // Nothing waits for a script that does not come, and no button does nothing.
    assert_eq!(browser.text("#live"), "");
    browser.open_url(&server.url());
    assert_eq!(browser.text("#live-run"), "", "it is not shown");
    assert!(browser.text("main").contains("Weakest modules"));
}

#[test]
fn the_keyboard_is_enough() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = HttpServer::start(LOCAL_ADDRESS, None, world.routes()).unwrap();
    let browser = BrowserSession::open();
    browser.open_url(&server.url());
    let focus = || browser.run_script("return document.activeElement.textContent.trim()");
    browser.press("\u{e004}");
    assert_eq!(focus(), "Skip to the content");
    browser.press("\u{e007}");
    assert_eq!(browser.run_script("return document.activeElement.id"), "main");
    browser.press("\u{e004}");
    let inside = "return document.getElementById('main').contains(document.activeElement)";
    assert_eq!(browser.run_script(inside), true);
    let outline = "return getComputedStyle(document.activeElement).outlineStyle";
    assert_ne!(browser.run_script(outline), "none", "the focus is seen");
}

/// A run that goes on until its writer is dropped.
fn begin_run(world: &SampleData, id: &str) -> RunWriter {
    let (store, _) = Store::open(&world.data_dir(), DATABASE_URL).unwrap();
    let run = RunStartRecord {
        id: RunId(id.into()),
        seed: 1,
        repository: "/repo".into(),
        started_ms: 7_000_000,
        settings: serde_json::json!({}),
    };
    store.start_run(&run).unwrap()
}

#[test]
fn a_page_follows_a_run_and_keeps_focus_and_typed_text() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = HttpServer::start(LOCAL_ADDRESS, None, world.routes()).unwrap();
    let browser = BrowserSession::open();
    browser.open_url(&format!("{}failures", server.url()));
    browser.run_script(
        "window.said = []; new MutationObserver(() => \
         said.push(document.getElementById('said').textContent)).observe(\
         document.getElementById('said'), {childList: true}); \
         document.querySelector('a[href=\"/failures/fa11111111\"]').focus();",
    );
    let writer = begin_run(&world, "r-7");
    let found = |id: &str| {
        writer.record_failure(&sample_failure(id, PLAIN_TEXT), 7_000_001, 1).unwrap();
        let row =
            format!("return !!document.querySelector('#failures a[href=\"/failures/{id}\"]')");
        browser.wait_for_script(id, &row);
    };
    found("fe55555555");
    found("fe66666666");
    let focus = browser.run_script("return document.activeElement.getAttribute('href')");
    assert_eq!(focus, "/failures/fa11111111", "the focus is where it was");
    browser.type_text("input[name=q]", "half a wo");
    writer.record_failure(&sample_failure("fe77777777", PLAIN_TEXT), 7_000_001, 1).unwrap();
    let has_third = "return document.getElementById('live').textContent.includes('3 failures')";
    browser.wait_for_script("the third failure", has_third);
    let typed = "return document.querySelector('input[name=q]').value";
    assert_eq!(browser.run_script(typed), "half a wo");
    drop(writer);
    browser.wait_for_script("the end", "return said.length == 2");
    let said = browser.run_script("return said");
    assert_eq!(said, serde_json::json!(["Run r-7 has begun.", "The run is over."]));
    assert_eq!(browser.run_script("return document.getElementById('live').ariaLive"), Value::Null);
    assert_eq!(browser.console_errors(), [] as [String; 0]);
}

#[test]
fn every_cycle_that_ends_is_shown() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = HttpServer::start(LOCAL_ADDRESS, None, world.routes()).unwrap();
    let browser = BrowserSession::open();
    browser.open_url(&format!("{}modules", server.url()));
    let writer = begin_run(&world, "r-7");
    for (cycle, path) in [(0, "shop/first.py"), (1, "shop/second.py")] {
        add_section_score(&writer, cycle, &SectionId::new(path, "f"), 0.5, None);
        writer.flush().unwrap();
        let row =
            format!("return document.getElementById('modules').textContent.includes('{path}')");
        browser.wait_for_script(path, &row);
    }
}

#[test]
fn a_run_is_watched_while_it_goes_on() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = HttpServer::start(LOCAL_ADDRESS, None, world.routes()).unwrap();
    let browser = BrowserSession::open();
    browser.open_url(&server.url());
    assert_eq!(browser.run_script("return document.getElementById('live-run').hidden"), true);

    let writer = begin_run(&world, "r-7");
    let calls = |from: u32, to: u32| {
        for number in from..to {
            let cell =
                CellKey { cycle: 0, section: section_id(PLAIN_TEXT), scenario: "normal".into() };
            let outcome = Outcome::new(Verdict::Returned, CallStage::Call);
            writer
                .record_call(CallRecord::from_outcome(cell, number, InputIntent::Valid, &outcome))
                .unwrap();
        }
        writer.flush().unwrap();
    };
    calls(0, 20);
    let shows = |text: &str| {
        let script =
            format!("return document.querySelector('[data-live=calls]').textContent == '{text}'");
        browser.wait_for_script(&format!("{text} calls"), &script);
    };
    shows("20");
    calls(20, 1234);
    shows("1,234");
    assert!(browser.text("#live").contains("1,234 calls"));
    writer.record_failure(&sample_failure("fe55555555", PLAIN_TEXT), 7_000_001, 1).unwrap();
    browser.wait_for_script(
        "the failure",
        "return document.querySelector('[data-live=failures]').textContent == '1'",
    );
    browser.save_screenshot("live");
    drop(writer);
    browser.wait_for_script("the end", "return document.getElementById('live-run').hidden");
    assert_eq!(browser.console_errors(), [] as [String; 0]);
}

#[test]
fn a_page_says_when_the_server_does_not_answer_any_more() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = HttpServer::start(LOCAL_ADDRESS, None, world.routes()).unwrap();
    let browser = BrowserSession::open();
    browser.open_url(&server.url());
    let _writer = begin_run(&world, "r-7");
    browser.wait_for_script("the run", "return !document.getElementById('live-run').hidden");
    drop(server);
    let is_lost =
        "return document.getElementById('live').textContent.includes('no longer connected')";
    browser.wait_for_script("the end", is_lost);
    assert_eq!(browser.run_script("return document.getElementById('live-run').hidden"), true);
    let said = browser.run_script("return document.getElementById('said').textContent");
    assert_eq!(said, "The dashboard does not answer any more.");
}

#[test]
fn a_user_logs_in_with_the_token() {
    let world = SampleData::new(PLAIN_TEXT);
    let server = HttpServer::start(LOCAL_ADDRESS, None, world.guarded_routes()).unwrap();
    let browser = BrowserSession::open();
    browser.open_url(&format!("{}failures?q=fa11", server.url()));
    assert!(browser.url().contains("/login?next="), "{}", browser.url());
    browser.save_screenshot("login");
    browser.type_text("input[name=token]", "a guess of some length\n");
    assert_eq!(browser.text("[role=alert]"), "That is not the token.");
    browser.type_text("input[name=token]", &format!("{TEST_TOKEN}\n"));
    browser.wait_for_script("the page", "return location.pathname == '/failures'");
    assert!(browser.url().ends_with("/failures?q=fa11"), "{}", browser.url());
    assert_eq!(browser.run_script("return document.cookie"), "", "scripts do not see the cookie");
    browser.click("a[href='/logout']");
    browser.open_url(&server.url());
    assert!(browser.url().contains("/login"), "{}", browser.url());
}
