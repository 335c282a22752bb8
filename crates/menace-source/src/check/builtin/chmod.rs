//! B103: a file mode that lets others write, or group and others execute.

use menace_model::FindingSeverity;

use super::call::CheckedCall;
use super::literal::ArgumentLiteral;
use super::rule_match::FindingSink;

const OTHERS_WRITE_MODE: u64 = 0o002;
/// Writable or executable by the group, writable or executable by others.
const PERMISSIVE_MODE_BITS: u64 = 0o033;

/// Any call with `chmod` in its name and two arguments.
pub(super) fn check(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let [_, _] = call.args() else { return };
    let ArgumentLiteral::Int(Some(mode)) = call.arg(1) else { return };
    if mode & PERMISSIVE_MODE_BITS == 0 {
        return;
    }
    let severity =
        if mode & OTHERS_WRITE_MODE == 0 { FindingSeverity::Medium } else { FindingSeverity::High };
    let message = format!("file mode {mode:#o} gives rights to group or others");
    sink.report("B103", call, message).severity = severity;
}
