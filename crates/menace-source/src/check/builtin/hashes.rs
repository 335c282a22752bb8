//! B324: hash functions that are broken for security purposes.

use menace_model::{Confidence, Severity};

use super::call::Call;
use super::hit::Sink;
use super::literal::Literal;

const WEAK: [&str; 4] = ["md4", "md5", "sha", "sha1"];
const WEAK_CRYPT: [&str; 3] = ["METHOD_CRYPT", "METHOD_MD5", "METHOD_BLOWFISH"];

pub(super) fn check(call: &Call<'_, '_>, sink: &mut Sink) {
    if call.has_part("hashlib") {
        hashlib(call, sink);
    } else if call.has_part("crypt") {
        crypt(call, sink);
    }
}

/// `hashlib.md5()` and `hashlib.new("md5")`, unless said not to be for security.
fn hashlib(call: &Call<'_, '_>, sink: &mut Sink) {
    let algorithm = match call.name {
        "new" => first_or_keyword(call, 0, "name").text(),
        name => Some(name),
    };
    let Some(algorithm) = algorithm else { return };
    let for_security =
        call.keyword("usedforsecurity").is_none_or(|value| Literal::of(value).is_text("True"));
    if for_security && WEAK.iter().any(|weak| algorithm.eq_ignore_ascii_case(weak)) {
        let message = format!(
            "{} is broken; use a stronger hash or say `usedforsecurity=False`",
            algorithm.to_ascii_uppercase()
        );
        sink.report("B324", (Severity::High, Confidence::High), call.range(), message);
    }
}

/// `crypt.crypt` and `crypt.mksalt` with a weak method.
fn crypt(call: &Call<'_, '_>, sink: &mut Sink) {
    let method = match call.name {
        "crypt" => first_or_keyword(call, 1, "salt"),
        "mksalt" => first_or_keyword(call, 0, "method"),
        _ => return,
    };
    if method.text().is_some_and(|method| WEAK_CRYPT.contains(&method)) {
        let message = "this `crypt` method is weak";
        sink.report("B324", (Severity::Medium, Confidence::High), call.range(), message);
    }
}

fn first_or_keyword<'a>(call: &Call<'a, '_>, position: usize, name: &str) -> Literal<'a> {
    if call.args().len() > position { call.arg(position) } else { call.keyword_value(name) }
}
