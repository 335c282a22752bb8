//! B502, B503, B504: versions of SSL and TLS that are broken, or left to a default that may be.

use menace_model::{FindingConfidence, FindingSeverity};
use ruff_python_ast::{Expr, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::call::CheckedCall;
use super::literal::ArgumentLiteral;
use super::rule_match::FindingSink;

const BROKEN_TLS_VERSIONS: [&str; 9] = menace_model::words![
    PROTOCOL_SSLv2 SSLv2_METHOD SSLv23_METHOD PROTOCOL_SSLv3 PROTOCOL_TLSv1 SSLv3_METHOD
    TLSv1_METHOD PROTOCOL_TLSv1_1 TLSv1_1_METHOD
];

/// B502: a version passed as `ssl_version` or `method`; with high confidence for functions known to
/// accept it.
pub(super) fn check_version(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let broken = |keyword: &str| {
        call.keyword_value(keyword).text().is_some_and(|value| BROKEN_TLS_VERSIONS.contains(&value))
    };
    let (keyword, is_known_function) = match call.qualified_name {
        "ssl.wrap_socket" => (broken("ssl_version").then_some("ssl_version"), true),
        "pyOpenSSL.SSL.Context" => (broken("method").then_some("method"), true),
        _ => {
            let found = broken("method") || broken("ssl_version");
            let place = if call.keyword("method").is_some() { "method" } else { "ssl_version" };
            (found.then_some(place), false)
        }
    };
    let Some(keyword) = keyword else { return };
    let message = "this version of SSL or TLS is broken";
    let found = sink.report_at(call.keyword_start(keyword), "B502", call, message);
    if !is_known_function {
        found.severity = FindingSeverity::Medium;
        found.confidence = FindingConfidence::Medium;
    }
}

/// B503: the default of a parameter.
pub(super) fn check_defaults(def: &StmtFunctionDef, sink: &mut FindingSink) {
    let params = &def.parameters;
    let mut defaults = params.posonlyargs.iter().chain(&params.args).filter_map(|p| p.default());
    let broken = |value: &Expr| {
        let attribute = value.as_attribute_expr().map(|value| value.attr.as_str());
        attribute.is_some_and(|name| BROKEN_TLS_VERSIONS.contains(&name))
    };
    if defaults.any(broken) {
        let context = TextRange::new(def.name.start(), def.end());
        sink.report("B503", context, "a parameter defaults to a broken version of SSL or TLS");
    }
}

/// B504: `ssl.wrap_socket` that leaves the version open.
pub(super) fn check_missing_version(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    if call.qualified_name == "ssl.wrap_socket"
        && call.keyword_value("ssl_version") == ArgumentLiteral::Unknown
    {
        let message = "no version of TLS is asked for; the default may be broken";
        sink.report_at(call.keyword_start("ssl_version"), "B504", call, message);
    }
}
