//! The page about scenarios says what the code does.

#[test]
fn the_tables_of_the_scenarios_page_are_current() {
    let page = include_str!("../../../docs/scenarios.md");
    assert!(
        page.contains(&menace_scenario::preset::render_markdown()),
        "docs/scenarios.md is stale: run `cargo xtask docs`"
    );
}
