//! B202: `extractall` on a tar file writes wherever its members say.

use menace_model::{Confidence, Severity};
use ruff_python_ast::Expr;

use super::call::Call;
use super::hit::Sink;
use super::imports::Imports;
use super::literal::string;

pub(super) fn check(call: &Call<'_, '_>, imports: &Imports<'_>, sink: &mut Sink) {
    if !imports.has("tarfile") || call.keyword("filter").and_then(string) == Some("data") {
        return;
    }
    let (severity, confidence, message) = match call.keyword("members") {
        None => (
            Severity::High,
            Confidence::High,
            "members of the archive can be written anywhere; pass `filter=\"data\"`",
        ),
        Some(Expr::Call(members)) if members.func.is_name_expr() => {
            (Severity::Low, Confidence::Low, "check that the function drops unsafe members")
        }
        // Bandit gives up on the result of a method.
        Some(Expr::Call(_)) => return,
        Some(_) => (Severity::Medium, Confidence::Medium, "check that unsafe members are dropped"),
    };
    sink.report("B202", (severity, confidence), call.range(), message);
}
