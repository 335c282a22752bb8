//! E722: bare `except`. E731: a lambda that is given a name. F631: `assert` on a tuple.
//! F901: `raise NotImplemented`.

use ruff_python_ast::{
    ExceptHandlerExceptHandler, Expr, Stmt, StmtAnnAssign, StmtAssert, StmtAssign, StmtRaise,
};
use ruff_text_size::Ranged;

use super::LintNote;
use crate::check::walk::SyntaxNode;

pub(super) fn check_assert(assert: &StmtAssert, notes: &mut Vec<LintNote>) {
    if matches!(&*assert.test, Expr::Tuple(tuple) if !tuple.elts.is_empty()) {
        let message = "a tuple is always true; take the parentheses away";
        notes.push(LintNote { code: "F631", range: assert.range(), message });
    }
}

pub(super) fn check_raise(raise: &StmtRaise, notes: &mut Vec<LintNote>) {
    let raised = match raise.exc.as_deref() {
        Some(Expr::Call(call)) => Some(&*call.func),
        other => other,
    };
    if let (Some(Expr::Name(name)), Some(exc)) = (raised, &raise.exc)
        && name.id == "NotImplemented"
    {
        let message = "`NotImplemented` is no exception; raise `NotImplementedError`";
        notes.push(LintNote { code: "F901", range: exc.range(), message });
    }
}

pub(super) fn check_assign(assign: &StmtAssign, notes: &mut Vec<LintNote>) {
    if let [Expr::Name(_)] = assign.targets.as_slice() {
        check_lambda(&assign.value, assign, notes);
    }
}

/// An annotated assignment may be a field of a data class, for which a lambda is the right form.
pub(super) fn check_annotated_assign(
    assign: &StmtAnnAssign,
    above: &[SyntaxNode<'_>],
    notes: &mut Vec<LintNote>,
) {
    let in_class = matches!(above.last(), Some(SyntaxNode::Stmt(Stmt::ClassDef(_))));
    if let (Expr::Name(_), Some(value), false) = (&*assign.target, &assign.value, in_class) {
        check_lambda(value, assign, notes);
    }
}

fn check_lambda(value: &Expr, statement: &impl Ranged, notes: &mut Vec<LintNote>) {
    if value.is_lambda_expr() {
        let message = "use `def` for a function with a name";
        notes.push(LintNote { code: "E731", range: statement.range(), message });
    }
}

/// An exception handler that raises again is no problem.
pub(super) fn check_handler(handler: &ExceptHandlerExceptHandler, notes: &mut Vec<LintNote>) {
    let raises_again = || {
        handler.body.iter().any(|stmt| matches!(stmt, Stmt::Raise(raise) if raise.exc.is_none()))
    };
    if handler.type_.is_none() && !raises_again() {
        // The comment that takes the lint back stands behind `except:`, not behind its body.
        let range = ruff_text_size::TextRange::empty(handler.start());
        let message = "`except:` also catches `KeyboardInterrupt`; name the exceptions";
        notes.push(LintNote { code: "E722", range, message });
    }
}
