//! "Did you mean": the known names closest to a misspelt one.

const MAX_SUGGESTIONS: usize = 3;

/// The candidate closest to `typed`, ignoring case, if it is close enough to be a typing error.
pub fn closest_name<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    closest_names(typed, candidates).into_iter().next()
}

/// `did you mean `a` or `b`?`; `None` where no candidate is close.
pub fn suggest_names<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    format_suggestion(&closest_names(typed, candidates))
}

/// `; did you mean `a`?`, as messages end, or `; {otherwise}` where no candidate is close.
pub fn suggest_names_or<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    otherwise: &str,
) -> String {
    format_suggestion_or(&closest_names(typed, candidates), otherwise)
}

/// Like [`suggest_names_or`], for names that are known to be close.
pub fn format_suggestion_or(names: &[&str], otherwise: &str) -> String {
    match format_suggestion(names).as_deref().unwrap_or(otherwise) {
        "" => String::new(),
        text => format!("; {text}"),
    }
}

/// A question with at most `MAX_SUGGESTIONS` of the names; `None` without names.
fn format_suggestion(names: &[&str]) -> Option<String> {
    let quoted: Vec<_> =
        names.iter().take(MAX_SUGGESTIONS).map(|name| format!("`{name}`")).collect();
    (!quoted.is_empty()).then(|| format!("did you mean {}?", quoted.join(" or ")))
}

/// All candidates that are equally close, sorted by name.
pub fn closest_names<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
    let typed = typed.to_lowercase();
    let mut close: Vec<(usize, &str)> = candidates
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(&typed, &known.to_lowercase()), known))
        .filter(|(distance, known)| *distance <= max_typos(known))
        .collect();
    close.sort_unstable();
    close.dedup();
    let least = close.first().map_or(0, |(distance, _)| *distance);
    close.into_iter().take_while(|(distance, _)| *distance == least).map(|(_, it)| it).collect()
}

/// How many typing errors are allowed for a name of this length: short names are similar to each
/// other.
fn max_typos(known: &str) -> usize {
    match known.chars().count() {
        0..=4 => 1,
        5..=11 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_letters_are_recognised() {
        assert_eq!(closest_name("roi_cycels", ["roi_cycles", "run_cycles"]), Some("roi_cycles"));
    }

    #[test]
    fn a_name_that_is_not_close_is_not_suggested() {
        assert_eq!(closest_name("colour", ["roi_cycles", "timeout"]), None);
    }

    #[test]
    fn a_misspelled_word_gets_a_suggestion() {
        let known = ["CPU_LIMIT", "DISK_LIMIT"];
        assert_eq!(suggest_names_or("CPU_LIMTI", known, "see x"), "; did you mean `CPU_LIMIT`?");
        assert_eq!(suggest_names_or("COLOUR", known, "see x"), "; see x");
        assert_eq!(suggest_names_or("COLOUR", known, ""), "");
    }

    #[test]
    fn names_that_are_equally_close_are_all_suggested() {
        assert_eq!(
            closest_names("list", ["mist", "fist", "lists", "other"]),
            ["fist", "lists", "mist"]
        );
    }
}
