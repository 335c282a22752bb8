//! B202: `extractall` on a tar file writes to any path that its members have.

use menace_model::{FindingConfidence, FindingSeverity};
use ruff_python_ast::Expr;

use super::call::CheckedCall;
use super::imports::ImportTable;
use super::literal::string_value;
use super::rule_match::FindingSink;

pub(super) fn check(call: &CheckedCall<'_, '_>, imports: &ImportTable<'_>, sink: &mut FindingSink) {
    if !imports.has("tarfile") || call.keyword("filter").and_then(string_value) == Some("data") {
        return;
    }
    let (severity, confidence, message) = match call.keyword("members") {
        None => (
            FindingSeverity::High,
            FindingConfidence::High,
            "members of the archive can be written anywhere; pass `filter=\"data\"`",
        ),
        Some(Expr::Call(members)) if members.func.is_name_expr() => (
            FindingSeverity::Low,
            FindingConfidence::Low,
            "check that the function drops unsafe members",
        ),
        // Bandit gives up on the result of a method.
        Some(Expr::Call(_)) => return,
        Some(_) => (
            FindingSeverity::Medium,
            FindingConfidence::Medium,
            "check that unsafe members are dropped",
        ),
    };
    let found = sink.report("B202", call, message);
    (found.severity, found.confidence) = (severity, confidence);
}
