//! What is wrong with something that a user wrote. All of it is told at once.

use std::fmt;

use serde::Serialize;

use menace_settings::{Setting, closest};

/// One problem: where it is, what it is about, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// A file and a place in it: `presets.json[2]`.
    pub at: String,
    pub key: Option<String>,
    pub reason: String,
}

impl Problem {
    pub(crate) fn new(at: &str, reason: impl Into<String>) -> Self {
        Self { at: printable(at), key: None, reason: reason.into() }
    }

    pub(crate) fn of(at: &str, key: &str, reason: impl Into<String>) -> Self {
        Self { key: Some(printable(key)), ..Self::new(at, reason) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{}: {key}: {}", self.at, self.reason),
            None => write!(f, "{}: {}", self.at, self.reason),
        }
    }
}

/// Every problem that was found. Never empty when it is an error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// The value, unless there are problems.
    pub(crate) fn or<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }

    pub(crate) fn add(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// What came out well; what did not is remembered.
    pub(crate) fn keep<T>(&mut self, result: Result<T, Self>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(problems) => {
                self.0.extend(problems.0);
                None
            }
        }
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Problems {}

/// Between backticks, cut to a readable length.
pub(crate) fn quoted(text: &str) -> String {
    String::quote(text)
}

/// `; did you mean …?`, or where to look instead.
pub(crate) fn did_you_mean<'a>(
    typed: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: &str,
) -> String {
    match closest(typed, known) {
        Some(known) => format!("; did you mean `{known}`?"),
        None => format!("; {otherwise}"),
    }
}

/// What a file says cannot drive the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_are_told_a_line_each() {
        let problems = Problems(vec![
            Problem::new("a.json", "expected a list"),
            Problem::of("a.json[1]", "CPU\u{1b}", "unknown key"),
        ]);
        assert_eq!(
            problems.to_string(),
            "a.json: expected a list\na.json[1]: CPU\u{fffd}: unknown key"
        );
    }

    #[test]
    fn a_slip_comes_with_the_right_word() {
        let known = ["CPU_LIMIT", "DISK_LIMIT"];
        assert_eq!(did_you_mean("CPU_LIMTI", known, "see x"), "; did you mean `CPU_LIMIT`?");
        assert_eq!(did_you_mean("COLOUR", known, "see x"), "; see x");
    }
}
