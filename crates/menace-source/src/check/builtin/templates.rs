//! B701: Jinja2 without escaping. B702: Mako, which does not escape. B704: text marked as safe
//! HTML.

use menace_model::FindingConfidence;
use ruff_python_ast::Expr;

use super::call::CheckedCall;
use super::literal::is_constant;
use super::rule_match::FindingSink;
use crate::check::walk::{SyntaxNode, walk_breadth_first};

pub(super) fn check(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    match call.name {
        "Environment" if call.has_part("jinja2") => check_jinja2(call, sink),
        "Template" if call.has_part("mako") => {
            sink.report("B702", call, "Mako does not escape what it renders");
        }
        "Markup"
            if matches!(call.qualified_name, "markupsafe.Markup" | "flask.Markup")
                && call.args().first().is_some_and(|text| !is_constant(text)) =>
        {
            sink.report("B704", call, "text that is not constant is marked as safe HTML");
        }
        _ => {}
    }
}

/// The first `autoescape=` in the call or in any call within its arguments decides.
fn check_jinja2(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let nested = call.args().iter().flat_map(walk_breadth_first);
    let own = call.keywords().iter().map(SyntaxNode::Keyword);
    let deeper = call.keywords().iter().flat_map(|keyword| walk_breadth_first(&keyword.value));
    let autoescape = own.chain(nested).chain(deeper).find_map(|node| match node {
        SyntaxNode::Keyword(keyword)
            if keyword.arg.as_ref().is_some_and(|arg| arg == "autoescape") =>
        {
            Some(&keyword.value)
        }
        _ => None,
    });
    let confidence = match autoescape {
        Some(Expr::BooleanLiteral(value)) if value.value => return,
        Some(Expr::Call(made)) if is_select_autoescape(&made.func) => return,
        None | Some(Expr::BooleanLiteral(_)) => FindingConfidence::High,
        Some(_) => FindingConfidence::Medium,
    };
    let message = "Jinja2 renders without escaping; pass `autoescape=True`";
    sink.report("B701", call, message).confidence = confidence;
}

fn is_select_autoescape(callee: &Expr) -> bool {
    match callee {
        Expr::Name(name) => name.id == "select_autoescape",
        Expr::Attribute(attribute) => attribute.attr.as_str() == "select_autoescape",
        _ => false,
    }
}
