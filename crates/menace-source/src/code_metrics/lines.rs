//! Line counts as radon's raw analysis defines them, from existing tokens.
//!
//! radon strips every physical line and then joins as few lines as Python's tokenizer accepts: one
//! *unit*, mostly a logical line, a comment or a blank line. The content of a unit determines how
//! its lines count. The same units are found here in one pass over lines and tokens. Text that
//! radon rejects, like a string with a form feed in it, is counted as well.

use menace_model::LineCounts;
use ruff_python_ast::token::{Token, TokenKind, Tokens};
use ruff_text_size::Ranged;

use super::physical_lines;

/// How many tokens an f-string is. Python's tokenizer changed its mind in 3.12.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FStringTokens {
    /// One string token, as up to Python 3.11: alone in its line it is a docstring.
    Whole,
    /// Several tokens, as from Python 3.12: the `:` of a format specification looks like that of a
    /// block.
    Split,
}

pub(super) fn count_lines(source: &str, tokens: &Tokens, f_strings: FStringTokens) -> LineCounts {
    let mut counter = LineCounter::new(f_strings);
    let mut tokens = tokens.iter().peekable();
    for line in physical_lines::split_physical_lines(source) {
        let blank = line.is_blank();
        let started_inside = counter.in_statement;
        let seen = counter.unit.tokens;
        counter.start_line(blank);
        while let Some(token) = tokens.next_if(|token| token.start().to_usize() < line.next_offset)
        {
            counter.add_token(token, line.next_offset);
        }
        let unexplained = !blank && !started_inside && counter.unit.tokens == seen;
        let backslash = unexplained && line.ends_with_backslash();
        if unexplained && !backslash {
            // The rest of a comment that a form feed or the like cuts in two. radon takes it
            // for code.
            counter.unit.add(LineUnitShape::Other);
        }
        counter.end_line(blank, backslash);
    }
    counter.finish()
}

/// The kind of a unit's first token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LineUnitShape {
    #[default]
    Empty,
    Comment,
    /// A string, which may cover several lines.
    Text {
        multiline: bool,
    },
    Other,
}

/// Tokens between semicolons, without comments and line ends.
#[derive(Debug, Clone, Copy, Default)]
struct LogicalSegment {
    tokens: u32,
    /// The number of tokens before the last colon.
    last_colon: Option<u32>,
}

