//! Text that a regular expression nearly matches, in as many ways as it can be made to try.
//!
//! What is repeated is repeated often, and then comes what fails: a pattern in which one text can
//! be read in several ways goes through all of them.

use super::{Node, read};

/// Of one pattern; more would only be variations.
const MAX_PUMPS: usize = 4;
const MAX_TEXT: usize = 200;
const MAX_LEAST: u32 = 50;

/// A repeated part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pump {
    /// What the pattern wants before it.
    pub before: String,
    /// What it takes, once.
    pub unit: String,
    /// It has a choice inside of the repetition, so that each time may double the work.
    pub is_nested: bool,
}

/// The parts of a pattern that can be repeated at will, the worst first.
pub(crate) fn pumps(pattern: &str) -> Vec<Pump> {
    let Some(tree) = read(pattern) else { return Vec::new() };
    let mut found = Vec::new();
    find(&tree, "", &mut found);
    found.sort_by_key(|pump| !pump.is_nested);
    found.truncate(MAX_PUMPS);
    found
}

fn find(node: &Node, before: &str, found: &mut Vec<Pump>) {
    match node {
        Node::Sequence(nodes) => {
            let mut before = before.to_owned();
            for node in nodes {
                find(node, &before, found);
                if shortest(node, 0, &mut before).is_none() {
                    return;
                }
            }
        }
        Node::Alternatives(branches) => {
            for branch in branches {
                find(branch, before, found);
            }
        }
        Node::Group(_, inner) => find(inner, before, found),
        Node::Repeat { node, most, .. } => {
            if most.is_none() {
                let is_nested = has_choice(node);
                for unit in units(node) {
                    let pump = Pump { before: before.to_owned(), unit, is_nested };
                    if !found.contains(&pump) {
                        found.push(pump);
                    }
                }
            }
            find(node, before, found);
        }
        Node::Empty | Node::Char(_) | Node::Class(_) | Node::Back(_) => {}
    }
}

/// The shortest texts that one repetition takes: of each branch, when there are several.
fn units(node: &Node) -> Vec<String> {
    match node {
        Node::Group(_, inner) => units(inner),
        Node::Sequence(nodes) if nodes.len() == 1 => units(&nodes[0]),
        Node::Alternatives(branches) => branches.iter().flat_map(units).collect(),
        node => {
            let text = |least: u32| {
                let mut text = String::new();
                shortest(node, least, &mut text)?;
                (!text.is_empty()).then_some(text)
            };
            // What may be left out mostly tells one repetition from the next.
            text(0).or_else(|| text(1)).into_iter().collect()
        }
    }
}

/// Can what is repeated be read in more than one way?
fn has_choice(node: &Node) -> bool {
    match node {
        Node::Repeat { node, least, most } => *most != Some(*least) || has_choice(node),
        Node::Alternatives(branches) => branches.len() > 1,
        Node::Sequence(nodes) => nodes.iter().any(has_choice),
        Node::Group(_, inner) => has_choice(inner),
        Node::Empty | Node::Char(_) | Node::Class(_) | Node::Back(_) => false,
    }
}

/// Writes a short text that the node matches, everything in it at least so often.
fn shortest(node: &Node, at_least: u32, text: &mut String) -> Option<()> {
    if text.len() > MAX_TEXT {
        return None;
    }
    match node {
        Node::Empty => {}
        Node::Char(char) => text.push(*char),
        Node::Class(ranges) => text.push(ranges.first()?.0),
        Node::Sequence(nodes) => {
            nodes.iter().try_for_each(|node| shortest(node, at_least, text))?;
        }
        Node::Alternatives(branches) => shortest(branches.first()?, at_least, text)?,
        Node::Repeat { node, least, .. } => {
            let times = (*least).max(at_least);
            if times > MAX_LEAST {
                return None;
            }
            (0..times).try_for_each(|_| shortest(node, at_least, text))?;
        }
        Node::Group(_, inner) => shortest(inner, at_least, text)?,
        // What it refers to is not kept.
        Node::Back(_) => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A second of work, and no more.
    const SEARCH: &str = "import re, resource, sys\n\
        resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\n\
        re.match(sys.argv[1], sys.argv[2])";

    /// Is Python still at it when it may not work any longer?
    fn hangs(pattern: &str) -> bool {
        let pump = pumps(pattern).remove(0);
        let text = format!("{}{}!", pump.before, pump.unit.repeat(40));
        let ended = Command::new("python3")
            .args(["-I", "-c", SEARCH, pattern, &text])
            .status()
            .expect("python3 is needed to test what is made for it");
        // One that was killed has no code.
        assert!(ended.success() || ended.code().is_none(), "{ended}");
        !ended.success()
    }

    #[test]
    fn python_searches_long_for_what_nearly_matches() {
        for pattern in
            [r"^id=(\w+\s?)*$", r"^\s*(?P<name>[a-z]+[a-z0-9]*)+@example$", r"(ab|a|b)*;"]
        {
            assert!(hangs(pattern), "{pattern}: {:?}", pumps(pattern));
        }
        assert!(!hangs(r"^id=\w+$"));
    }

    #[test]
    fn the_worst_comes_first_and_what_has_no_repetition_has_none() {
        let found = pumps(r"v\d+(-[a-z]+)*\.zip");
        let pump = |before: &str, unit: &str, is_nested| Pump {
            before: before.to_owned(),
            unit: unit.to_owned(),
            is_nested,
        };
        assert_eq!(found[0], pump("v0", "-a", true));
        assert!(found.contains(&pump("v", "0", false)), "{found:?}");
        assert_eq!(pumps(r"\d{4}-\d\d"), []);
        assert_eq!(pumps("(?=a)b+"), []);
    }
}
