//! Renders `docs/metrics.md`.

use super::{METRICS, MetricDirection};

const PAGE_TEMPLATE: &str = include_str!("page.md");

/// The complete page.
pub fn render_markdown() -> String {
    let mut table = String::from(
        "| metric | unit | range | better | smallest scope | definition |\n\
         |---|---|---|---|---|---|",
    );
    for metric in METRICS {
        let better = match metric.direction {
            MetricDirection::Up => "up",
            MetricDirection::Down => "down",
            MetricDirection::Neither => "neither",
        };
        let name = format!("`{}`", metric.name);
        let cells = [
            name.as_str(),
            metric.unit,
            metric.range.as_str(),
            better,
            metric.scope.as_str(),
            metric.definition,
        ];
        table.push_str("\n| ");
        table.push_str(&cells.join(" | "));
        table.push_str(" |");
    }
    PAGE_TEMPLATE.replace("{table}", &table)
}

#[cfg(test)]
mod tests {
    use super::render_markdown;

    #[test]
    fn the_page_in_the_documentation_is_this_one() {
        let written = include_str!("../../../../docs/metrics.md");
        assert!(written == render_markdown(), "docs/metrics.md is stale: run `cargo xtask docs`");
    }
}