impl LogicalSegment {
    /// The logical lines in it: two when something follows a colon, be it only a slice's.
    ///
    /// radon looks for the colon in the last place but one, which it expects to be that before
    /// the end marker. A segment that ends with a semicolon has no marker, so there it is the
    /// place before the last token: `if a: b; c` counts two, `if a: b(); c` three.
    fn logical_lines(self, has_end_marker: bool) -> u32 {
        match self.last_colon {
            Some(colon) if colon + 2 == self.tokens + u32::from(has_end_marker) => 1,
            Some(_) => 2,
            None => u32::from(self.tokens > 0),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct LineUnit {
    full_lines: u32,
    blank_lines: u32,
    /// Tokens, comments included, line ends not.
    tokens: u32,
    shape: LineUnitShape,
    segment: LogicalSegment,
}

impl LineUnit {
    fn add(&mut self, shape: LineUnitShape) {
        if self.tokens == 0 {
            self.shape = shape;
        }
        self.tokens += 1;
        if shape != LineUnitShape::Comment {
            self.segment.tokens += 1;
        }
    }
}

#[derive(Debug)]
struct LineCounter {
    lines: LineCounts,
    unit: LineUnit,
    f_strings: FStringTokens,
    f_string_depth: u32,
    /// Number of the current line within the unit.
    row: u32,
    /// The row on which the current f-string began.
    f_string_row: u32,
    /// Inside a logical line: a token of it was seen, its end was not.
    in_statement: bool,
    /// The unit began on an earlier line.
    is_unit_open: bool,
    /// Whether the next line belongs to the unit, too: Python's tokenizer requires that after a
    /// backslash before a blank line.
    needs_next_line: bool,
}

impl LineCounter {
    fn new(f_strings: FStringTokens) -> Self {
        Self {
            lines: LineCounts::default(),
            unit: LineUnit::default(),
            f_strings,
            f_string_depth: 0,
            row: 0,
            f_string_row: 0,
            in_statement: false,
            is_unit_open: false,
            needs_next_line: false,
        }
    }

    fn start_line(&mut self, blank: bool) {
        if blank {
            self.unit.blank_lines += 1;
        } else {
            self.unit.full_lines += 1;
        }
    }

    fn add_token(&mut self, token: &Token, next_line: usize) {
        if self.f_strings == FStringTokens::Whole && self.is_within_f_string(token.kind()) {
            return;
        }
        match token.kind() {
            TokenKind::Newline => self.in_statement = false,
            TokenKind::NonLogicalNewline
            | TokenKind::Indent
            | TokenKind::Dedent
            | TokenKind::EndOfFile => {}
            TokenKind::Comment => {
                self.lines.comments += 1;
                self.unit.add(LineUnitShape::Comment);
            }
            TokenKind::String => {
                let multiline = token.end().to_usize() > next_line;
                self.add_statement_token(LineUnitShape::Text { multiline });
            }
            TokenKind::Semi => {
                self.lines.lloc += self.unit.segment.logical_lines(false);
                self.add_statement_token(LineUnitShape::Other);
                self.unit.segment = LogicalSegment::default();
            }
            TokenKind::Colon => {
                self.unit.segment.last_colon = Some(self.unit.segment.tokens);
                self.add_statement_token(LineUnitShape::Other);
            }
            _ => self.add_statement_token(LineUnitShape::Other),
        }
    }

    fn add_statement_token(&mut self, shape: LineUnitShape) {
        self.in_statement = true;
        self.unit.add(shape);
    }

    /// Replaces the tokens of an f-string by a single string.
    fn is_within_f_string(&mut self, kind: TokenKind) -> bool {
        match kind {
            TokenKind::FStringStart | TokenKind::TStringStart => {
                if self.f_string_depth == 0 {
                    self.f_string_row = self.row;
                    self.add_statement_token(LineUnitShape::Text { multiline: false });
                }
                self.f_string_depth += 1;
                true
            }
            TokenKind::FStringEnd | TokenKind::TStringEnd => {
                self.f_string_depth = self.f_string_depth.saturating_sub(1);
                if self.unit.tokens == 1 && self.f_string_row != self.row {
                    self.unit.shape = LineUnitShape::Text { multiline: true };
                }
                true
            }
            // An f-string that is never closed must not swallow the rest of a broken file.
            TokenKind::Newline => {
                self.f_string_depth = 0;
                false
            }
            _ => self.f_string_depth > 0,
        }
    }

    fn end_line(&mut self, blank: bool, backslash: bool) {
        let ended_by_blank = blank && self.is_unit_open && !self.in_statement;
        let wants_line = ended_by_blank && !self.needs_next_line;
        self.is_unit_open = self.in_statement || backslash || wants_line;
        self.needs_next_line = wants_line;
        self.row += 1;
        if !self.is_unit_open {
            self.end_unit();
        }
    }

    fn end_unit(&mut self) {
        let unit = std::mem::take(&mut self.unit);
        self.row = 0;
        self.lines.lloc += unit.segment.logical_lines(true);
        match unit.shape {
            // radon counts one line, however many backslashes lead to the token.
            LineUnitShape::Comment | LineUnitShape::Text { multiline: false }
                if unit.tokens == 1 =>
            {
                self.lines.single_comments += 1;
                return;
            }
            LineUnitShape::Text { multiline: true } if unit.tokens == 1 => {
                self.lines.multi += unit.full_lines;
            }
            _ => self.lines.sloc += unit.full_lines,
        }
        self.lines.blank += unit.blank_lines;
    }

    fn finish(mut self) -> LineCounts {
        if self.is_unit_open {
            self.end_unit();
        }
        let lines = &mut self.lines;
        lines.loc = lines.sloc + lines.blank + lines.multi + lines.single_comments;
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use ruff_python_parser::parse_module;

    use super::{FStringTokens, count_lines};

    fn count_as(source: &str, f_strings: FStringTokens) -> [u32; 7] {
        let parsed = parse_module(source).expect("the test's source is valid Python");
        let lines = count_lines(source, parsed.tokens(), f_strings);
        [
            lines.loc,
            lines.lloc,
            lines.sloc,
            lines.comments,
            lines.multi,
            lines.blank,
            lines.single_comments,
        ]
    }

    /// loc, lloc, sloc, comments, multi, blank, single comments; all as radon has them.
    fn lines(source: &str) -> [u32; 7] {
        count_as(source, FStringTokens::Whole)
    }

    fn logical(source: &str) -> u32 {
        lines(source)[1]
    }

    #[test]
    fn every_kind_of_line_counts_once() {
        assert_eq!(lines("# a\n\nb = 1  # c\n\"\"\"d\n\ne\"\"\"\n'f'\n"), [7, 3, 1, 2, 2, 2, 2]);
        assert_eq!(lines(""), [0; 7]);
        assert_eq!(lines("a"), [1, 1, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn lines_inside_brackets_count_one_by_one() {
        assert_eq!(lines("a = [\n    # b\n\n    1,\n]\n"), [5, 1, 4, 1, 0, 1, 0]);
    }

    #[test]
    fn only_a_string_alone_is_a_docstring() {
        assert_eq!(lines("'''a\nb'''  # c\n"), [2, 1, 2, 1, 0, 0, 0]);
        assert_eq!(lines("'a' 'b'\n"), [1, 1, 1, 0, 0, 0, 0]);
        assert_eq!(lines("'a';\n"), [1, 1, 1, 0, 0, 0, 0]);
        assert_eq!(lines("'a\\\nb'\n"), [2, 1, 0, 0, 2, 0, 0]);
        assert_eq!(lines("b'''a\n'''\n"), [2, 1, 0, 0, 2, 0, 0]);
    }

    #[test]
    fn what_follows_a_colon_is_a_logical_line() {
        assert_eq!(logical("if a:\n    b\n"), 2);
        assert_eq!(logical("if a: b\n"), 2);
        assert_eq!(logical("if a:  # b\n    c\n"), 2);
    }

    #[test]
    fn any_colon_looks_like_a_blocks() {
        assert_eq!(logical("a[1:]\n"), 2);
        assert_eq!(logical("a = {1: 2}\n"), 2);
        assert_eq!(logical("a: int = 1\n"), 2);
        assert_eq!(logical("f(lambda: 0)\n"), 2);
        assert_eq!(logical("if a[1:]:\n    b\n"), 2);
        assert_eq!(logical("(a := 1)\n"), 1);
    }

    #[test]
    fn before_a_semicolon_one_token_after_the_colon_goes_unseen() {
        assert_eq!(logical("if a: b; c\n"), 2);
        assert_eq!(logical("if a: b(); c\n"), 3);
        assert_eq!(logical("a; b;\n"), 2);
        assert_eq!(logical("a = 1; b = 2  # c\n"), 2);
    }

    #[test]
    fn f_strings_are_strings_or_their_parts() {
        assert_eq!(count_as("f'{a:b}'\n", FStringTokens::Whole), [1, 1, 0, 0, 0, 0, 1]);
        assert_eq!(count_as("f'{a:b}'\n", FStringTokens::Split), [1, 2, 1, 0, 0, 0, 0]);
        assert_eq!(count_as("f'''{a}\n\n'''\n", FStringTokens::Whole), [3, 1, 0, 0, 2, 1, 0]);
        assert_eq!(count_as("f'''{a}\n\n'''\n", FStringTokens::Split), [3, 1, 2, 0, 0, 1, 0]);
        assert_eq!(count_as("a = f'{f\"{b:c}\"}'\n", FStringTokens::Whole), [1, 1, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn a_backslash_before_a_blank_line_swallows_the_next_line() {
        assert_eq!(lines("a = 1 \\\n    + 2\n"), [2, 1, 2, 0, 0, 0, 0]);
        assert_eq!(lines("a = 1 \\\n\nb = 2\nc\n"), [4, 2, 3, 0, 0, 1, 0]);
        assert_eq!(lines("a = 1 \\\n\n\nb = 2\n"), [4, 2, 2, 0, 0, 2, 0]);
        assert_eq!(lines("a = 1 \\\n\n# b\nc\n"), [4, 2, 3, 1, 0, 1, 0]);
        assert_eq!(lines("\\\na = 1\n"), [2, 1, 2, 0, 0, 0, 0]);
        // The docstring counts as one line, the backslash before it as none.
        assert_eq!(lines("\\\n'a'\n"), [1, 1, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn a_form_feed_ends_a_line() {
        assert_eq!(lines("a\n\x0c\nb\n"), [4, 2, 2, 0, 0, 2, 0]);
        assert_eq!(lines("a\n\x0cb\n"), [3, 2, 2, 0, 0, 1, 0]);
        assert_eq!(lines("# a\x0cb\n"), [2, 1, 1, 1, 0, 0, 1]);
        assert_eq!(lines("'''a\x0cb'''\n"), [2, 1, 0, 0, 2, 0, 0]);
    }

    #[test]
    fn line_ends_of_any_system_count_alike() {
        let source = "a = [\n1]\n\n'''b\nc'''\n# d\n";
        assert_eq!(lines(source), lines(&source.replace('\n', "\r\n")));
        assert_eq!(lines(source), lines(&source.replace('\n', "\r")));
    }
}
