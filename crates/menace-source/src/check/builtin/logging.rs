//! B612: `logging.config.listen` executes the configuration that it receives, unless it is
//! verified.

use super::call::CheckedCall;
use super::rule_match::FindingSink;

pub(super) fn check(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    if call.qualified_name == "logging.config.listen" && call.keyword("verify").is_none() {
        sink.report("B612", call, "a received logging configuration can run code; pass `verify=`");
    }
}
