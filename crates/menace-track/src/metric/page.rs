//! The page `docs/metrics.md`.

use super::{Better, METRICS};

const PAGE: &str = include_str!("page.md");

/// The whole page.
pub fn markdown() -> String {
    let mut table = String::from(
        "| metric | unit | range | better | smallest scope | definition |\n|---|---|---|---|---|---|",
    );
    for metric in METRICS {
        let better = match metric.better {
            Better::Up => "up",
            Better::Down => "down",
            Better::Neither => "neither",
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
    PAGE.replace("{table}", &table)
}

#[cfg(test)]
mod tests {
    use super::markdown;

    #[test]
    fn the_page_in_the_documentation_is_this_one() {
        let written = include_str!("../../../../docs/metrics.md");
        assert!(written == markdown(), "docs/metrics.md is stale: run `cargo xtask docs`");
    }
}
