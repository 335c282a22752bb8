//! E711, E712: `==` with `None`, `True` or `False`. E713, E714: `not x in y`, `not x is y`.
//! F632: `is` with a literal.

use ruff_python_ast::{CmpOp, Expr, ExprCompare, ExprUnaryOp, UnaryOp};
use ruff_text_size::Ranged;

use super::LintNote;

pub(super) fn check_compare(compare: &ExprCompare, notes: &mut Vec<LintNote>) {
    let mut left = &*compare.left;
    for (at, (op, right)) in compare.ops.iter().zip(&compare.comparators).enumerate() {
        match op {
            CmpOp::Eq | CmpOp::NotEq => {
                // The left side counts at the start of a chain only; within it, it was a right
                // side.
                if at == 0 && !is_literal_value(right) {
                    check_singleton(left, notes);
                }
                if !is_literal_value(left) {
                    check_singleton(right, notes);
                }
            }
            CmpOp::Is | CmpOp::IsNot if is_literal_value(left) || is_literal_value(right) => notes
                .push(LintNote {
                    code: "F632",
                    range: compare.range(),
                    message: "`is` compares identity; use `==` for a literal",
                }),
            _ => {}
        }
        left = right;
    }
}

fn check_singleton(expr: &Expr, notes: &mut Vec<LintNote>) {
    let (code, message) = match expr {
        Expr::NoneLiteral(_) => ("E711", "compare with `None` by `is`"),
        Expr::BooleanLiteral(_) => ("E712", "compare with a truth value by `is`, or not at all"),
        _ => return,
    };
    notes.push(LintNote { code, range: expr.range(), message });
}

/// A string, bytes or number written out.
fn is_literal_value(expr: &Expr) -> bool {
    matches!(expr, Expr::StringLiteral(_) | Expr::BytesLiteral(_) | Expr::NumberLiteral(_))
}

pub(super) fn check_negation(unary: &ExprUnaryOp, notes: &mut Vec<LintNote>) {
    let (UnaryOp::Not, Expr::Compare(compare)) = (unary.op, &*unary.operand) else { return };
    let (code, message) = match &*compare.ops {
        [CmpOp::In] => ("E713", "write `x not in y`"),
        [CmpOp::Is] => ("E714", "write `x is not y`"),
        _ => return,
    };
    notes.push(LintNote { code, range: unary.range(), message });
}
