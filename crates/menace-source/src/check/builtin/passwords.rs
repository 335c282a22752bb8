//! B105, B106, B107: a string constant where the name says password, token or secret.

use ruff_python_ast::{Expr, ExprDict, ExprStringLiteral, Stmt, StmtFunctionDef};
use ruff_text_size::{Ranged, TextRange};

use super::call::CheckedCall;
use super::literal::{is_constant, string_value as constant};
use super::rule_match::FindingSink;
use crate::check::walk::SyntaxNode;

const PASSWORD_MESSAGE: &str = "a password written in the source; read it from a secret store";

/// B105: assigned to, compared with, or put under a key of such a name.
pub(super) fn check_string(
    string: &ExprStringLiteral,
    value: &str,
    above: &[SyntaxNode<'_>],
    sink: &mut FindingSink,
) {
    let Some((parent, above)) = above.split_last() else { return };
    let found = match parent {
        SyntaxNode::Stmt(Stmt::Assign(assign)) => {
            assign.targets.iter().any(|target| target_name(target).is_some_and(is_secret_name))
        }
        SyntaxNode::Expr(Expr::Subscript(_)) => {
            let assigned = match above.last() {
                Some(SyntaxNode::Stmt(Stmt::Assign(assign))) => constant(&assign.value),
                _ => None,
            };
            assigned.is_some() && is_secret_name(value)
        }
        SyntaxNode::Expr(Expr::Compare(compare)) => {
            compare.comparators.first().and_then(constant).is_some()
                && target_name(&compare.left).is_some_and(is_secret_name)
        }
        _ => false,
    };
    if found {
        sink.report_at(string.start(), "B105", parent.range(), PASSWORD_MESSAGE);
    }
}

/// B105: the value of such a key in a dict, whatever constant it is. Checked from the dict, since
/// otherwise each of its strings would search all its items.
pub(super) fn check_dict(dict: &ExprDict, sink: &mut FindingSink) {
    for item in &dict.items {
        let Some(key) = &item.key else { continue };
        if is_constant(&item.value) && constant(key).is_some_and(is_secret_name) {
            sink.report_at(key.start(), "B105", dict, PASSWORD_MESSAGE);
        }
    }
}

/// B106: passed as a keyword argument of such a name. One finding for a call.
pub(super) fn check_arguments(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let found = call.keywords().iter().find(|keyword| {
        constant(&keyword.value).is_some()
            && keyword.arg.as_ref().is_some_and(|name| is_secret_name(name))
    });
    if let Some(keyword) = found {
        sink.report_at(keyword.value.start(), "B106", call, PASSWORD_MESSAGE);
    }
}

/// B107: the default of a parameter of such a name. One finding for a function.
pub(super) fn check_defaults(def: &StmtFunctionDef, sink: &mut FindingSink) {
    let params = &def.parameters;
    let defaults = params.posonlyargs.iter().chain(&params.args).filter_map(|p| p.default());
    // Bandit pairs the defaults of all positional parameters with the ordinary ones only.
    let skipped = params.args.len().saturating_sub(defaults.clone().count());
    let mut pairs = params.args.iter().skip(skipped).zip(defaults);
    if pairs.any(|(param, value)| constant(value).is_some() && is_secret_name(param.name())) {
        let context = TextRange::new(def.name.start(), def.end());
        sink.report("B107", context, PASSWORD_MESSAGE);
    }
}

fn target_name(target: &Expr) -> Option<&str> {
    match target {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => Some(&attribute.attr),
        _ => None,
    }
}

/// Whether one of the words between underscores denotes a secret.
fn is_secret_name(name: &str) -> bool {
    let name = name.strip_suffix('\n').unwrap_or(name);
    name.split('_').any(is_secret_word)
}

/// `password` in its usual spellings, `pass`, `passphrase`, `pwd`, `token`, `secret(e)`.
fn is_secret_word(word: &str) -> bool {
    const SECRET_WORDS: [&str; 6] = ["pass", "passphrase", "pwd", "token", "secret", "secrete"];
    SECRET_WORDS.iter().any(|one| word.eq_ignore_ascii_case(one)) || is_password(word)
}

/// `pas+wo?r?d`.
fn is_password(word: &str) -> bool {
    let mut letters = word.bytes().map(|b| b.to_ascii_lowercase()).peekable();
    if (letters.next(), letters.next(), letters.next()) != (Some(b'p'), Some(b'a'), Some(b's')) {
        return false;
    }
    while letters.next_if_eq(&b's').is_some() {}
    if letters.next() != Some(b'w') {
        return false;
    }
    letters.next_if_eq(&b'o');
    letters.next_if_eq(&b'r');
    letters.next() == Some(b'd') && letters.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_by_their_parts() {
        for name in
            ["password", "PASSWD", "db_pwd", "auth_token_2", "pass", "my_secrete", "pasword"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["passenger", "tokens", "compass", "secretary", "passing_by", "word"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
