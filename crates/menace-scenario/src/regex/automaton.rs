//! The position automaton of a pattern: one state for each place where it reads a character.
//!
//! A transition is double when the pattern gets from one place to the other in two ways without
//! reading anything in between, as in `(a*)*`: a backtracking search tries both.

use std::collections::{BTreeMap, HashMap};

use super::alphabet::{Alphabet, ClassSet};
use super::charset::{self, CharSet};
use super::parser::Node;

/// Larger automata are not searched.
const MAX_STATES: usize = 3_000;
const MAX_TRANSITIONS: usize = 60_000;
/// Places for all copies of one counted repetition; more copies are left out.
const MAX_REPEATED_POSITIONS: usize = 200;
/// A repetition up to this count is as good as one without limit.
const MIN_UNLIMITED_COUNT: u32 = 1_000;
/// So many copies of a part with an unlimited repetition are as good as any number.
const MAX_COPIES_OF_LOOP: u32 = 12;

/// The state before anything was read.
pub(super) const START: usize = 0;
/// In an automaton that searches, the state that skips characters.
pub(super) const SKIP: usize = 1;

#[derive(Debug, Clone, PartialEq)]
enum Label {
    /// Of the start state.
    Nothing,
    /// Passed only at the start of the text.
    TextStart,
    /// Passed only at the end of the text.
    TextEnd,
    Chars(CharSet),
}

#[derive(Debug)]
pub(super) struct Transition {
    pub to: usize,
    pub is_double: bool,
}

#[derive(Debug)]
pub(super) struct Automaton {
    pub alphabet: Alphabet,
    /// Per state, the classes of characters that it reads; empty for what reads no character.
    classes: Vec<ClassSet>,
    labels: Vec<Label>,
    next: Vec<Vec<Transition>>,
    accepting: Vec<bool>,
    pub has_skip: bool,
}

