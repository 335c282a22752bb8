//! B110, B112: an exception of any kind that is dropped without a trace.

use menace_model::{Confidence, Severity};
use ruff_python_ast::{ExceptHandlerExceptHandler, Expr, Stmt};
use ruff_text_size::Ranged;

use super::hit::Sink;

pub(super) fn check(handler: &ExceptHandlerExceptHandler, sink: &mut Sink) {
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
        sink.report(rule, (Severity::Low, Confidence::High), handler.range(), message);
    }
}
