//! B608: SQL put together from strings, where a value can become part of the statement.

use menace_model::FindingConfidence;
use ruff_python_ast::{Expr, ExprFString, ExprStringLiteral};
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::rule_match::FindingSink;
use crate::check::walk::SyntaxNode;

/// How much of a chain of operators is read. Hand-written SQL has a few dozen parts; the limit
/// keeps generated chains of many thousand strings from costing the square of their length.
const MAX_CHAIN_PARTS: usize = 256;

/// A string that is added to, formatted by `%`, `.format` or `.replace`.
pub(super) fn check_string(
    string: &ExprStringLiteral,
    value: &str,
    above: &[SyntaxNode<'_>],
    sink: &mut FindingSink,
) {
    let Some(parent) = above.last() else { return };
    let (found, executed) = match parent {
        SyntaxNode::Expr(Expr::BinOp(_)) => {
            let operators = above
                .iter()
                .rev()
                .take(MAX_CHAIN_PARTS)
                .take_while(|node| matches!(node, SyntaxNode::Expr(Expr::BinOp(_))))
                .count();
            let root = above.len() - operators;
            let text = join_chain(value, &above[root..]);
            (looks_like_sql(&text), above[..root].last().is_some_and(is_execute_call))
        }
        SyntaxNode::Expr(Expr::Attribute(attribute))
            if matches!(attribute.attr.as_str(), "format" | "replace") =>
        {
            let outer = above.len().checked_sub(3).and_then(|at| above.get(at));
            let executed =
                attribute.attr.as_str() == "format" && outer.is_some_and(is_execute_call);
            (looks_like_sql(value), executed)
        }
        _ => return,
    };
    if found {
        report_sql(string.start(), parent.range(), executed, sink);
    }
}

/// An f-string, by its constant pieces.
pub(super) fn check_f_string(
    string: &ExprFString,
    pieces: &[impl AsRef<str>],
    above: &[SyntaxNode<'_>],
    sink: &mut FindingSink,
) {
    let text: String = pieces.iter().map(AsRef::as_ref).collect();
    if looks_like_sql(&text) {
        report_sql(string.start(), string.range(), above.last().is_some_and(is_execute_call), sink);
    }
}

fn report_sql(at: TextSize, context: TextRange, executed: bool, sink: &mut FindingSink) {
    let confidence = if executed { FindingConfidence::Medium } else { FindingConfidence::Low };
    let message = "SQL put together from strings; pass values as parameters";
    sink.report_at(at, "B608", context, message).confidence = confidence;
}

fn is_execute_call(node: &SyntaxNode<'_>) -> bool {
    let SyntaxNode::Expr(Expr::Call(call)) = node else { return false };
    let name = match &*call.func {
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        Expr::Name(name) => name.id.as_str(),
        _ => return false,
    };
    matches!(name, "execute" | "executemany")
}

/// The string, followed by the others of its chain in order, without its direct neighbour.
/// `operators` are the operations around the string, outermost first.
fn join_chain(value: &str, operators: &[SyntaxNode<'_>]) -> String {
    let mut text = value.to_owned();
    let (Some(SyntaxNode::Expr(root)), Some(SyntaxNode::Expr(nearest))) =
        (operators.first(), operators.last())
    else {
        return text;
    };
    let mut todo: Vec<&Expr> = vec![root];
    for _ in 0..MAX_CHAIN_PARTS {
        let Some(expr) = todo.pop() else { break };
        match expr {
            Expr::BinOp(_) if std::ptr::eq(expr, *nearest) => {}
            Expr::BinOp(operation) => todo.extend([&*operation.right, &operation.left]),
            Expr::StringLiteral(string) => {
                text.push(' ');
                text.push_str(string.value.to_str());
            }
            _ => {}
        }
    }
    text
}

/// Whether the text is a select, delete, insert or update statement. Only the text after the first
/// such word is searched, since it includes the text after later ones.
fn looks_like_sql(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let followed = |first, second| {
        let mut rests = find_after_word(&text, first, is_space);
        rests.next().is_some_and(|rest| find_after_word(rest, second, is_space).next().is_some())
    };
    followed("select", "from")
        || followed("update", "set")
        || find_after_words(&text, "delete", "from").is_some()
        || find_after_words(&text, "insert", "into").is_some_and(|rest| {
            find_after_word(rest, "values", |c| is_space(c) || c == '(').next().is_some()
        })
}

/// The rests of the text after each occurrence of `word` that a character of `ends` follows.
fn find_after_word<'t>(
    text: &'t str,
    word: &'t str,
    ends: impl Fn(char) -> bool + 't,
) -> impl Iterator<Item = &'t str> {
    text.match_indices(word).filter_map(move |(at, word)| {
        let mut rest = text[at + word.len()..].chars();
        rest.next().is_some_and(&ends).then_some(rest.as_str())
    })
}

/// The rest of the text after the first `first second`, with white space between and after them.
fn find_after_words<'t>(text: &'t str, first: &'t str, second: &'t str) -> Option<&'t str> {
    find_after_word(text, first, is_space).find_map(|rest| {
        let mut rest = rest.trim_start_matches(is_space).strip_prefix(second)?.chars();
        rest.next().is_some_and(is_space).then_some(rest.as_str())
    })
}

/// White space as Python's regular expressions have it.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\x1c'..='\x1f')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_in_any_case_and_over_lines() {
        for text in [
            "SELECT * FROM t",
            "select a,\n b from\tt",
            "delete  from t",
            "insert into t (a) values(1)",
            "UPDATE t SET a = 1",
        ] {
            assert!(looks_like_sql(text), "{text}");
        }
        for text in ["selection from t", "please delete the set from", "insert into t", "from"] {
            assert!(!looks_like_sql(text), "{text}");
        }
    }
}
