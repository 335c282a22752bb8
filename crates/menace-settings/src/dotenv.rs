//! Reads the text of a `.env` file.
//!
//! Not a crate, because an error must be reported with its line, a `$` in a password must stay a
//! `$`, and parsing must not read the process environment by itself. The dialect is that of
//! Python's `dotenv`, for which existing files were written: lines may begin with `export`, single
//! quotes are literal, double quotes have escapes, both may span lines, a ` #` begins a comment,
//! and `${NAME}` (only with braces, outside of single quotes) is replaced by a variable of the
//! environment or else by an earlier line of the file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::{FileTrust, SettingsError, SettingsErrors};

/// The settings of a `.env` file.
#[derive(Debug, Clone)]
pub struct DotEnvFile {
    pub path: PathBuf,
    pub trust: FileTrust,
    pub(crate) lines: BTreeMap<String, DotEnvLine>,
}

/// One assignment. Its debug form hides the value, which may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DotEnvLine {
    pub(crate) number: usize,
    pub(crate) value: String,
    /// Whether an earlier line set the same name.
    pub(crate) repeated: bool,
    /// The first `${NAME}` that only the environment could replace, in a file that is not trusted.
    pub(crate) withheld_variable: Option<String>,
}

impl fmt::Debug for DotEnvLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.number)
    }
}

impl DotEnvFile {
    /// Reads `text`, the contents of `path`. No variable of the environment enters the values of a
    /// file that is not trusted.
    pub fn parse(
        path: impl Into<PathBuf>,
        text: &str,
        environment: &BTreeMap<String, String>,
        trust: FileTrust,
    ) -> Result<Self, SettingsErrors> {
        let path = path.into();
        let mut lines: BTreeMap<String, DotEnvLine> = BTreeMap::new();
        let mut cursor = DotEnvCursor::new(text.strip_prefix('\u{feff}').unwrap_or(text));
        while cursor.skip_to_assignment() {
            let number = cursor.line;
            let mut withheld_variable = None;
            let assignment = cursor.read_assignment(|name| {
                let earlier = lines.get(name);
                let withheld = match (environment.get(name), trust) {
                    (Some(value), FileTrust::Trusted) => return Some(value.clone()),
                    (Some(_), FileTrust::Untrusted) => Some(name.to_owned()),
                    (None, _) => earlier.and_then(|line| line.withheld_variable.clone()),
                };
                withheld_variable = withheld_variable.take().or(withheld);
                earlier.map(|line| line.value.clone())
            });
            let (name, value) = assignment.map_err(|message| SettingsError::BadDotEnv {
                path: path.clone(),
                line: number,
                message: message.into(),
            })?;
            let repeated = lines.contains_key(&name);
            lines.insert(name, DotEnvLine { number, value, repeated, withheld_variable });
        }
        Ok(Self { path, trust, lines })
    }

    /// The value of a name, if the file sets it.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.lines.get(name).map(|line| line.value.as_str())
    }
}

struct DotEnvCursor<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> DotEnvCursor<'a> {
    fn new(rest: &'a str) -> Self {
        Self { rest, line: 1 }
    }

    /// Moves by `bytes` and counts the lines passed.
    fn advance(&mut self, bytes: usize) -> &'a str {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += passed.matches('\n').count();
        self.rest = rest;
        passed
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        self.advance(self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len()))
    }

    /// Moves to the next line that is neither empty nor a comment.
    fn skip_to_assignment(&mut self) -> bool {
        loop {
            self.skip_while(char::is_whitespace);
            if !self.rest.starts_with('#') {
                return !self.rest.is_empty();
            }
            self.skip_while(|c| c != '\n');
        }
    }

    fn read_assignment(
        &mut self,
        lookup: impl FnMut(&str) -> Option<String>,
    ) -> Result<(String, String), &'static str> {
        if let Some(after) = self.rest.strip_prefix("export")
            && after.starts_with([' ', '\t'])
        {
            self.advance("export".len());
            self.skip_while(is_blank);
        }
        let name = self.skip_while(|c| c.is_ascii_alphanumeric() || c == '_').to_owned();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err("expected `NAME=value` or a comment");
        }
        self.skip_while(is_blank);
        if !self.rest.starts_with('=') {
            return Err("expected `=` after the name");
        }
        self.advance(1);
        self.skip_while(is_blank);
        let value = match self.rest.chars().next() {
            Some('\'') => self.read_quoted('\'')?,
            Some('"') => expand_references(&self.read_quoted('"')?, lookup),
            _ => return Ok((name, expand_references(self.read_unquoted(), lookup))),
        };
        self.skip_while(is_blank);
        if !self.rest.is_empty() && !self.rest.starts_with(['#', '\n', '\r']) {
            return Err("expected nothing but a comment after the closing quote");
        }
        self.skip_while(|c| c != '\n');
        Ok((name, value))
    }

    /// The rest of the line without comment and surrounding blanks.
    fn read_unquoted(&mut self) -> &'a str {
        let line = self.skip_while(|c| c != '\n');
        if line.starts_with('#') {
            return "";
        }
        let comment = line.match_indices('#').find(|(at, _)| line[..*at].ends_with([' ', '\t']));
        comment.map_or(line, |(at, _)| &line[..at]).trim()
    }

    /// The text up to the closing quote, escapes resolved.
    fn read_quoted(&mut self, quote: char) -> Result<String, &'static str> {
        let mut value = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                _ if c == quote => {
                    self.advance(at + 1);
                    return Ok(value);
                }
                '\\' => match chars.next() {
                    Some((_, escaped)) => push_escaped(&mut value, quote, escaped),
                    None => break,
                },
                _ => value.push(c),
            }
        }
        Err("the quote is never closed")
    }
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

