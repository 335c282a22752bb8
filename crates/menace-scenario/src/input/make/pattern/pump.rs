//! Texts for catastrophic backtracking: a pattern nearly matches them in many ways.
//!
//! A repeated part is repeated often, and then comes a character that does not match: an ambiguous
//! pattern tries all ways.

use super::{RegexNode, parse_pattern};

/// Pumps of one pattern; further ones would be variations.
const MAX_PUMPS: usize = 4;
const MAX_PUMP_TEXT_CHARS: usize = 200;
const MAX_MINIMUM_REPEATS: u32 = 50;

/// A repeated part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegexPump {
    /// Text that the pattern needs before the repetition.
    pub before: String,
    /// Text of one repetition.
    pub unit: String,
    /// The repetition contains a choice, so that each repetition may double the work.
    pub is_nested: bool,
}

/// The unbounded repetitions of a pattern, nested ones first.
pub(crate) fn find_pumps(pattern: &str) -> Vec<RegexPump> {
    let Some(tree) = parse_pattern(pattern) else { return Vec::new() };
    let mut found = Vec::new();
    collect_pumps(&tree, "", &mut found);
    found.sort_by_key(|pump| !pump.is_nested);
    found.truncate(MAX_PUMPS);
    found
}

fn collect_pumps(node: &RegexNode, before: &str, found: &mut Vec<RegexPump>) {
    match node {
        RegexNode::Sequence(nodes) => {
            let mut before = before.to_owned();
            for node in nodes {
                collect_pumps(node, &before, found);
                if write_shortest_match(node, 0, &mut before).is_none() {
                    return;
                }
            }
        }
        RegexNode::Alternatives(branches) => {
            for branch in branches {
                collect_pumps(branch, before, found);
            }
        }
        RegexNode::Group(_, inner) => collect_pumps(inner, before, found),
        RegexNode::Repeat { node, max: most, .. } => {
            if most.is_none() {
                let is_nested = has_choice(node);
                for unit in repetition_units(node) {
                    let pump = RegexPump { before: before.to_owned(), unit, is_nested };
                    if !found.contains(&pump) {
                        found.push(pump);
                    }
                }
            }
            collect_pumps(node, before, found);
        }
        RegexNode::Empty
        | RegexNode::Char(_)
        | RegexNode::Class(_)
        | RegexNode::BackReference(_) => {}
    }
}

/// The shortest texts of one repetition: one per branch.
fn repetition_units(node: &RegexNode) -> Vec<String> {
    match node {
        RegexNode::Group(_, inner) => repetition_units(inner),
        RegexNode::Sequence(nodes) if nodes.len() == 1 => repetition_units(&nodes[0]),
        RegexNode::Alternatives(branches) => branches.iter().flat_map(repetition_units).collect(),
        node => {
            let text = |least: u32| {
                let mut text = String::new();
                write_shortest_match(node, least, &mut text)?;
                (!text.is_empty()).then_some(text)
            };
            // An optional part mostly separates repetitions.
            text(0).or_else(|| text(1)).into_iter().collect()
        }
    }
}

/// Can one repetition match in several ways?
fn has_choice(node: &RegexNode) -> bool {
    match node {
        RegexNode::Repeat { node, min: least, max: most } => {
            *most != Some(*least) || has_choice(node)
        }
        RegexNode::Alternatives(branches) => branches.len() > 1,
        RegexNode::Sequence(nodes) => nodes.iter().any(has_choice),
        RegexNode::Group(_, inner) => has_choice(inner),
        RegexNode::Empty
        | RegexNode::Char(_)
        | RegexNode::Class(_)
        | RegexNode::BackReference(_) => false,
    }
}

/// Writes a short match of the node, with at least `at_least` repetitions everywhere.
fn write_shortest_match(node: &RegexNode, at_least: u32, text: &mut String) -> Option<()> {
    if text.len() > MAX_PUMP_TEXT_CHARS {
        return None;
    }
    match node {
        RegexNode::Empty => {}
        RegexNode::Char(char) => text.push(*char),
        RegexNode::Class(ranges) => text.push(ranges.first()?.0),
        RegexNode::Sequence(nodes) => {
            nodes.iter().try_for_each(|node| write_shortest_match(node, at_least, text))?;
        }
        RegexNode::Alternatives(branches) => {
            write_shortest_match(branches.first()?, at_least, text)?;
        }
        RegexNode::Repeat { node, min: least, .. } => {
            let times = (*least).max(at_least);
            if times > MAX_MINIMUM_REPEATS {
                return None;
            }
            (0..times).try_for_each(|_| write_shortest_match(node, at_least, text))?;
        }
        RegexNode::Group(_, inner) => write_shortest_match(inner, at_least, text)?,
        // Groups are not stored.
        RegexNode::BackReference(_) => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Limits the search to one second of CPU time.
    const SEARCH_SCRIPT: &str = "import re, resource, sys\n\
        resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\n\
        re.match(sys.argv[1], sys.argv[2])";

    /// Does the search exceed its CPU time?
    fn search_times_out(pattern: &str) -> bool {
        let pump = find_pumps(pattern).remove(0);
        let text = format!("{}{}!", pump.before, pump.unit.repeat(40));
        let ended = Command::new("python3")
            .args(["-I", "-c", SEARCH_SCRIPT, pattern, &text])
            .status()
            .expect("python3 is needed to test what is made for it");
        // A killed process has no exit code.
        assert!(ended.success() || ended.code().is_none(), "{ended}");
        !ended.success()
    }

    #[test]
    fn python_searches_long_for_what_nearly_matches() {
        for pattern in
            [r"^id=(\w+\s?)*$", r"^\s*(?P<name>[a-z]+[a-z0-9]*)+@example$", r"(ab|a|b)*;"]
        {
            assert!(search_times_out(pattern), "{pattern}: {:?}", find_pumps(pattern));
        }
        assert!(!search_times_out(r"^id=\w+$"));
    }

    #[test]
    fn nested_repetitions_come_first_and_bounded_patterns_have_no_pumps() {
        let found = find_pumps(r"v\d+(-[a-z]+)*\.zip");
        let pump = |before: &str, unit: &str, is_nested| RegexPump {
            before: before.to_owned(),
            unit: unit.to_owned(),
            is_nested,
        };
        assert_eq!(found[0], pump("v0", "-a", true));
        assert!(found.contains(&pump("v", "0", false)), "{found:?}");
        assert_eq!(find_pumps(r"\d{4}-\d\d"), []);
        assert_eq!(find_pumps("(?=a)b+"), []);
    }
}
