//! B201: a Flask application in debug mode runs code for whoever can reach it.

use menace_model::{Confidence, Severity};

use super::call::Call;
use super::hit::Sink;
use super::imports::Imports;

pub(super) fn check(call: &Call<'_, '_>, imports: &Imports<'_>, sink: &mut Sink) {
    let is_method = call.qualified != call.name;
    if is_method && call.keyword_value("debug").is_text("True") && imports.mentions("flask") {
        sink.report_at(
            call.keyword_start("debug"),
            "B201",
            (Severity::High, Confidence::Medium),
            call.range(),
            "Flask's debugger runs code for anyone who can reach the page",
        );
    }
}
