//! Types of parameters in docstrings: reStructuredText, Epytext, Google's and numpy's styles.

use std::collections::BTreeMap;

use ruff_python_ast::Stmt;

/// Fields that describe a parameter, of which `:param int x:` may hold a type.
const DOCSTRING_PARAM_FIELDS: &[&str] =
    &["param", "parameter", "arg", "argument", "key", "keyword", "kwarg", "kwparam"];

/// Headings of lists of parameters.
const PARAM_LIST_HEADINGS: &[&str] = &[
    "args",
    "arguments",
    "parameters",
    "params",
    "keyword args",
    "keyword arguments",
    "keyword parameters",
    "other parameters",
    "other args",
    "other arguments",
];

pub(super) fn find_docstring(body: &[Stmt]) -> Option<&str> {
    let statement = body.first()?.as_expr_stmt()?;
    statement.value.as_string_literal_expr().map(|string| string.value.to_str())
}

/// The type of each parameter according to a docstring; the first mention counts.
pub(super) fn parse_types(docstring: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let lines: Vec<&str> = docstring.lines().collect();
    let mut add = |name: &str, kind: &str| {
        let (name, kind) = (name.trim().trim_start_matches(['*', '\\']), kind.trim());
        if is_name(name) && !kind.is_empty() {
            found.entry(name.to_owned()).or_insert_with(|| kind.to_owned());
        }
    };
    for line in &lines {
        if let Some((name, kind)) = parse_field(line) {
            add(name, kind);
        }
    }
    let mut at = 0;
    while at < lines.len() {
        let heading = lines[at].trim();
        let plain = heading.trim_end_matches(':').to_lowercase();
        at += 1;
        if !PARAM_LIST_HEADINGS.contains(&plain.as_str()) {
            continue;
        }
        let underlined = lines.get(at).is_some_and(|line| {
            let line = line.trim();
            line.len() >= 3 && line.bytes().all(|byte| byte == b'-')
        });
        let heading_indent = indentation(lines[at - 1]);
        let list = &lines[at + usize::from(underlined)..];
        if underlined {
            parse_numpy_list(list, heading_indent, &mut add);
        } else if heading.ends_with(':') {
            parse_google_list(list, heading_indent, &mut add);
        }
    }
    found
}

/// `:param int x: …`, `:type x: int`, and the same with `@`.
fn parse_field(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (head, rest) = line.strip_prefix([':', '@'])?.split_once(':')?;
    let (field, argument) = head.trim().split_once(char::is_whitespace)?;
    let argument = argument.trim();
    if field == "type" {
        return Some((argument, rest));
    }
    DOCSTRING_PARAM_FIELDS.contains(&field).then_some(())?;
    let (kind, name) = argument.rsplit_once(char::is_whitespace)?;
    Some((name, kind))
}

/// `name (type): description`, indented below its heading.
fn parse_google_list<'d>(
    lines: &[&'d str],
    heading_indent: usize,
    add: &mut impl FnMut(&'d str, &'d str),
) {
    let mut items = None;
    for line in lines {
        if line.trim().is_empty() {
            continue;
        }
        let indent = indentation(line);
        if indent <= heading_indent {
            return;
        }
        // A deeper indentation continues the description.
        if indent > *items.get_or_insert(indent) {
            continue;
        }
        let Some((name, rest)) = line.trim().split_once('(') else { continue };
        if let Some(kind) = bracketed_type(rest) {
            add(name, kind);
        }
    }
}

/// The text before the closing bracket, if a colon follows it.
fn bracketed_type(rest: &str) -> Option<&str> {
    let mut depth = 1_usize;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return rest[at + 1..].trim_start().starts_with(':').then(|| &rest[..at]);
        }
    }
    None
}

/// `name : type` or `a, b : type`, at the depth of its heading.
fn parse_numpy_list<'d>(lines: &[&'d str], indent: usize, add: &mut impl FnMut(&'d str, &'d str)) {
    for (index, line) in lines.iter().enumerate() {
        if line.trim().is_empty() || indentation(line) > indent {
            continue;
        }
        let next = lines.get(index + 1).map_or("", |next| next.trim());
        let is_heading = next.len() >= 3 && next.bytes().all(|byte| byte == b'-');
        if is_heading || indentation(line) < indent {
            return;
        }
        if let Some((names, kind)) = line.split_once(" :").or_else(|| line.split_once(": ")) {
            for name in names.split(',') {
                add(name, kind);
            }
        }
    }
}

/// The indentation of the first line does not show in a docstring; it counts as none.
fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|char| char.is_alphanumeric() || char == '_')
}
