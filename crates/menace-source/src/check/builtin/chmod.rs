//! B103: a file mode that lets others write, or group and others execute.

use menace_model::{Confidence, Severity};

use super::call::Call;
use super::hit::Sink;
use super::literal::Literal;

const OTHERS_WRITE: u64 = 0o002;
/// Writable or executable by the group, writable or executable by others.
const PERMISSIVE: u64 = 0o033;

/// Any call with `chmod` in its name and two arguments.
pub(super) fn check(call: &Call<'_, '_>, sink: &mut Sink) {
    let [_, _] = call.args() else { return };
    let Literal::Int(Some(mode)) = call.arg(1) else { return };
    if mode & PERMISSIVE == 0 {
        return;
    }
    let severity = if mode & OTHERS_WRITE == 0 { Severity::Medium } else { Severity::High };
    let message = format!("file mode {mode:#o} gives rights to group or others");
    sink.report("B103", (severity, Confidence::High), call.range(), message);
}
