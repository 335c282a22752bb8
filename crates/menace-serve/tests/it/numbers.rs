//! The addresses that are documented for programs.

use axum::http::{StatusCode, header};
use serde_json::json;

use crate::sample::{PLAIN_TEXT, SampleData, fetch_as_browser, fetch_as_program};

#[test]
fn roi_is_there_with_its_changes_and_forecasts() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let roi = fetch_as_program(&routes, "/roi").json();
    assert_eq!(roi["deltas"], json!([-0.25]));
    assert_eq!(roi["predicted"], json!([0.4]));
    assert_eq!(roi["actual"], json!([0.25]));
    let data = fetch_as_program(&routes, "/roi_data").json();
    assert_eq!(data["cycles"], 2);
    assert_eq!(data["roi"], json!([0.5, 0.25]));
    assert_eq!(data["scenarios"]["hostile_input"], json!([0.5, 0.25]));
}

#[test]
fn a_metric_has_predicted_and_actual_values() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let metric = fetch_as_program(&routes, "/metrics/security_score").json();
    assert_eq!(metric["predicted"], json!([0.5, 0.625]));
    assert_eq!(metric["actual"], json!([0.5, 0.75]));
    assert_eq!(metric["mean_error"], json!(0.0625));
    let none = fetch_as_program(&routes, "/metrics/reliability").json();
    assert_eq!((&none["predicted"], &none["values"]), (&json!([]), &json!([0.75, 0.5])));
    let under = fetch_as_program(&routes, "/metrics/hostile_input:resilience").json();
    assert_eq!(under["values"], json!([0.5, 0.375]), "under one scenario");
    let documented = fetch_as_program(&routes, "/metrics/maintainability").json();
    assert_eq!(documented["values"], json!([]), "it may come: {documented}");
    assert_eq!(fetch_as_program(&routes, "/metrics/colour").status, StatusCode::NOT_FOUND);
}

#[test]
fn programs_read_errors_as_json() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    for (path, why) in [
        ("/metrics/colour", "no metric `colour` was ever recorded"),
        ("/runs/r-77", "r-77"),
        ("/plots/other.png", "there is no plot"),
        ("/nothing", "No page has this address."),
    ] {
        let answer = fetch_as_program(&routes, path);
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(answer.header(header::CONTENT_TYPE), "application/json", "{path}");
        let body: serde_json::Value = serde_json::from_slice(&answer.bytes).unwrap();
        assert!(body["error"].as_str().unwrap().contains(why), "{path}: {body}");
        let page = fetch_as_browser(&routes, path);
        assert!(page.text().starts_with("<!doctype html>"), "{path}: {}", page.text());
    }
    let refused = fetch_as_program(&world.guarded_routes(), "/roi");
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert_eq!(refused.text(), r#"{"error":"a token is needed"}"#);
    assert_eq!(refused.header(header::WWW_AUTHENTICATE), "Bearer");
}

#[test]
fn scenarios_are_numbers_for_programs_and_a_page_for_browsers() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let numbers = fetch_as_program(&routes, "/scenarios").json();
    assert_eq!((&numbers["run"], &numbers["worst"]), (&json!("r-2"), &json!("hostile_input")));
    assert_eq!(numbers["scenarios"][0]["metrics"]["resilience"], 0.5);
    let together = &numbers["scenarios"][0]["synergy"];
    assert_eq!(together, &json!({"synergy_roi": 0.125, "synergy_resilience": -0.375}));
    let before = fetch_as_program(&routes, "/scenarios?run=r-1").json();
    assert_eq!(before["scenarios"][0]["synergy"], json!({}), "not that of another run");
    crate::sample::record_scenario_synergy(
        &world.data_dir(),
        "r-1",
        1_000_000,
        "hostile_input",
        0.625,
    );
    let before = fetch_as_program(&routes, "/scenarios?run=r-1").json();
    assert_eq!(before["scenarios"][0]["synergy"], json!({"synergy_roi": 0.625}));
    let page = fetch_as_browser(&routes, "/scenarios");
    assert!(page.text().starts_with("<!doctype html>"), "{}", page.text());
    assert!(page.text().contains(">−0.375<"), "what they are worth together: {}", page.text());
    assert_eq!(page.header(header::VARY), "accept");
}

#[test]
fn weights_are_shown_once_they_were_trained() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    assert_eq!(fetch_as_program(&routes, "/weights").json(), json!({}));
    assert!(fetch_as_browser(&routes, "/synergy").text().contains("no weights were trained"));
    std::fs::write(world.data_dir().join("synergy_weights.json"), r#"{"roi": 1.25}"#).unwrap();
    assert_eq!(fetch_as_program(&routes, "/weights").json(), json!({"roi": 1.25}));
    assert!(fetch_as_browser(&routes, "/synergy").text().contains("1.25"));
}

#[test]
fn the_health_is_answered_without_a_token() {
    let world = SampleData::empty();
    for routes in [world.routes(), world.guarded_routes()] {
        assert_eq!(fetch_as_program(&routes, "/health").text(), r#"{"status":"ok"}"#);
    }
}
