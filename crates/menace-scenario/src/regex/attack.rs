//! Texts for the ambiguous words of a pattern: how a search gets to the word, and what makes it
//! fail after many repetitions.

use std::collections::HashSet;

use super::ambiguity::{AmbiguousWord, PrefixTree, find_ambiguous_words, shortest_rest};
use super::automaton::{Automaton, SKIP};
use super::parser::Node;
use super::{AttackGrowth, AttackText};

/// Attacks of one pattern; further ones would be variations.
const MAX_ATTACKS: usize = 6;
/// Words whose texts are built.
const MAX_BUILT_WORDS: usize = 16;
/// Alternatives of the whole pattern that are looked at one by one; the others in groups.
const MAX_ALTERNATIVES: usize = 16;
const MAX_PREFIX_CHARS: usize = 300;
const MAX_PUMP_CHARS: usize = 60;
/// Repetitions that are simulated, unless fewer reach all that more would reach.
const MAX_SIMULATED_REPEATS: usize = 24;
const MAX_SUFFIX_CHARS: usize = 3;
const MAX_TRIED_SUFFIXES: usize = 600;

/// Steps of all searches in one pattern.
const MAX_STEPS: usize = 2_000_000;

/// An attack, and whether nothing else in the pattern can match its text.
#[derive(Debug)]
struct RankedAttack {
    attack: AttackText,
    is_certain_to_fail: bool,
    /// The suffix begins with what the pattern would need to match.
    nearly_matches: bool,
}

/// The attacks on a pattern, the most promising first.
pub(super) fn find_attacks(tree: &Node, searches: bool, is_bytes: bool) -> Vec<AttackText> {
    let mut ranked: Vec<RankedAttack> = Vec::new();
    let alternatives = split_alternatives(tree);
    let steps = MAX_STEPS / alternatives.len().max(1);
    for alternative in &alternatives {
        let Some(automaton) = Automaton::build(alternative, searches, is_bytes) else { continue };
        ranked.extend(attacks_of(&automaton, steps));
    }
    if alternatives.len() > 1
        && let Some(whole) = Automaton::build(tree, searches, is_bytes)
    {
        ranked.retain_mut(|one| evade_other_alternatives(&whole, one));
    }
    ranked.sort_by_key(|one| {
        let attack = &one.attack;
        let degree = match attack.growth {
            AttackGrowth::Exponential => u32::MAX,
            AttackGrowth::Polynomial { degree } => degree,
        };
        let length = attack.prefix.len() + attack.pump.len();
        (!one.is_certain_to_fail, std::cmp::Reverse(degree), one.nearly_matches, length)
    });
    let mut seen = HashSet::new();
    let attacks = ranked.into_iter().map(|one| one.attack);
    let mut attacks: Vec<AttackText> = attacks.filter(|one| seen.insert(one.clone())).collect();
    attacks.truncate(MAX_ATTACKS);
    attacks
}

/// Is the text a failing one for the whole pattern, if need be after a character that it is not
/// matched with? An exponential search of one alternative comes before others match.
fn evade_other_alternatives(whole: &Automaton, ranked: &mut RankedAttack) -> bool {
    let attack = &mut ranked.attack;
    let is_matched = |prefix: &str, attack: &AttackText| {
        let pumps = attack.pump.repeat(MAX_SIMULATED_REPEATS / 4);
        whole.matches_part_of(&format!("{prefix}{pumps}{}", attack.suffix))
    };
    if !is_matched(&attack.prefix, attack) {
        return true;
    }
    let other_prefix = format!("{}{}", attack.suffix, attack.prefix);
    if whole.has_skip && !is_matched(&other_prefix, attack) {
        attack.prefix = other_prefix;
        return true;
    }
    ranked.is_certain_to_fail = false;
    attack.growth == AttackGrowth::Exponential
}

/// The alternatives of the whole pattern: a search exhausts one before it tries the next.
fn split_alternatives(tree: &Node) -> Vec<Node> {
    let Node::Choice(nodes) = tree else { return vec![tree.clone()] };
    let size = nodes.len().div_ceil(MAX_ALTERNATIVES).max(1);
    nodes.chunks(size).map(|nodes| Node::Choice(nodes.to_vec())).collect()
}

fn attacks_of(automaton: &Automaton, steps: usize) -> Vec<RankedAttack> {
    let mut words = find_ambiguous_words(automaton, steps);
    words.sort_by_key(|word| (std::cmp::Reverse(word.degree.unwrap_or(u32::MAX)), word.word.len()));
    words.truncate(MAX_BUILT_WORDS);
    let prefixes = PrefixTree::new(automaton);
    words.iter().flat_map(|word| build_attacks(automaton, word, &prefixes)).collect()
}

