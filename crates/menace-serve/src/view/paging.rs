//! Pages of a list, columns to sort by, and addresses that lead to them.

use serde::Serialize;

use crate::text::percent_encode;

/// Rows of a page.
pub(crate) const ROWS_PER_PAGE: u32 = 50;
/// A query for a larger number gets this one.
const MAX_PAGE: u64 = 1_000_000;

/// An address with its query, from which other addresses are derived.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PageAddress {
    path: String,
    query: Vec<(String, String)>,
}

impl PageAddress {
    pub(crate) fn new(path: &str) -> Self {
        Self { path: path.to_owned(), query: Vec::new() }
    }

    /// The address with this value in its query; without it for `None`.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: Option<&str>) -> Self {
        self.query.retain(|(known, _)| known != name);
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.query.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// The same query at another path.
    pub(crate) fn at_path(&self, path: &str) -> Self {
        Self { path: path.to_owned(), query: self.query.clone() }
    }

    /// The query values that a form keeps beside its own fields. A search starts on the first page.
    pub(crate) fn hidden_fields(&self, fields: &[&str]) -> Vec<(String, String)> {
        let others = self.query.iter();
        others.filter(|(name, _)| !fields.contains(&name.as_str())).cloned().collect()
    }

    pub(crate) fn href(&self) -> String {
        let pairs: Vec<String> = self
            .query
            .iter()
            .map(|(name, value)| format!("{}={}", percent_encode(name), percent_encode(value)))
            .collect();
        if pairs.is_empty() {
            self.path.clone()
        } else {
            format!("{}?{}", self.path, pairs.join("&"))
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct PageNavigation {
    pub page: u64,
    pub pages: u64,
    pub total: u64,
    pub previous: Option<String>,
    pub next: Option<String>,
}

impl PageNavigation {
    pub(crate) fn new(here: &PageAddress, requested: Option<u64>, total: u64) -> Self {
        let pages = total.div_ceil(u64::from(ROWS_PER_PAGE)).max(1);
        let page = requested.unwrap_or(1).clamp(1, pages.min(MAX_PAGE));
        let to = |page: u64| here.clone().with("page", Some(&page.to_string())).href();
        Self {
            page,
            pages,
            total,
            previous: (page > 1).then(|| to(page - 1)),
            next: (page < pages).then(|| to(page + 1)),
        }
    }

    pub(crate) fn offset(&self) -> u64 {
        (self.page - 1) * u64::from(ROWS_PER_PAGE)
    }
}

/// The head of a column that a table can be sorted by.
#[derive(Debug, Serialize)]
pub(crate) struct SortableColumn {
    pub name: &'static str,
    pub title: &'static str,
    pub numeric: bool,
    pub href: String,
    /// `ascending`, `descending` or none, the value of `aria-sort`.
    pub sorted: Option<&'static str>,
}

/// How a table is sorted: by which column, and which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TableSorting {
    pub by: &'static str,
    pub descending: bool,
}

impl TableSorting {
    /// The sorting of the query, if it names a column.
    pub(crate) fn from_query(
        columns: &[(&'static str, &'static str, bool)],
        default: Self,
        by: Option<&str>,
        direction: Option<&str>,
    ) -> Self {
        let found = columns.iter().find(|(name, _, _)| Some(*name) == by);
        match found {
            Some((name, _, _)) => Self { by: name, descending: direction == Some("desc") },
            None => default,
        }
    }

    pub(crate) fn column_heads(
        self,
        columns: &[(&'static str, &'static str, bool)],
        here: &PageAddress,
    ) -> Vec<SortableColumn> {
        columns
            .iter()
            .map(|&(name, title, numeric)| {
                let is_this = name == self.by;
                // Numbers are sorted in descending order first, unless they already are.
                let descending = if is_this { !self.descending } else { numeric };
                let direction = if descending { "desc" } else { "asc" };
                let here = here.clone().with("page", None).with("sort", Some(name));
                SortableColumn {
                    name,
                    title,
                    numeric,
                    href: here.with("dir", Some(direction)).href(),
                    sorted: is_this.then_some(if self.descending {
                        "descending"
                    } else {
                        "ascending"
                    }),
                }
            })
            .collect()
    }
}

/// Sorts by a key; rows without one come last in both directions.
pub(crate) fn sort_by_number<T>(rows: &mut [T], descending: bool, key: impl Fn(&T) -> Option<f64>) {
    rows.sort_by(|one, other| match (key(one), key(other)) {
        (Some(one), Some(other)) if descending => other.total_cmp(&one),
        (Some(one), Some(other)) => one.total_cmp(&other),
        (one, other) => one.is_none().cmp(&other.is_none()),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_not_there_is_the_last_one() {
        let here = PageAddress::new("/failures").with("q", Some("a&b"));
        let paging = PageNavigation::new(&here, Some(99), 120);
        assert_eq!((paging.page, paging.pages, paging.offset()), (3, 3, 100));
        assert_eq!(paging.previous.as_deref(), Some("/failures?q=a%26b&page=2"));
        assert_eq!(paging.next, None);
        let none = PageNavigation::new(&here, Some(0), 0);
        assert_eq!((none.page, none.pages, none.offset()), (1, 1, 0));
    }

    #[test]
    fn a_column_is_sorted_the_other_way_by_its_own_link() {
        const COLUMNS: &[(&str, &str, bool)] = &[("name", "Name", false), ("roi", "ROI", true)];
        let default = TableSorting { by: "roi", descending: false };
        let sorting = TableSorting::from_query(COLUMNS, default, Some("roi"), Some("desc"));
        let heads = sorting.column_heads(COLUMNS, &PageAddress::new("/m"));
        assert_eq!(heads[1].href, "/m?sort=roi&dir=asc");
        assert_eq!(heads[1].sorted, Some("descending"));
        assert_eq!(heads[0].href, "/m?sort=name&dir=asc");
        assert_eq!(TableSorting::from_query(COLUMNS, default, Some("; DROP"), None), default);
    }

    #[test]
    fn what_has_no_number_comes_last() {
        let mut rows = [None, Some(1.0), Some(2.0)];
        sort_by_number(&mut rows, true, |row| *row);
        assert_eq!(rows, [Some(2.0), Some(1.0), None]);
        sort_by_number(&mut rows, false, |row| *row);
        assert_eq!(rows, [Some(1.0), Some(2.0), None]);
    }
}
