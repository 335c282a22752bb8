//! What a table is asked for in its address: of which run, which rows, in which order.

use super::paging::{Here, Sorting, by_number};

/// A column: its name in addresses, its title, whether it holds numbers.
pub(crate) type Columns = [(&'static str, &'static str, bool)];

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct Wish {
    pub run: Option<String>,
    pub q: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
}

impl Wish {
    /// An address that asks for the same.
    pub(crate) fn at(&self, here: Here) -> Here {
        let Self { run, q, sort, dir } = self;
        here.with("run", run.as_deref())
            .with("q", q.as_deref())
            .with("sort", sort.as_deref())
            .with("dir", dir.as_deref())
    }

    /// What was typed into the search.
    pub(crate) fn search(&self) -> String {
        self.q.clone().unwrap_or_default()
    }

    /// Whether a row that says one of these fits, in small letters or large.
    pub(crate) fn finds(&self, texts: &[&str]) -> bool {
        let wanted = self.search().to_lowercase();
        texts.iter().any(|text| text.to_lowercase().contains(&wanted))
    }

    pub(crate) fn sorting(&self, columns: &Columns, usual: Sorting) -> Sorting {
        Sorting::of(columns, usual, self.sort.as_deref(), self.dir.as_deref())
    }
}

/// Sorts rows that lie in the order of their names, which are the column `name`.
pub(crate) fn sort_rows<T>(
    rows: &mut [T],
    name: &str,
    sorting: Sorting,
    number: impl Fn(&T, &str) -> Option<f64>,
) {
    if sorting.by != name {
        by_number(rows, sorting.descending, |row| number(row, sorting.by));
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
            sort_rows(&mut rows, "name", Sorting { by, descending }, |row, _| row.1);
            rows.map(|row| row.0).concat()
        };
        assert_eq!((&*sorted("name", false), &*sorted("name", true)), ("abc", "cba"));
        assert_eq!((&*sorted("roi", false), &*sorted("roi", true)), ("cab", "acb"));
    }

    #[test]
    fn an_address_asks_for_the_same_again() {
        let wish = Wish { run: Some("r-1".into()), q: Some("Cart".into()), ..Wish::default() };
        let here = wish.at(Here::new("/module").with("path", Some("a.py")));
        assert_eq!(here.href(), "/module?path=a.py&run=r-1&q=Cart");
        assert!(wish.finds(&["shop/cart.py"]) && !wish.finds(&["till", "desk"]));
        assert!(Wish::default().finds(&["anything"]));
    }
}
