//! F601: the same literal key twice in one dict; the first value is lost.

use ruff_python_ast::{Expr, ExprDict, Number};
use ruff_text_size::Ranged;
use rustc_hash::FxHashSet;

use super::LintNote;

#[derive(PartialEq, Eq, Hash)]
enum DictKeyLiteral<'a> {
    Text(&'a str),
    Bytes(Vec<u8>),
    Int(u64),
}

impl<'a> DictKeyLiteral<'a> {
    fn from_expr(expr: &'a Expr) -> Option<Self> {
        match expr {
            Expr::StringLiteral(string) => Some(Self::Text(string.value.to_str())),
            Expr::BytesLiteral(bytes) => Some(Self::Bytes(bytes.value.bytes().collect())),
            Expr::NumberLiteral(number) => match &number.value {
                Number::Int(int) => int.as_u64().map(Self::Int),
                _ => None,
            },
            _ => None,
        }
    }
}

pub(super) fn check(dict: &ExprDict, notes: &mut Vec<LintNote>) {
    if dict.items.len() < 2 {
        return;
    }
    let mut seen = FxHashSet::default();
    for key in dict.items.iter().filter_map(|item| item.key.as_ref()) {
        if DictKeyLiteral::from_expr(key).is_some_and(|value| !seen.insert(value)) {
            let message = "this key is in the dict twice; the first value is lost";
            notes.push(LintNote { code: "F601", range: key.range(), message });
        }
    }
}
