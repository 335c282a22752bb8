//! B506: `yaml.load` without a safe loader builds any object that the document asks for.

use menace_model::{Confidence, Severity};

use super::call::Call;
use super::hit::Sink;
use super::imports::Imports;
use super::literal::Literal;

pub(super) fn check(call: &Call<'_, '_>, imports: &Imports<'_>, sink: &mut Sink) {
    let is_safe =
        |loader: Literal<'_>| loader.is_text("SafeLoader") || loader.is_text("CSafeLoader");
    if call.has_part("yaml")
        && imports.has("yaml")
        && !is_safe(call.keyword_value("Loader"))
        && !is_safe(call.arg(1))
    {
        let message = "`yaml.load` builds any object the document names; use `yaml.safe_load`";
        sink.report("B506", (Severity::Medium, Confidence::High), call.range(), message);
    }
}
