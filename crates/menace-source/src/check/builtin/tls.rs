//! B502, B503, B504: versions of SSL and TLS that are broken, or left to a default that may be.

use menace_model::{Confidence, Severity};
use ruff_python_ast::{Expr, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::call::Call;
use super::hit::Sink;
use super::literal::Literal;

const BROKEN: [&str; 9] = [
    "PROTOCOL_SSLv2",
    "SSLv2_METHOD",
    "SSLv23_METHOD",
    "PROTOCOL_SSLv3",
    "PROTOCOL_TLSv1",
    "SSLv3_METHOD",
    "TLSv1_METHOD",
    "PROTOCOL_TLSv1_1",
    "TLSv1_1_METHOD",
];

/// B502: passed as `ssl_version` or `method`; surest for the functions known to take it.
pub(super) fn version(call: &Call<'_, '_>, sink: &mut Sink) {
    let broken = |keyword: &str| {
        call.keyword_value(keyword).text().is_some_and(|value| BROKEN.contains(&value))
    };
    let (keyword, ranks) = match call.qualified {
        "ssl.wrap_socket" => (broken("ssl_version").then_some("ssl_version"), true),
        "pyOpenSSL.SSL.Context" => (broken("method").then_some("method"), true),
        _ => {
            let found = broken("method") || broken("ssl_version");
            let place = if call.keyword("method").is_some() { "method" } else { "ssl_version" };
            (found.then_some(place), false)
        }
    };
    let Some(keyword) = keyword else { return };
    let ranks = if ranks {
        (Severity::High, Confidence::High)
    } else {
        (Severity::Medium, Confidence::Medium)
    };
    let message = "this version of SSL or TLS is broken";
    sink.report_at(call.keyword_start(keyword), "B502", ranks, call.range(), message);
}

/// B503: the default of a parameter.
pub(super) fn defaults(def: &StmtFunctionDef, sink: &mut Sink) {
    let params = &def.parameters;
    let mut defaults = params.posonlyargs.iter().chain(&params.args).filter_map(|p| p.default());
    let broken =
        |value: &Expr| matches!(value, Expr::Attribute(at) if BROKEN.contains(&at.attr.as_str()));
    if defaults.any(broken) {
        let context = TextRange::new(def.name.start(), def.end());
        let message = "a parameter defaults to a broken version of SSL or TLS";
        sink.report("B503", (Severity::Medium, Confidence::Medium), context, message);
    }
}

/// B504: `ssl.wrap_socket` that leaves the version open.
pub(super) fn no_version(call: &Call<'_, '_>, sink: &mut Sink) {
    if call.qualified == "ssl.wrap_socket" && call.keyword_value("ssl_version") == Literal::Unknown
    {
        sink.report_at(
            call.keyword_start("ssl_version"),
            "B504",
            (Severity::Low, Confidence::Medium),
            call.range(),
            "no version of TLS is asked for; the default may be broken",
        );
    }
}
