//! The examples in docstrings as a module that can be walked.

use ruff_source_file::LineIndex;

use crate::parse;

/// The code after the prompts of a docstring; `None` without examples.
///
/// An example whose output is a traceback is put into a `with raises()`, as in a test. An example
/// that does not parse is left out.
pub(super) fn extract_examples(docstring: &str) -> Option<String> {
    let mut code = String::new();
    let mut lines = docstring.lines().map(str::trim_start).peekable();
    while let Some(line) = lines.next() {
        let Some(first) = strip_prompt(line, ">>>") else { continue };
        let mut example = format!("{first}\n");
        while let Some(more) = lines.peek().and_then(|line| strip_prompt(line, "...")) {
            example.push_str(more);
            example.push('\n');
            lines.next();
        }
        if parse::parse(&example, &LineIndex::from_source_text(&example)).is_err() {
            continue;
        }
        if lines.peek().is_some_and(|output| output.starts_with("Traceback (")) {
            code.push_str("with raises():\n");
            code.extend(example.lines().map(|line| format!("    {line}\n")));
        } else {
            code.push_str(&example);
        }
    }
    (!code.is_empty()).then_some(code)
}

fn strip_prompt<'d>(line: &'d str, prompt: &str) -> Option<&'d str> {
    let rest = line.strip_prefix(prompt)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(' ') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_joined_and_output_is_left_out() {
        let text =
            "Adds.\n\n    >>> for a in b:\n    ...     add(a)\n    ...\n    3\n    >>> add(2)\n";
        assert_eq!(extract_examples(text).unwrap(), "for a in b:\n    add(a)\n\nadd(2)\n");
        assert_eq!(extract_examples("No prompt: >>> 1"), None);
    }

    #[test]
    fn an_example_that_fails_is_expected_to() {
        let text =
            ">>> add('x')\nTraceback (most recent call last):\n  ...\nTypeError: no\n>>> add(1)\n";
        assert_eq!(extract_examples(text).unwrap(), "with raises():\n    add('x')\nadd(1)\n");
    }

    #[test]
    fn what_does_not_parse_costs_only_itself() {
        assert_eq!(extract_examples(">>> add(\n>>> add(1)\n").unwrap(), "add(1)\n");
    }
}
