//! B701: Jinja2 without escaping. B702: Mako, which does not escape. B704: text marked as safe HTML.

use menace_model::{Confidence, Severity};
use ruff_python_ast::Expr;

use super::call::Call;
use super::hit::Sink;
use super::literal::is_constant;
use crate::check::walk::{Node, breadth_first};

pub(super) fn check(call: &Call<'_, '_>, sink: &mut Sink) {
    match call.name {
        "Environment" if call.has_part("jinja2") => jinja2(call, sink),
        "Template" if call.has_part("mako") => {
            let message = "Mako does not escape what it renders";
            sink.report("B702", (Severity::Medium, Confidence::High), call.range(), message);
        }
        "Markup"
            if matches!(call.qualified, "markupsafe.Markup" | "flask.Markup")
                && call.args().first().is_some_and(|text| !is_constant(text)) =>
        {
            let message = "text that is not constant is marked as safe HTML";
            sink.report("B704", (Severity::Medium, Confidence::High), call.range(), message);
        }
        _ => {}
    }
}

/// The first `autoescape=` in the call or in any call within its arguments decides.
fn jinja2(call: &Call<'_, '_>, sink: &mut Sink) {
    let nested = call.args().iter().flat_map(breadth_first);
    let own = call.keywords().iter().map(Node::Keyword);
    let deeper = call.keywords().iter().flat_map(|keyword| breadth_first(&keyword.value));
    let autoescape = own.chain(nested).chain(deeper).find_map(|node| match node {
        Node::Keyword(keyword) if keyword.arg.as_ref().is_some_and(|arg| arg == "autoescape") => {
            Some(&keyword.value)
        }
        _ => None,
    });
    let confidence = match autoescape {
        Some(Expr::BooleanLiteral(value)) if value.value => return,
        Some(Expr::Call(made)) if is_select_autoescape(&made.func) => return,
        None | Some(Expr::BooleanLiteral(_)) => Confidence::High,
        Some(_) => Confidence::Medium,
    };
    let message = "Jinja2 renders without escaping; pass `autoescape=True`";
    sink.report("B701", (Severity::High, confidence), call.range(), message);
}

fn is_select_autoescape(callee: &Expr) -> bool {
    match callee {
        Expr::Name(name) => name.id == "select_autoescape",
        Expr::Attribute(attribute) => attribute.attr.as_str() == "select_autoescape",
        _ => false,
    }
}
