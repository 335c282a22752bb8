//! B612: `logging.config.listen` runs what it receives unless it is verified.

use menace_model::{Confidence, Severity};

use super::call::Call;
use super::hit::Sink;

pub(super) fn check(call: &Call<'_, '_>, sink: &mut Sink) {
    if call.qualified == "logging.config.listen" && call.keyword("verify").is_none() {
        let message = "a received logging configuration can run code; pass `verify=`";
        sink.report("B612", (Severity::Medium, Confidence::High), call.range(), message);
    }
}
