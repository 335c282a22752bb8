//! B507: an SSH client that trusts any host key.
//! B601: a command line sent to a shell on another machine.

use menace_model::{Confidence, Severity};
use ruff_python_ast::Expr;

use super::call::Call;
use super::hit::Sink;
use super::imports::Imports;

/// Only in modules that import Paramiko.
pub(super) fn check(call: &Call<'_, '_>, imports: &Imports<'_>, sink: &mut Sink) {
    if !imports.mentions("paramiko") {
        return;
    }
    if call.name == "exec_command" {
        let message = "the remote shell interprets this command; check what goes into it";
        sink.report("B601", (Severity::Medium, Confidence::Medium), call.range(), message);
        return;
    }
    let policy = match call.args().first() {
        Some(Expr::Call(made)) => last_name(&made.func),
        Some(expr) => last_name(expr),
        None => None,
    };
    if matches!(policy, Some("AutoAddPolicy" | "WarningPolicy")) {
        let message = "the client trusts the key of any host";
        sink.report("B507", (Severity::High, Confidence::Medium), call.range(), message);
    }
}

fn last_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Attribute(attribute) => Some(&attribute.attr),
        Expr::Name(name) => Some(&name.id),
        _ => None,
    }
}
