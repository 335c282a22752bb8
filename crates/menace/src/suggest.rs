//! "Did you mean", as errors end.

/// `; did you mean …?` with the first of these names, or nothing where there are none.
pub(crate) fn did_you_mean(names: &[&str]) -> String {
    menace_model::format_suggestion(names).map(|text| format!("; {text}")).unwrap_or_default()
}
