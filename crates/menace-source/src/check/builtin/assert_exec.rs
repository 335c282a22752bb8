//! B101: `assert` is removed when Python runs with `-O`, so it must not guard anything. B102:
//! `exec` runs any text.

use ruff_python_ast::StmtAssert;

use super::call::CheckedCall;
use super::rule_match::FindingSink;

pub(super) fn check_assert(assert: &StmtAssert, sink: &mut FindingSink) {
    let message =
        "`assert` is skipped when Python runs optimised; raise an exception for checks that matter";
    sink.report("B101", assert, message);
}

pub(super) fn check_exec(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    if call.qualified_name == "exec" {
        sink.report("B102", call, "`exec` runs the text it is given as code");
    }
}
