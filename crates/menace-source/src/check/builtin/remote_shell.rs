//! B507: an SSH client that trusts any host key.
//! B601: a command line sent to a shell on another machine.

use ruff_python_ast::Expr;

use super::call::CheckedCall;
use super::imports::ImportTable;
use super::rule_match::FindingSink;

/// Checks only modules that import Paramiko.
pub(super) fn check(call: &CheckedCall<'_, '_>, imports: &ImportTable<'_>, sink: &mut FindingSink) {
    if !imports.mentions("paramiko") {
        return;
    }
    if call.name == "exec_command" {
        let message = "the remote shell interprets this command; check what goes into it";
        sink.report("B601", call, message);
        return;
    }
    let policy = match call.args().first() {
        Some(Expr::Call(made)) => last_name(&made.func),
        Some(expr) => last_name(expr),
        None => None,
    };
    if matches!(policy, Some("AutoAddPolicy" | "WarningPolicy")) {
        sink.report("B507", call, "the client trusts the key of any host");
    }
}

fn last_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Attribute(attribute) => Some(&attribute.attr),
        Expr::Name(name) => Some(&name.id),
        _ => None,
    }
}
