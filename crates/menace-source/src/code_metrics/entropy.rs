//! Shannon entropy of a module's tokens: the average information of a token, in bits.
//!
//! All tokens count except layout (`NEWLINE`, `NL`, `INDENT`, `DEDENT`, `ENDMARKER`) and comments.
//! Two tokens are equal when both their kind and their text are: the name `x` is not the text `x`
//! inside an f-string, and `'a'` is not `"a"`. An f-string counts as the tokens it consists of.
//! With `p` the share of each distinct token, the entropy is `−Σ p·log₂ p`: 0 for an empty module
//! or one token repeated, `log₂ n` for `n` distinct tokens that are equally frequent.

use std::cell::RefCell;
use std::hash::BuildHasher;

use ruff_python_ast::token::{TokenKind, Tokens};
use ruff_text_size::Ranged;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// The number of token kinds.
const TOKEN_KIND_COUNT: usize = TokenKind::Unknown as usize + 1;

thread_local! {
    /// Counts by the hash of kind and text. Kept between files: allocating and filling a table
    /// for each would cost more than the counting. Two of a file's some thousand texts sharing a
    /// 64-bit hash is not going to happen, and would change the result by a fraction of a bit.
    static TOKEN_COUNTS: RefCell<FxHashMap<u64, u32>> = RefCell::default();
}

pub(super) fn compute_token_entropy(source: &str, tokens: &Tokens) -> f64 {
    TOKEN_COUNTS.with_borrow_mut(|varying| {
        varying.clear();
        // Operators and keywords have only one text each, and are counted without hashing.
        let mut fixed = [0_u32; TOKEN_KIND_COUNT];
        for token in tokens {
            match token.kind() {
                TokenKind::Comment
                | TokenKind::Newline
                | TokenKind::NonLogicalNewline
                | TokenKind::Indent
                | TokenKind::Dedent
                | TokenKind::EndOfFile => {}
                kind if has_varying_text(kind) => {
                    let text = &source[token.range()];
                    *varying.entry(FxBuildHasher.hash_one((kind, text))).or_default() += 1;
                }
                kind => fixed[kind as usize] += 1,
            }
        }
        entropy_of_counts(fixed.into_iter().chain(varying.values().copied()))
    })
}

fn has_varying_text(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::Name
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Complex
            | TokenKind::String
            | TokenKind::FStringStart
            | TokenKind::FStringMiddle
            | TokenKind::FStringEnd
            | TokenKind::TStringStart
            | TokenKind::TStringMiddle
            | TokenKind::TStringEnd
            | TokenKind::IpyEscapeCommand
            | TokenKind::Unknown
    )
}

/// Most tokens occur less often; for these `p·log₂ p` is in a table.
const MAX_TABULATED_COUNT: usize = 64;

/// `−Σ p·log₂ p`, brought to the form that needs no division per token.
///
/// The sum goes by the size of the counts, not by the order of the table, which differs from run
/// to run: so do not the last digits.
fn entropy_of_counts(counts: impl Iterator<Item = u32>) -> f64 {
    let mut times = [0_u32; MAX_TABULATED_COUNT];
    let mut frequent = Vec::new();
    for count in counts {
        match times.get_mut(count as usize) {
            Some(times) => *times += 1,
            None => frequent.push(count),
        }
    }
    frequent.sort_unstable();
    let rare = (0_u32..).zip(times).skip(1);
    let mut total = 0.0;
    let mut weighted = 0.0;
    for (count, times) in rare.chain(frequent.into_iter().map(|count| (count, 1))) {
        let (count, times) = (f64::from(count), f64::from(times));
        total += times * count;
        weighted += times * count * count.log2();
    }
    if total > 0.0 { (total.log2() - weighted / total).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::tests::measure_source;

    fn source_entropy(source: &str) -> f64 {
        measure_source(source).0.entropy
    }

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn four_equally_frequent_tokens_are_worth_two_bits() {
        assert_close(source_entropy("a = {}\n"), 2.0);
        assert_close(source_entropy("a = {}\na = {}\n"), 2.0);
    }

    #[test]
    fn a_token_repeated_is_worth_nothing() {
        assert_close(source_entropy("a\na\na\n"), 0.0);
        assert_close(source_entropy(""), 0.0);
    }

    #[test]
    fn the_order_of_the_tokens_does_not_change_a_digit() {
        let tokens: Vec<String> =
            (0..150).map(|number| format!("name_{number}\n").repeat(number + 1)).collect();
        let once = source_entropy(&tokens.concat());
        // A larger table, which is walked in another order.
        source_entropy(
            &(0..5_000).map(|number| format!("x{number}\n")).collect::<Vec<_>>().concat(),
        );
        assert_eq!(source_entropy(&tokens.concat()).to_bits(), once.to_bits());
        let reversed: Vec<&str> = tokens.iter().rev().map(String::as_str).collect();
        assert_eq!(source_entropy(&reversed.concat()).to_bits(), once.to_bits());
    }

    #[test]
    fn shares_are_weighted() {
        // a: 2 of 4, b and c: 1 of 4 each.
        assert_close(source_entropy("a\na\nb\nc\n"), 1.5);
    }

    #[test]
    fn layout_and_comments_do_not_count() {
        assert_close(source_entropy("if a:  # b\n\n    c\n"), source_entropy("if a: c"));
    }

    #[test]
    fn kind_and_text_make_a_token() {
        // `f"`, the text `a` and `"`; then the names `a`, `a`.
        assert_close(source_entropy("f\"a\"\na\na\n"), source_entropy("x\ny\nz\nw\nw\n"));
        assert_close(source_entropy("'a'\n\"a\"\n"), 1.0);
    }
}
