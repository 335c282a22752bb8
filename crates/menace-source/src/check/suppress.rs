//! Comments that suppress findings: Bandit's `# nosec` and Ruff's `# noqa`.
//!
//! `# nosec` applies on every line of the construct, `# noqa` on its first and last line. A blanket
//! `# noqa` suppresses lint warnings but no security findings, which need `# noqa: S…` or `#
//! nosec`.

use ruff_python_ast::token::{TokenKind, Tokens};
use ruff_source_file::LineIndex;
use ruff_text_size::Ranged;
use rustc_hash::FxHashMap;

use super::{line_of, rules};

#[derive(Debug, Default)]
pub(super) struct SuppressionComments {
    /// Rules by line; an empty list means all of them.
    nosec: FxHashMap<u32, Vec<&'static str>>,
    noqa: FxHashMap<u32, NoqaSelection>,
    /// `# ruff: noqa` and `# flake8: noqa` speak for the whole file.
    file: Option<NoqaSelection>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum NoqaSelection {
    Everything,
    Codes(Vec<String>),
}

impl NoqaSelection {
    fn covers(&self, code: &str) -> bool {
        matches!(self, Self::Codes(codes) if codes.iter().any(|named| code.starts_with(&**named)))
    }

    fn merge(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Codes(mine), Self::Codes(more)) => mine.extend(more),
            (Self::Everything, _) => {}
            (mine, Self::Everything) => *mine = Self::Everything,
        }
    }
}

impl SuppressionComments {
    pub(super) fn parse(tokens: &Tokens, source: &str, lines: &LineIndex) -> Self {
        let mut found = Self::default();
        for token in tokens.iter().filter(|token| token.kind() == TokenKind::Comment) {
            let comment = &source[token.range()];
            let line = || line_of(lines, token.start());
            if let Some(rules) = parse_nosec(comment) {
                found.nosec.insert(line(), rules);
            }
            if let Some((noqa, whole_file)) = parse_noqa(comment) {
                if whole_file {
                    match &mut found.file {
                        Some(file) => file.merge(noqa),
                        None => found.file = Some(noqa),
                    }
                } else {
                    found.noqa.insert(line(), noqa);
                }
            }
        }
        found
    }

    /// Whether the finding of `rule` at `line`, about a construct from `first` to `last`, is
    /// suppressed.
    pub(super) fn hides_finding(&self, rule: &str, line: u32, first: u32, last: u32) -> bool {
        self.nosec_hides(rule, line, first, last)
            || rule.strip_prefix('B').is_some_and(|number| {
                let code = format!("S{number}");
                self.file.as_ref().is_some_and(|noqa| noqa.covers(&code))
                    || [line, last]
                        .iter()
                        .any(|at| self.noqa.get(at).is_some_and(|noqa| noqa.covers(&code)))
            })
    }

    /// Bandit's rule: the comment on the reported line and the first comment inside the construct
    /// count; if neither names a rule, all rules are suppressed.
    fn nosec_hides(&self, rule: &str, line: u32, first: u32, last: u32) -> bool {
        if self.nosec.is_empty() {
            return false;
        }
        let here = self.nosec.get(&line);
        let inside = (first..=last).find_map(|at| self.nosec.get(&at));
        if here.is_none() && inside.is_none() {
            return false;
        }
        let mut named = here.into_iter().chain(inside).flatten().peekable();
        named.peek().is_none() || named.any(|id| *id == rule)
    }

    pub(super) fn hides_lint(&self, code: &str, first: u32, last: u32) -> bool {
        let hides = |noqa: &NoqaSelection| *noqa == NoqaSelection::Everything || noqa.covers(code);
        self.file.as_ref().is_some_and(hides)
            || [first, last].iter().any(|at| self.noqa.get(at).is_some_and(hides))
    }
}

/// The rules named by a `# nosec` comment, empty when it names none that exist.
fn parse_nosec(comment: &str) -> Option<Vec<&'static str>> {
    let named = comment.match_indices('#').find_map(|(at, _)| {
        let word = comment[at + 1..].trim_start();
        let rest = word.strip_prefix("nosec")?;
        let rest = rest.strip_prefix(':').unwrap_or(rest).trim_start();
        rest.split('#').next()
    })?;
    let mut ids: Vec<&'static str> = mentioned_words(named)
        .filter_map(|word| rules::find_by_mention(word).map(|rule| rule.id))
        .collect();
    ids.dedup();
    Some(ids)
}

/// The words that Bandit reads from the comment. Of a list without blanks (`B101,B102`) it reads
/// only the last word, and so does this, so that a comment has the same effect in both.
fn mentioned_words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(move |c: char| !is_word(c) && c != ',')
        .flat_map(|list| list.split(",,"))
        .filter_map(|list| list.trim_matches(',').rsplit(',').next())
        .filter(|word| !word.is_empty())
}

/// The rules that a `# noqa` comment suppresses, and whether it applies to the whole file.
fn parse_noqa(comment: &str) -> Option<(NoqaSelection, bool)> {
    let at = comment.as_bytes().windows(4).position(|word| word.eq_ignore_ascii_case(b"noqa"))?;
    let before = comment[..at].trim_end();
    let whole_file = before.ends_with("ruff:") || before.ends_with("flake8:");
    if !whole_file && !before.ends_with('#') {
        return None;
    }
    let rest = comment[at + 4..].trim_start();
    let Some(list) = rest.strip_prefix(':') else {
        return Some((NoqaSelection::Everything, whole_file));
    };
    let is_code = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.ends_with(|c: char| c.is_ascii_digit())
    };
    let codes: Vec<String> = list
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|word| !word.is_empty())
        .take_while(is_code)
        .map(str::to_owned)
        .collect();
    let noqa =
        if codes.is_empty() { NoqaSelection::Everything } else { NoqaSelection::Codes(codes) };
    Some((noqa, whole_file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nosec_names_rules_as_bandit_reads_them() {
        assert_eq!(parse_nosec("# nosec"), Some(vec![]));
        assert_eq!(parse_nosec("# nosec: B101, B602 # why"), Some(vec!["B101", "B602"]));
        assert_eq!(parse_nosec("# nosec B101,B602"), Some(vec!["B602"]));
        assert_eq!(parse_nosec("# fine #nosec assert_used"), Some(vec!["B101"]));
        assert_eq!(parse_nosec("# nosec because I say so"), Some(vec![]));
        assert_eq!(parse_nosec("# no secret"), None);
    }

    #[test]
    fn noqa_names_codes_or_everything() {
        assert_eq!(parse_noqa("# noqa"), Some((NoqaSelection::Everything, false)));
        let codes = NoqaSelection::Codes(vec!["F401".into(), "S602".into()]);
        assert_eq!(parse_noqa("# noqa: F401, S602 too old"), Some((codes, false)));
        assert_eq!(parse_noqa("# ruff: noqa"), Some((NoqaSelection::Everything, true)));
        assert_eq!(parse_noqa("# see noqa"), None);
    }
}
