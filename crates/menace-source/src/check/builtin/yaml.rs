//! B506: `yaml.load` without a safe loader constructs any object that the document names.

use super::call::CheckedCall;
use super::imports::ImportTable;
use super::literal::ArgumentLiteral;
use super::rule_match::FindingSink;

pub(super) fn check(call: &CheckedCall<'_, '_>, imports: &ImportTable<'_>, sink: &mut FindingSink) {
    let is_safe =
        |loader: ArgumentLiteral<'_>| loader.is_text("SafeLoader") || loader.is_text("CSafeLoader");
    if call.has_part("yaml")
        && imports.has("yaml")
        && !is_safe(call.keyword_value("Loader"))
        && !is_safe(call.arg(1))
    {
        let message = "`yaml.load` builds any object the document names; use `yaml.safe_load`";
        sink.report("B506", call, message);
    }
}
