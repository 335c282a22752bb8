//! Suggestions at the end of errors.

/// `; did you mean …?` with the first of these names; empty without names.
pub(crate) fn did_you_mean(names: &[&str]) -> String {
    menace_model::format_suggestion(names).map(|text| format!("; {text}")).unwrap_or_default()
}
