//! B201: a Flask application in debug mode runs code of any client.

use super::call::CheckedCall;
use super::imports::ImportTable;
use super::rule_match::FindingSink;

pub(super) fn check(call: &CheckedCall<'_, '_>, imports: &ImportTable<'_>, sink: &mut FindingSink) {
    let is_method = call.qualified_name != call.name;
    if is_method && call.keyword_value("debug").is_text("True") && imports.mentions("flask") {
        let message = "Flask's debugger runs code for every client that can reach the page";
        sink.report_at(call.keyword_start("debug"), "B201", call, message);
    }
}
