//! Parses one file, and refuses nesting that would overflow the stack of later steps.

use ruff_python_ast::ModModule;
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};
use ruff_source_file::LineIndex;
use ruff_text_size::{Ranged, TextSize};

/// Deepest nesting that is analysed. CPython gives up much earlier ("too many nested parentheses"
/// at 200, a recursion error in its compiler at some thousands), so no runnable file is refused.
const MAX_NESTING_DEPTH: usize = 10_000;

/// Why text is not a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PythonSyntaxError {
    pub line: u32,
    pub reason: String,
}

/// Parses a module in any syntax from Python 3.8 on.
pub(crate) fn parse(text: &str, lines: &LineIndex) -> Result<Parsed<ModModule>, PythonSyntaxError> {
    if let Some(at) = find_excessive_braces(text) {
        return Err(nesting_error(lines, at));
    }
    let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module))
        .try_into_module()
        .expect("Mode::Module parses to a module");
    if let Some(at) = find_excessive_nesting(&parsed) {
        // Dropping the tree would recurse as deeply as it is nested.
        std::mem::forget(parsed);
        return Err(nesting_error(lines, at));
    }
    match parsed.errors().first() {
        None => Ok(parsed),
        Some(error) => Err(PythonSyntaxError {
            line: lines.line_index(error.location.start()).get() as u32,
            reason: format!("syntax error: {}", error.error),
        }),
    }
}

fn nesting_error(lines: &LineIndex, at: TextSize) -> PythonSyntaxError {
    PythonSyntaxError {
        line: lines.line_index(at).get() as u32,
        reason: format!("nested more than {MAX_NESTING_DEPTH} levels deep"),
    }
}

/// Format specifications nested in each other take the parser quadratic time, so these are
/// refused before it sees them. Braces in strings are counted too: real code opens fewer.
fn find_excessive_braces(text: &str) -> Option<TextSize> {
    let mut depth = 0_usize;
    memchr::memchr2_iter(b'{', b'}', text.as_bytes()).find_map(|at| {
        depth = if text.as_bytes()[at] == b'{' { depth + 1 } else { depth.saturating_sub(1) };
        (depth > MAX_NESTING_DEPTH).then(|| TextSize::new(at as u32))
    })
}

/// An upper bound for the depth of the tree from its tokens: every operator between two commas may
/// nest once, and every bracket and every indentation does.
fn find_excessive_nesting(parsed: &Parsed<ModModule>) -> Option<TextSize> {
    if parsed.tokens().len() <= MAX_NESTING_DEPTH {
        return None;
    }
    let mut outer: Vec<usize> = Vec::new();
    let mut base = 0;
    let mut here = 0;
    for token in parsed.tokens() {
        match token.kind() {
            TokenKind::Lpar
            | TokenKind::Lsqb
            | TokenKind::Lbrace
            | TokenKind::FStringStart
            | TokenKind::TStringStart
            | TokenKind::Indent => {
                outer.push(here);
                base += here + 1;
                here = 0;
            }
            TokenKind::Rpar
            | TokenKind::Rsqb
            | TokenKind::Rbrace
            | TokenKind::FStringEnd
            | TokenKind::TStringEnd
            | TokenKind::Dedent => {
                // A closed bracket may be followed by `(…)(…)`, so counting continues from there.
                let before = outer.pop().unwrap_or(0);
                base = base.saturating_sub(before + 1);
                here = before + 1;
            }
            TokenKind::Comma | TokenKind::Newline | TokenKind::Semi => here = 0,
            kind if kind.is_operator() || kind.is_keyword() => here += 1,
            _ => {}
        }
        if base + here > MAX_NESTING_DEPTH {
            return Some(token.start());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of_error(text: &str) -> Option<u32> {
        parse(text, &LineIndex::from_source_text(text)).err().map(|error| error.line)
    }

    #[test]
    fn the_first_error_is_reported_with_its_line() {
        assert_eq!(line_of_error("x = 1\ndef f(:\n    pass\n"), Some(2));
        assert_eq!(line_of_error("x = 1\n"), None);
    }

    #[test]
    fn bottomless_nesting_is_refused_before_anything_recurses_into_it() {
        for text in [
            format!("x = {}", "-".repeat(1_000_000) + "1"),
            format!("x = 1{}", "+1".repeat(1_000_000)),
            format!("x = {}{}", "(".repeat(100_000), ")".repeat(100_000)),
            format!("x = f{}", "()".repeat(100_000)),
            format!("x = a{}", ".b".repeat(100_000)),
            format!("x = f'{}a{}'", "{a:".repeat(100_000), "}".repeat(100_000)),
        ] {
            assert_eq!(line_of_error(&text), Some(1), "{}", &text[..20]);
        }
    }

    #[test]
    fn long_flat_code_is_not_deep() {
        assert_eq!(line_of_error(&format!("x = [{}]", "a.b + 1, ".repeat(100_000))), None);
        assert_eq!(line_of_error(&"if a:\n    b = c\n".repeat(50_000)), None);
        assert_eq!(line_of_error(&format!("x = 1{}", " + 1".repeat(9_000))), None);
    }
}
