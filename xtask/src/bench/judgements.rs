//! Findings that were judged by hand, as lines of
//! `package,section,kind,message-prefix,class,root`.
//!
//! A finding matches by package, section, kind and, where the message names one, the type of the
//! exception. Among several judgements, the one with the longest prefix of its message counts; a
//! named section goes before a pattern. Without such a prefix, all of them have to agree.
//!
//! Judgements with one `root` are about one cause. `-dup` marks those that were not the first to
//! show it; their class is that of the root.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::menace::ReportedFinding;

const HEADER: &str = "package,section,kind,message-prefix,class,root";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JudgedClass {
    /// A maintainer would very likely take it as a bug.
    A,
    /// Defensible robustness.
    B,
    /// Noise.
    C,
    /// The claim is wrong.
    D,
}

#[derive(Debug)]
struct Judgement {
    package: String,
    section: String,
    kind: String,
    message_prefix: String,
    class: JudgedClass,
    is_duplicate: bool,
    root: String,
}

/// The judgement of one finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JudgedFinding {
    pub(super) class: JudgedClass,
    pub(super) is_duplicate: bool,
    pub(super) root: String,
}

impl JudgedFinding {
    pub(super) fn label(&self) -> String {
        let suffix = if self.is_duplicate { "-dup" } else { "" };
        format!("{:?}{suffix}", self.class)
    }
}

#[derive(Debug, Default)]
pub(super) struct JudgementList {
    judgements: Vec<Judgement>,
    /// The class of each root, by package.
    classes: BTreeMap<(String, String), JudgedClass>,
}

impl JudgementList {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut list = Self::default();
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if line.trim().is_empty() || line.starts_with('#') || line == HEADER {
                continue;
            }
            let judgement =
                parse_judgement(line, number).with_context(|| format!("line {number}"))?;
            if !judgement.is_duplicate {
                let key = (judgement.package.clone(), judgement.root.clone());
                let previous = list.classes.insert(key, judgement.class);
                ensure!(
                    previous.is_none_or(|previous| previous == judgement.class),
                    "line {number}: `{}` has two classes",
                    judgement.root
                );
            }
            list.judgements.push(judgement);
        }
        Ok(list)
    }

    pub(super) fn find(&self, package: &str, finding: &ReportedFinding) -> Option<JudgedFinding> {
        let candidates: Vec<_> = self
            .judgements
            .iter()
            .filter(|judgement| judgement.package == package && judgement.is_about(finding))
            .collect();
        let by_message = candidates
            .iter()
            .filter(|judgement| finding.message.starts_with(&judgement.message_prefix))
            .max_by_key(|judgement| (!judgement.is_pattern(), judgement.message_prefix.len()));
        let judgement = by_message.or_else(|| {
            let named = || candidates.iter().filter(|judgement| !judgement.is_pattern());
            let first = named().next()?;
            named().all(|judgement| judgement.root == first.root).then_some(first)
        })?;
        let key = (judgement.package.clone(), judgement.root.clone());
        Some(JudgedFinding {
            class: self.classes.get(&key).copied().unwrap_or(judgement.class),
            is_duplicate: judgement.is_duplicate,
            root: judgement.root.clone(),
        })
    }

    /// Roots of a class, each with the first section that showed it.
    pub(super) fn roots(&self, package: &str, class: JudgedClass) -> BTreeMap<String, &str> {
        self.judgements
            .iter()
            .filter(|judgement| {
                judgement.package == package && judgement.class == class && !judgement.is_duplicate
            })
            .rev()
            .map(|judgement| (judgement.root.clone(), judgement.section.as_str()))
            .collect()
    }
}

impl Judgement {
    fn is_about(&self, finding: &ReportedFinding) -> bool {
        let section = match self.section.strip_suffix('*') {
            Some(prefix) => finding.qualname().starts_with(prefix),
            None => finding.qualname() == self.section || finding.section == self.section,
        };
        let kind = self.kind == "*" || self.kind == finding.kind;
        let exception = exception_of(&self.message_prefix);
        section && kind && exception.is_none_or(|name| finding.exception_type() == Some(name))
    }

    fn is_pattern(&self) -> bool {
        self.section.ends_with('*') || self.kind == "*"
    }
}

/// The type that a message such as `KeyError: 'x'` begins with.
fn exception_of(message: &str) -> Option<&str> {
    let (name, _) = message.split_once(':')?;
    let is_type = name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|character| character.is_ascii_alphanumeric());
    is_type.then_some(name)
}

fn parse_judgement(line: &str, number: usize) -> Result<Judgement> {
    let cells = parse_cells(line)?;
    let [package, section, kind, message_prefix, class, root @ ..] = cells.as_slice() else {
        bail!("expected `{HEADER}`");
    };
    ensure!(root.len() <= 1, "expected `{HEADER}`");
    let (letter, is_duplicate) =
        class.strip_suffix("-dup").map_or((class.as_str(), false), |letter| (letter, true));
    let class = match letter {
        "A" => JudgedClass::A,
        "B" => JudgedClass::B,
        "C" => JudgedClass::C,
        "D" => JudgedClass::D,
        _ => bail!("unknown class `{class}`"),
    };
    let root = root.first().filter(|root| !root.is_empty());
    Ok(Judgement {
        package: package.clone(),
        section: section.clone(),
        kind: kind.clone(),
        message_prefix: message_prefix.clone(),
        class,
        is_duplicate,
        root: root.cloned().unwrap_or_else(|| format!("line {number}")),
    })
}

/// The cells of a line of CSV; quotes are doubled inside of quotes.
fn parse_cells(line: &str) -> Result<Vec<String>> {
    let mut cells = vec![String::new()];
    let mut characters = line.chars().peekable();
    let mut is_quoted = false;
    while let Some(character) = characters.next() {
        let cell = cells.last_mut().expect("there is always a cell");
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            _ => cell.push(character),
        }
    }
    ensure!(!is_quoted, "a quote is not closed");
    Ok(cells)
}

#[cfg(test)]
#[path = "judgements_tests.rs"]
mod tests;
