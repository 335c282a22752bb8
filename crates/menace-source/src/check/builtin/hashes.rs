//! B324: hash functions that are broken for security purposes.

use menace_model::FindingSeverity;

use super::call::CheckedCall;
use super::literal::ArgumentLiteral;
use super::rule_match::FindingSink;

const WEAK_HASHES: [&str; 4] = ["md4", "md5", "sha", "sha1"];
const WEAK_CRYPT_METHODS: [&str; 3] = ["METHOD_CRYPT", "METHOD_MD5", "METHOD_BLOWFISH"];

pub(super) fn check(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    if call.has_part("hashlib") {
        check_hashlib(call, sink);
    } else if call.has_part("crypt") {
        check_crypt(call, sink);
    }
}

/// `hashlib.md5()` and `hashlib.new("md5")`, unless marked as not used for security.
fn check_hashlib(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let algorithm = match call.name {
        "new" => positional_or_keyword(call, 0, "name").text(),
        name => Some(name),
    };
    let Some(algorithm) = algorithm else { return };
    let for_security = call
        .keyword("usedforsecurity")
        .is_none_or(|value| ArgumentLiteral::from_expr(value).is_text("True"));
    if for_security && WEAK_HASHES.iter().any(|weak| algorithm.eq_ignore_ascii_case(weak)) {
        let message = format!(
            "{} is broken; use a stronger hash or say `usedforsecurity=False`",
            algorithm.to_ascii_uppercase()
        );
        sink.report("B324", call, message);
    }
}

/// `crypt.crypt` and `crypt.mksalt` with a weak method.
fn check_crypt(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let method = match call.name {
        "crypt" => positional_or_keyword(call, 1, "salt"),
        "mksalt" => positional_or_keyword(call, 0, "method"),
        _ => return,
    };
    if method.text().is_some_and(|method| WEAK_CRYPT_METHODS.contains(&method)) {
        sink.report("B324", call, "this `crypt` method is weak").severity = FindingSeverity::Medium;
    }
}

fn positional_or_keyword<'a>(
    call: &CheckedCall<'a, '_>,
    position: usize,
    name: &str,
) -> ArgumentLiteral<'a> {
    if call.args().len() > position { call.arg(position) } else { call.keyword_value(name) }
}
