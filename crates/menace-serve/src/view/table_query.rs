//! The query of a table: its run, its rows, its order.

use super::paging::{PageAddress, TableSorting, sort_by_number};

/// A column: its name in addresses, its title, and whether it holds numbers.
pub(crate) type ColumnSpecs = [(&'static str, &'static str, bool)];

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct TableQuery {
    pub run: Option<String>,
    pub q: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
}

impl TableQuery {
    /// Adds this query to an address.
    pub(crate) fn add_to_address(&self, here: PageAddress) -> PageAddress {
        let Self { run, q, sort, dir } = self;
        here.with("run", run.as_deref())
            .with("q", q.as_deref())
            .with("sort", sort.as_deref())
            .with("dir", dir.as_deref())
    }

    /// The text of the search field.
    pub(crate) fn search_text(&self) -> String {
        self.q.clone().unwrap_or_default()
    }

    /// Whether one of these texts contains the search text, ignoring case.
    pub(crate) fn matches_search(&self, texts: &[&str]) -> bool {
        let wanted = self.search_text().to_lowercase();
        texts.iter().any(|text| text.to_lowercase().contains(&wanted))
    }

    pub(crate) fn sorting(&self, columns: &ColumnSpecs, default: TableSorting) -> TableSorting {
        TableSorting::from_query(columns, default, self.sort.as_deref(), self.dir.as_deref())
    }
}

/// Sorts rows that are in the order of the column `name`.
pub(crate) fn sort_rows<T>(
    rows: &mut [T],
    name: &str,
    sorting: TableSorting,
    number: impl Fn(&T, &str) -> Option<f64>,
) {
    if sorting.by != name {
        sort_by_number(rows, sorting.descending, |row| number(row, sorting.by));
    } else if sorting.descending {
        rows.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_by_their_names_or_by_a_number() {
        let sorted = |by, descending| {
            let mut rows = [("a", Some(2.0)), ("b", None), ("c", Some(1.0))];
            sort_rows(&mut rows, "name", TableSorting { by, descending }, |row, _| row.1);
            rows.map(|row| row.0).concat()
        };
        assert_eq!((&*sorted("name", false), &*sorted("name", true)), ("abc", "cba"));
        assert_eq!((&*sorted("roi", false), &*sorted("roi", true)), ("cab", "acb"));
    }

    #[test]
    fn an_address_asks_for_the_same_again() {
        let wish =
            TableQuery { run: Some("r-1".into()), q: Some("Cart".into()), ..TableQuery::default() };
        let here = wish.add_to_address(PageAddress::new("/module").with("path", Some("a.py")));
        assert_eq!(here.href(), "/module?path=a.py&run=r-1&q=Cart");
        assert!(wish.matches_search(&["shop/cart.py"]) && !wish.matches_search(&["till", "desk"]));
        assert!(TableQuery::default().matches_search(&["anything"]));
    }
}
