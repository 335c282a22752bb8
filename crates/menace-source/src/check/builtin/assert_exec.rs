//! B101: `assert` is gone when Python runs with `-O`, so it must not guard anything.
//! B102: `exec` runs whatever text it is given.

use menace_model::{Confidence, Severity};
use ruff_python_ast::StmtAssert;
use ruff_text_size::Ranged;

use super::call::Call;
use super::hit::Sink;

pub(super) fn check(assert: &StmtAssert, sink: &mut Sink) {
    sink.report(
        "B101",
        (Severity::Low, Confidence::High),
        assert.range(),
        "`assert` is skipped when Python runs optimised; raise an exception for checks that matter",
    );
}

pub(super) fn exec(call: &Call<'_, '_>, sink: &mut Sink) {
    if call.qualified == "exec" {
        let message = "`exec` runs the text it is given as code";
        sink.report("B102", (Severity::Medium, Confidence::High), call.range(), message);
    }
}