/// The attack with the shortest suffix, and one that also has what a match would need after the
/// loops: a caller may look for it before it searches.
fn build_attacks(
    automaton: &Automaton,
    word: &AmbiguousWord,
    prefixes: &PrefixTree,
) -> Vec<RankedAttack> {
    let Some((attack, states)) = build_attack(automaton, word, prefixes) else { return Vec::new() };
    let mut attacks = vec![attack];
    let rest = shortest_rest(automaton, word.last).filter(|rest| !rest.is_empty());
    if let (Some(mut states), Some(mut rest)) = (states, rest) {
        for class in &rest {
            states = automaton.step(&states, *class);
            if is_accepting(automaton, &states) {
                return attacks;
            }
        }
        if let Some(suffix) = find_suffix(automaton, &states) {
            rest.extend(suffix);
            let suffix = rest.iter().map(|class| automaton.alphabet.example(*class)).collect();
            let attack = AttackText { suffix, ..attacks[0].attack.clone() };
            attacks.push(RankedAttack { attack, is_certain_to_fail: true, nearly_matches: true });
        }
    }
    attacks
}

/// The attack and, if it is certain to fail, the states after its repetitions.
fn build_attack(
    automaton: &Automaton,
    word: &AmbiguousWord,
    prefixes: &PrefixTree,
) -> Option<(RankedAttack, Option<Vec<usize>>)> {
    let is_skip = automaton.has_skip && word.state == SKIP;
    let prefix = if is_skip { Vec::new() } else { prefixes.prefix_of(automaton, word.state)? };
    if prefix.len() > MAX_PREFIX_CHARS || word.word.len() > MAX_PUMP_CHARS {
        return None;
    }
    let mut states = automaton.start_states();
    let mut accepts_early = is_accepting(automaton, &states);
    for class in &prefix {
        states = automaton.step(&states, *class);
        accepts_early |= is_accepting(automaton, &states);
    }
    let repeated = repeat_word(automaton, states, &word.word).filter(|_| !accepts_early);
    let certain_suffix = repeated.as_ref().and_then(|states| find_suffix(automaton, states));
    let is_certain_to_fail = certain_suffix.is_some();
    let suffix = match certain_suffix {
        Some(suffix) => suffix,
        // Another branch matches, which is tried after all ways of this one.
        None if word.degree.is_none() => suffix_of_loop(automaton, word)?,
        None => return None,
    };
    let text = |classes: &[usize]| -> String {
        classes.iter().map(|class| automaton.alphabet.example(*class)).collect()
    };
    let growth = match word.degree {
        None => AttackGrowth::Exponential,
        Some(degree) => AttackGrowth::Polynomial { degree },
    };
    let attack =
        AttackText { prefix: text(&prefix), pump: text(&word.word), suffix: text(&suffix), growth };
    let repeated = repeated.filter(|_| is_certain_to_fail);
    Some((RankedAttack { attack, is_certain_to_fail, nearly_matches: false }, repeated))
}

/// A text after which nothing that the repeated word leads to can accept.
fn suffix_of_loop(automaton: &Automaton, word: &AmbiguousWord) -> Option<Vec<usize>> {
    let states = repeat_word(automaton, vec![word.state], &word.word)?;
    find_suffix(automaton, &states)
}

/// The states after many repetitions of the word; none if one of them accepts on the way.
fn repeat_word(
    automaton: &Automaton,
    mut states: Vec<usize>,
    word: &[usize],
) -> Option<Vec<usize>> {
    for _ in 0..MAX_SIMULATED_REPEATS {
        let before = states.clone();
        for class in word {
            if is_accepting(automaton, &states) {
                return None;
            }
            states = automaton.step(&states, *class);
        }
        if states == before {
            break;
        }
    }
    (!is_accepting(automaton, &states)).then_some(states)
}

fn is_accepting(automaton: &Automaton, states: &[usize]) -> bool {
    states.iter().any(|state| automaton.is_accepting(*state))
}

/// A short text after which none of the states can accept; best one that leaves no states.
fn find_suffix(automaton: &Automaton, states: &[usize]) -> Option<Vec<usize>> {
    let mut level: Vec<(Vec<usize>, Vec<usize>)> = vec![(Vec::new(), states.to_vec())];
    let mut tried = 0;
    for _ in 0..MAX_SUFFIX_CHARS {
        let mut next_level = Vec::new();
        let mut best: Option<(usize, Vec<usize>)> = None;
        for (suffix, states) in &level {
            for class in 0..automaton.alphabet.len() {
                tried += 1;
                if tried > MAX_TRIED_SUFFIXES && best.is_none() {
                    return None;
                }
                let reached = automaton.step(states, class);
                if is_accepting(automaton, &reached) {
                    continue;
                }
                let suffix: Vec<usize> = suffix.iter().copied().chain([class]).collect();
                if !automaton.accepts_at_end(&reached)
                    && best.as_ref().is_none_or(|best| reached.len() < best.0)
                {
                    best = Some((reached.len(), suffix.clone()));
                }
                next_level.push((suffix, reached));
            }
        }
        if let Some((_, suffix)) = best {
            return Some(suffix);
        }
        if !automaton.accepts_at_end(states) && level.len() == 1 {
            return Some(Vec::new());
        }
        level = next_level;
    }
    None
}