impl Automaton {
    /// The automaton of a tree; none if it would be too large.
    pub(super) fn build(tree: &Node, searches: bool, is_bytes: bool) -> Option<Self> {
        let tree = with_readable_start(tree.clone(), searches);
        let mut builder = Builder::default();
        builder.add_state(Label::Nothing)?;
        if searches {
            builder.add_state(Label::Chars(CharSet::all(is_bytes)))?;
        }
        let whole = builder.build(&tree)?;
        let entries = [START, SKIP];
        for state in entries.into_iter().take(1 + usize::from(searches)) {
            if searches {
                builder.add_transition(state, SKIP, 1)?;
            }
            for &(first, ways) in &whole.first {
                builder.add_transition(state, first, ways)?;
            }
        }
        let mut accepting = vec![false; builder.labels.len()];
        for &(last, _) in &whole.last {
            accepting[last] = true;
        }
        if whole.nullable > 0 {
            accepting[START] = true;
        }
        let sets = builder.labels.iter().filter_map(|label| match label {
            Label::Chars(set) => Some(set),
            _ => None,
        });
        let alphabet = Alphabet::new(sets, is_bytes)?;
        let classes = builder.labels.iter().map(|label| match label {
            Label::Chars(set) => alphabet.classes_of(set),
            _ => alphabet.no_classes(),
        });
        let next = builder.next.into_iter().map(|targets| {
            let transition = |(to, ways)| Transition { to, is_double: ways > 1 };
            targets.into_iter().map(transition).collect()
        });
        Some(Self {
            classes: classes.collect(),
            next: next.collect(),
            labels: builder.labels,
            alphabet,
            accepting,
            has_skip: searches,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(super) fn transitions(&self, state: usize) -> &[Transition] {
        &self.next[state]
    }

    pub(super) fn classes(&self, state: usize) -> &ClassSet {
        &self.classes[state]
    }

    pub(super) fn reads_char(&self, state: usize) -> bool {
        matches!(self.labels[state], Label::Chars(_))
    }

    pub(super) fn is_accepting(&self, state: usize) -> bool {
        self.accepting[state]
    }

    /// The states at the start of the text, before a character was read.
    pub(super) fn start_states(&self) -> Vec<usize> {
        self.reach_without_reading(vec![START], &Label::TextStart)
    }

    /// Does one of the states accept at the end of the text?
    pub(super) fn accepts_at_end(&self, states: &[usize]) -> bool {
        let reached = self.reach_without_reading(states.to_vec(), &Label::TextEnd);
        reached.into_iter().any(|state| self.accepting[state])
    }

    fn reach_without_reading(&self, mut states: Vec<usize>, through: &Label) -> Vec<usize> {
        let mut at = 0;
        while let Some(&state) = states.get(at) {
            at += 1;
            for transition in &self.next[state] {
                if self.labels[transition.to] == *through && !states.contains(&transition.to) {
                    states.push(transition.to);
                }
            }
        }
        states
    }

    /// Does it match a part of the text, or its end?
    pub(super) fn matches_part_of(&self, text: &str) -> bool {
        let mut states = self.start_states();
        for char in text.chars().map(u32::from) {
            if states.iter().any(|state| self.accepting[*state]) {
                return true;
            }
            states = self.step_to(&states, |state| match &self.labels[state] {
                Label::Chars(set) => set.contains(char),
                _ => false,
            });
        }
        self.accepts_at_end(&states)
    }

    /// The states after a character of the class, in ascending order.
    pub(super) fn step(&self, states: &[usize], class: usize) -> Vec<usize> {
        self.step_to(states, |state| self.classes[state].contains(class))
    }

    fn step_to(&self, states: &[usize], reads: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut is_reached = vec![false; self.len()];
        for &state in states {
            for transition in &self.next[state] {
                is_reached[transition.to] |= reads(transition.to);
            }
        }
        (0..self.len()).filter(|state| is_reached[*state]).collect()
    }
}

/// A part of the pattern: where it can begin and end, and the numbers of ways to do so.
#[derive(Debug, Clone, Default)]
struct Fragment {
    /// Ways to match nothing, at most 2.
    nullable: u8,
    first: Vec<(usize, u8)>,
    last: Vec<(usize, u8)>,
}

impl Fragment {
    fn empty() -> Self {
        Self { nullable: 1, ..Self::default() }
    }
}

#[derive(Debug, Default)]
struct Builder {
    labels: Vec<Label>,
    next: Vec<BTreeMap<usize, u8>>,
    transition_count: usize,
    /// Positions of one copy, by the address of the part.
    sizes: HashMap<*const Node, usize>,
}

impl Builder {
    fn add_state(&mut self, label: Label) -> Option<usize> {
        self.labels.push(label);
        self.next.push(BTreeMap::new());
        (self.labels.len() <= MAX_STATES).then_some(self.labels.len() - 1)
    }

    fn add_transition(&mut self, from: usize, to: usize, ways: u8) -> Option<()> {
        let known = self.next[from].entry(to).or_insert_with(|| {
            self.transition_count += 1;
            0
        });
        *known = (*known + ways).min(2);
        (self.transition_count <= MAX_TRANSITIONS).then_some(())
    }

    fn connect(&mut self, last: &[(usize, u8)], first: &[(usize, u8)]) -> Option<()> {
        for &(from, ways_out) in last {
            for &(to, ways_in) in first {
                self.add_transition(from, to, ways_out * ways_in)?;
            }
        }
        Some(())
    }

    fn position(&mut self, label: Label) -> Option<Fragment> {
        let state = self.add_state(label)?;
        Some(Fragment { nullable: 0, first: vec![(state, 1)], last: vec![(state, 1)] })
    }

    fn chars(&mut self, set: &CharSet) -> Option<Fragment> {
        if set.is_empty() {
            Some(Fragment::default())
        } else {
            self.position(Label::Chars(set.clone()))
        }
    }

    fn build(&mut self, node: &Node) -> Option<Fragment> {
        match node {
            Node::Chars(set) => self.chars(set),
            Node::TextStart => self.position(Label::TextStart),
            Node::TextEnd => self.position(Label::TextEnd),
            Node::LastLineEnd => {
                let end = self.position(Label::TextEnd)?;
                let line_end = self.chars(&CharSet::from_char(0x0A))?;
                let end_after = self.position(Label::TextEnd)?;
                let both = self.join(line_end, end_after)?;
                Some(either(end, both))
            }
            Node::LineEnd => {
                let end = self.position(Label::TextEnd)?;
                let line_end = self.chars(&CharSet::from_char(0x0A))?;
                Some(either(end, line_end))
            }
            // What is not at the start of the pattern is assumed to hold.
            Node::Empty
            | Node::LineStart
            | Node::WordBoundary { .. }
            | Node::NoWordBoundary
            | Node::LookBehind { .. } => Some(Fragment::empty()),
            Node::LookAhead(inner) => {
                // Its contents are tried, and lead nowhere.
                let tried = self.build(inner)?;
                Some(Fragment { nullable: 1, first: tried.first, last: Vec::new() })
            }
            Node::Sequence(nodes) => {
                let mut whole = Fragment::empty();
                for node in nodes {
                    let part = self.build(node)?;
                    whole = self.join(whole, part)?;
                }
                Some(whole)
            }
            Node::Choice(nodes) => {
                let mut whole = Fragment::default();
                for node in nodes {
                    whole = either(whole, self.build(node)?);
                }
                Some(whole)
            }
            Node::Repeat { inner, min, max } => self.build_repeat(inner, *min, *max),
        }
    }

    fn join(&mut self, one: Fragment, other: Fragment) -> Option<Fragment> {
        self.connect(&one.last, &other.first)?;
        let through = |ends: Vec<(usize, u8)>, nullable: u8| {
            let kept = ends.into_iter().filter(move |_| nullable > 0);
            kept.map(move |(state, ways)| (state, (ways * nullable).min(2)))
        };
        let nullable = (one.nullable * other.nullable).min(2);
        let mut first = one.first;
        first.extend(through(other.first, one.nullable));
        let mut last = other.last;
        last.extend(through(one.last, other.nullable));
        Some(Fragment { nullable, first, last })
    }

    fn build_repeat(&mut self, inner: &Node, min: u32, max: Option<u32>) -> Option<Fragment> {
        let size = self.count_positions(inner).max(1);
        let copies = u32::try_from((MAX_REPEATED_POSITIONS / size).max(1)).unwrap_or(1);
        let is_unlimited = |max: u32| {
            max >= MIN_UNLIMITED_COUNT || has_loop(inner) && max > MAX_COPIES_OF_LOOP.min(copies)
        };
        let max = max.filter(|max| *max == min || !is_unlimited(*max));
        if max == Some(0) {
            return Some(Fragment::empty());
        }
        let required = min.min(copies);
        let mut whole = Fragment::empty();
        let Some(max) = max else {
            for _ in 1..required {
                let part = self.build(inner)?;
                whole = self.join(whole, part)?;
            }
            let repeated = self.build_loop(inner, min == 0)?;
            return self.join(whole, repeated);
        };
        for _ in 0..required {
            let part = self.build(inner)?;
            whole = self.join(whole, part)?;
        }
        let optional = max.min(copies.max(2)).saturating_sub(required);
        // Each further copy needs the one before: `(x(x(x)?)?)?`.
        let mut rest = Fragment::empty();
        for _ in 0..optional {
            let part = self.build(inner)?;
            let both = self.join(part, rest)?;
            rest = either(both, Fragment::empty());
        }
        self.join(whole, rest)
    }

    fn build_loop(&mut self, inner: &Node, is_optional: bool) -> Option<Fragment> {
        let part = self.build(inner)?;
        self.connect(&part.last, &part.first)?;
        // A repetition of nothing ends the loop, and is one more way to match nothing.
        let nullable = part.nullable + u8::from(is_optional || part.nullable > 0);
        Some(Fragment { nullable: nullable.min(2), ..part })
    }

    /// Number of positions that one copy needs.
    fn count_positions(&mut self, node: &Node) -> usize {
        match node {
            Node::Chars(_) | Node::TextStart | Node::TextEnd | Node::LineEnd => 1,
            Node::LastLineEnd => 3,
            Node::Sequence(nodes) | Node::Choice(nodes) => nodes
                .iter()
                .fold(0, |sum: usize, node| sum.saturating_add(self.count_positions(node))),
            Node::LookAhead(inner) => self.count_positions(inner),
            Node::Repeat { inner, min, max } => {
                let address: *const Node = node;
                if let Some(size) = self.sizes.get(&address) {
                    return *size;
                }
                let one = self.count_positions(inner);
                let copies = max.unwrap_or((*min).max(1)) as usize;
                let size = one.saturating_mul(copies).min(MAX_REPEATED_POSITIONS.max(one));
                self.sizes.insert(address, size);
                size
            }
            _ => 0,
        }
    }
}

/// One fragment or the other.
fn either(mut one: Fragment, other: Fragment) -> Fragment {
    one.nullable = (one.nullable + other.nullable).min(2);
    one.first.extend(other.first);
    one.last.extend(other.last);
    one
}

fn has_loop(node: &Node) -> bool {
    match node {
        Node::Repeat { inner, max, .. } => {
            max.is_none_or(|max| max >= MIN_UNLIMITED_COUNT) || has_loop(inner)
        }
        Node::Sequence(nodes) | Node::Choice(nodes) => nodes.iter().any(has_loop),
        Node::LookAhead(inner) => has_loop(inner),
        _ => false,
    }
}

/// Writes what a pattern demands of the text before it as characters that it reads: a search gets
/// past them like past any others.
fn with_readable_start(node: Node, searches: bool) -> Node {
    let preceded_by = |set: CharSet| {
        let mut ways = vec![Node::TextStart];
        ways.extend(searches.then_some(Node::Chars(set)));
        Node::Choice(ways)
    };
    match node {
        Node::LineStart => preceded_by(CharSet::from_char(0x0A)),
        Node::LookBehind { inner, is_negated: false } if searches => *inner,
        Node::LookBehind { inner, is_negated: true } => match *inner {
            Node::Chars(set) => preceded_by(set.complement(false)),
            _ => Node::Empty,
        },
        Node::Sequence(mut nodes) if !nodes.is_empty() => {
            let first = nodes.remove(0);
            let first = match first {
                Node::WordBoundary { word_chars } => {
                    let first = first_chars(&nodes);
                    if first.is_subset(&word_chars) {
                        preceded_by(word_chars.complement(false))
                    } else if first.intersects(&word_chars) || !searches {
                        Node::Empty
                    } else {
                        Node::Chars(word_chars)
                    }
                }
                first => with_readable_start(first, searches),
            };
            nodes.insert(0, first);
            Node::Sequence(nodes)
        }
        Node::Choice(nodes) => {
            let nodes = nodes.into_iter().map(|node| with_readable_start(node, searches));
            Node::Choice(nodes.collect())
        }
        node => node,
    }
}

/// Characters that a sequence can begin with; all of them if it can match nothing.
fn first_chars(nodes: &[Node]) -> CharSet {
    let mut first = CharSet::default();
    for node in nodes {
        let (chars, is_nullable) = first_chars_of(node);
        first = first.union(&chars);
        if !is_nullable {
            return first;
        }
    }
    CharSet::from_ranges([(0, charset::LAST_CODE_POINT)])
}

fn first_chars_of(node: &Node) -> (CharSet, bool) {
    match node {
        Node::Chars(set) => (set.clone(), false),
        Node::Choice(nodes) => nodes
            .iter()
            .map(first_chars_of)
            .fold((CharSet::default(), false), |all, one| (all.0.union(&one.0), all.1 || one.1)),
        Node::Sequence(nodes) => {
            let mut first = CharSet::default();
            for node in nodes {
                let (chars, is_nullable) = first_chars_of(node);
                first = first.union(&chars);
                if !is_nullable {
                    return (first, false);
                }
            }
            (first, true)
        }
        Node::Repeat { inner, min, .. } => {
            let (chars, is_nullable) = first_chars_of(inner);
            (chars, is_nullable || *min == 0)
        }
        _ => (CharSet::default(), true),
    }
}
