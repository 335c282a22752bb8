//! "Did you mean": the known names closest to a misspelt one.

/// How alike two names must be, of 1, to be told.
const ALIKE: f64 = 0.7;
/// How far behind the best the others may be.
const BEHIND: f64 = 0.06;

/// The candidates that look most like `typed`, best first; none when nothing does.
pub(crate) fn nearest<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let typed = typed.to_lowercase();
    let mut alike: Vec<(f64, &str)> = candidates
        .into_iter()
        .map(|known| (strsim::jaro_winkler(&typed, &known.to_lowercase()), known))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let best = alike.first().map_or(0.0, |(likeness, _)| *likeness);
    alike.retain(|(likeness, _)| *likeness >= best - BEHIND);
    alike.dedup_by(|a, b| a.1 == b.1);
    alike.into_iter().take(most).map(|(_, known)| known).collect()
}

/// `; did you mean …?`, or nothing.
pub(crate) fn did_you_mean(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        names => {
            let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("; did you mean {}?", quoted.join(" or "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_keys_is_recognised_and_something_else_is_not() {
        let known = ["discount", "parse_price", "with_tax"];
        assert_eq!(nearest("discuont", known, 1), ["discount"]);
        assert_eq!(nearest("zzz", known, 3), Vec::<&str>::new());
    }
}
