//! "Did you mean": the known name closest to a misspelt one.

/// The candidate closest to `typed`, ignoring case, when it is close enough to be a slip.
pub fn closest<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    candidates
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(&typed, &known.to_lowercase()), known))
        .filter(|(distance, known)| *distance <= slips(known))
        .min_by_key(|(distance, known)| (*distance, *known))
        .map(|(_, known)| known)
}

/// How many slips a name of this length forgives: short names are too alike for more than one.
fn slips(known: &str) -> usize {
    match known.chars().count() {
        0..=4 => 1,
        5..=11 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn swapped_letters_are_recognised() {
        assert_eq!(closest("roi_cycels", ["roi_cycles", "run_cycles"]), Some("roi_cycles"));
    }

    #[test]
    fn something_else_is_not_guessed_at() {
        assert_eq!(closest("colour", ["roi_cycles", "timeout"]), None);
    }
}
