//! B110, B112: an exception of any kind that is dropped without a trace.

use ruff_python_ast::{ExceptHandlerExceptHandler, Expr, Stmt};

use super::rule_match::FindingSink;

pub(super) fn check(handler: &ExceptHandlerExceptHandler, sink: &mut FindingSink) {
    let catches_all = match handler.type_.as_deref() {
        None => true,
        Some(Expr::Name(name)) => name.id == "Exception",
        Some(_) => false,
    };
    let [only] = handler.body.as_slice() else { return };
    let (rule, message) = match only {
        Stmt::Pass(_) => ("B110", "every exception is ignored here"),
        Stmt::Continue(_) => ("B112", "every exception is skipped over here"),
        _ => return,
    };
    if catches_all {
        sink.report(rule, handler, message);
    }
}