/// Single quotes have only the escapes `\\` and `\'`; other backslashes are kept, as in JSON and
/// Windows paths.
fn push_escaped(value: &mut String, quote: char, escaped: char) {
    match escaped {
        '\\' => value.push('\\'),
        _ if escaped == quote => value.push(quote),
        'n' if quote == '"' => value.push('\n'),
        'r' if quote == '"' => value.push('\r'),
        't' if quote == '"' => value.push('\t'),
        _ => value.extend(['\\', escaped]),
    }
}

/// Replaces each `${NAME}` and `${NAME:-otherwise}`; a name that is not set is replaced by nothing.
fn expand_references(text: &str, mut lookup: impl FnMut(&str) -> Option<String>) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let Some((inside, after)) = after.split_once('}') else {
            expanded.push_str("${");
            rest = after;
            continue;
        };
        let (name, otherwise) = inside.split_once(":-").unwrap_or((inside, ""));
        expanded.push_str(&lookup(name).unwrap_or_else(|| otherwise.into()));
        rest = after;
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<DotEnvFile, SettingsErrors> {
        let environment = BTreeMap::from([("HOME".into(), "/home/ada".into())]);
        DotEnvFile::parse(".env", text, &environment, FileTrust::Trusted)
    }

    #[test]
    fn no_variable_of_the_environment_enters_a_file_that_is_not_trusted() {
        let environment = BTreeMap::from([("KEY".into(), "s3cret".into())]);
        let text = "A=x${KEY}\nB=${A}/y\nC=${OWN:-z}\nD=$KEY\n";
        let file = DotEnvFile::parse(".env", text, &environment, FileTrust::Untrusted).unwrap();
        for (name, value, withheld) in
            [("A", "x", true), ("B", "x/y", true), ("C", "z", false), ("D", "$KEY", false)]
        {
            assert_eq!(file.get(name), Some(value), "{name}");
            let expected = withheld.then(|| "KEY".to_owned());
            assert_eq!(file.lines[name].withheld_variable, expected, "{name}");
        }
    }

    #[test]
    fn the_usual_forms_are_understood() {
        let text =
            "# first\nA=1\n export B = two words # why\n\nC='it''' #\nD=\"x\\ny\"\nE=\nF=a#b\n";
        let file = read(&text.replace("'it'''", "'it'")).unwrap();
        for (name, value) in
            [("A", "1"), ("B", "two words"), ("C", "it"), ("D", "x\ny"), ("E", ""), ("F", "a#b")]
        {
            assert_eq!(file.get(name), Some(value), "{name}");
        }
    }

    #[test]
    fn json_needs_no_quotes() {
        let file = read("SANDBOX_ENV_PRESETS=[{\"CPU_LIMIT\": \"1\"}]\r\n").unwrap();
        assert_eq!(file.get("SANDBOX_ENV_PRESETS"), Some("[{\"CPU_LIMIT\": \"1\"}]"));
    }

    #[test]
    fn only_braces_make_a_reference() {
        let file = read("A=pa$$word$1\nB=${A}/x\nC=${HOME}/d\nD='${A}'\nE=${NO:-else}${NO}\nF=${A")
            .unwrap();
        for (name, value) in [
            ("A", "pa$$word$1"),
            ("B", "pa$$word$1/x"),
            ("C", "/home/ada/d"),
            ("D", "${A}"),
            ("E", "else"),
            ("F", "${A"),
        ] {
            assert_eq!(file.get(name), Some(value), "{name}");
        }
    }

    #[test]
    fn quotes_may_span_lines_and_lines_are_still_counted() {
        let file = read("A=\"one\ntwo\"\nB=3").unwrap();
        assert_eq!(file.get("A"), Some("one\ntwo"));
        assert_eq!(file.lines["B"].number, 3);
    }

    #[test]
    fn a_mistake_is_reported_with_its_line() {
        for (text, message) in [
            ("A=1\nB 2\n", ".env: line 2: expected `=` after the name"),
            ("\n\n=2\n", ".env: line 3: expected `NAME=value` or a comment"),
            ("A='x\nB=1", ".env: line 1: the quote is never closed"),
            ("A='x' y", ".env: line 1: expected nothing but a comment after the closing quote"),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn the_last_of_two_lines_counts() {
        let file = read("A=1\nA=2").unwrap();
        assert_eq!(
            file.lines["A"],
            DotEnvLine { number: 2, value: "2".into(), repeated: true, withheld_variable: None }
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = read(&text);
        }

        #[test]
        fn file_like_text_does_not_panic(
            text in "([A-C ]{0,3}[=#'\"$\\{\\}\\\\]{0,3}[a-c\n]{0,2}){0,12}"
        ) {
            let _ = read(&text);
        }

        #[test]
        fn single_quotes_keep_everything(value in "[^'\\\\]{0,20}") {
            let file = read(&format!("A='{value}'")).unwrap();
            prop_assert_eq!(file.get("A"), Some(value.as_str()));
        }
    }
}
