//! Words that an automaton can read in a number of ways that grows with their repetition.
//!
//! Exponential: from a state back to itself in two ways. Polynomial: a loop over the word, from
//! which the same word leads on to another loop over it. Every search is bounded by a number of
//! steps; what is not found until then is left out.

use std::collections::{HashMap, HashSet, VecDeque};

use super::automaton::{Automaton, SKIP};

/// Visited triples for one pair of loops.
const MAX_TRIPLES: usize = 2_000;
const MAX_WORDS_PER_COMPONENT: usize = 3;
/// States of a loop that a search begins from.
const MAX_LOOP_ENTRIES: usize = 4;

/// A word whose repetition makes a search slow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AmbiguousWord {
    /// The state at which the repetition begins.
    pub state: usize,
    /// Classes of characters.
    pub word: Vec<usize>,
    /// Number of loops in a row; none if the number of ways is exponential.
    pub degree: Option<u32>,
    /// A state of the last loop.
    pub last: usize,
}

/// The parts of an automaton in which every state leads to every other.
#[derive(Debug)]
struct Components {
    /// Component of each state. A transition never leads to a component with a higher number.
    of_state: Vec<usize>,
    members: Vec<Vec<usize>>,
    has_loop: Vec<bool>,
}

/// The ambiguous words that so many steps find.
pub(super) fn find_ambiguous_words(automaton: &Automaton, max_steps: usize) -> Vec<AmbiguousWord> {
    let next = |state: usize| {
        let transitions = automaton.transitions(state).iter().map(|one| one.to);
        transitions.filter(|to| automaton.reads_char(*to)).collect::<Vec<_>>()
    };
    let roots: Vec<usize> = automaton.start_states();
    let components = Components::new(automaton.len(), &roots, next);
    let mut search = Search { automaton, components, steps: 0, max_steps };
    let mut words = Vec::new();
    for component in 0..search.components.members.len() {
        if search.components.has_loop[component] {
            words.extend(search.exponential_words(component));
        }
    }
    words.extend(search.polynomial_words());
    words
}

impl Components {
    /// The components of the states that the roots lead to (Tarjan's algorithm, without recursion).
    fn new(len: usize, roots: &[usize], next: impl Fn(usize) -> Vec<usize>) -> Self {
        const UNSEEN: usize = usize::MAX;
        let mut index = vec![UNSEEN; len];
        let mut low = vec![0; len];
        let mut of_state = vec![UNSEEN; len];
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut has_loop = Vec::new();
        let mut waiting: Vec<usize> = Vec::new();
        let mut count = 0;
        for &root in roots {
            if index[root] != UNSEEN {
                continue;
            }
            let mut frames = vec![(root, next(root), 0)];
            index[root] = count;
            low[root] = count;
            count += 1;
            waiting.push(root);
            while let Some((state, targets, at)) = frames.last_mut() {
                let state = *state;
                if let Some(&target) = targets.get(*at) {
                    *at += 1;
                    if index[target] == UNSEEN {
                        index[target] = count;
                        low[target] = count;
                        count += 1;
                        waiting.push(target);
                        frames.push((target, next(target), 0));
                    } else if of_state[target] == UNSEEN {
                        low[state] = low[state].min(index[target]);
                    }
                    continue;
                }
                if low[state] == index[state] {
                    let start = waiting.iter().rposition(|one| *one == state).unwrap_or(0);
                    let mut states = waiting.split_off(start);
                    states.sort_unstable();
                    for one in &states {
                        of_state[*one] = members.len();
                    }
                    has_loop.push(states.len() > 1 || targets.contains(&state));
                    members.push(states);
                }
                frames.pop();
                if let Some((parent, ..)) = frames.last() {
                    low[*parent] = low[*parent].min(low[state]);
                }
            }
        }
        Self { of_state, members, has_loop }
    }
}

struct Search<'a> {
    automaton: &'a Automaton,
    components: Components,
    steps: usize,
    max_steps: usize,
}

impl Search<'_> {
    fn is_exhausted(&self) -> bool {
        self.steps > self.max_steps
    }

    fn first_class(&self, one: usize, other: usize) -> Option<usize> {
        let (one, other) = (self.automaton.classes(one), self.automaton.classes(other));
        one.intersection(other).iter().next()
    }

    fn is_inside(&self, state: usize, component: usize) -> bool {
        self.components.of_state[state] == component
    }

    /// Words that lead from a state of the component back to it in two ways.
    fn exponential_words(&mut self, component: usize) -> Vec<AmbiguousWord> {
        let members = self.components.members[component].clone();
        let mut found: Vec<AmbiguousWord> = Vec::new();
        for &from in &members {
            for transition in self.automaton.transitions(from) {
                let to = transition.to;
                if !transition.is_double || !self.is_inside(to, component) {
                    continue;
                }
                let Some(class) = self.first_class(to, to) else { continue };
                if let Some(back) = self.shortest_path(to, from, component) {
                    let word = [class].into_iter().chain(back).collect();
                    found.push(AmbiguousWord { state: from, word, degree: None, last: from });
                }
                if self.is_exhausted() {
                    break;
                }
            }
        }
        self.parting_words(component, &members, &mut found);
        found.sort_by_key(|word| word.word.len());
        let mut words = HashSet::new();
        found.retain(|word| words.insert(word.word.clone()));
        found.truncate(MAX_WORDS_PER_COMPONENT);
        found
    }

    /// Words along which two paths part from a state and meet again. The search begins with all
    /// states at once and finds a shortest word for each meeting point.
    fn parting_words(
        &mut self,
        component: usize,
        members: &[usize],
        found: &mut Vec<AmbiguousWord>,
    ) {
        type Pair = (usize, usize);
        // A part of the steps is left for other components.
        let end = self.steps + (self.max_steps - self.steps.min(self.max_steps)) / 2;
        let automaton = self.automaton;
        let mut parents: HashMap<Pair, (Pair, usize)> = HashMap::new();
        let mut waiting: VecDeque<Pair> = members.iter().map(|state| (*state, *state)).collect();
        let mut met = HashSet::new();
        while let Some(pair) = waiting.pop_front() {
            let (one, other) = pair;
            let all = |state: usize| {
                let targets = automaton.transitions(state).iter().map(|transition| transition.to);
                targets.filter(|to| self.components.of_state[*to] == component)
            };
            let targets: Vec<Pair> =
                all(one).flat_map(|one| all(other).map(move |other| (one, other))).collect();
            self.steps += targets.len() + 1;
            if self.steps > end || self.is_exhausted() {
                return;
            }
            for (one, other) in targets {
                let target = (one.min(other), one.max(other));
                let is_meeting = one == other;
                if is_meeting && (pair.0 == pair.1 || met.contains(&one)) {
                    continue;
                }
                if !is_meeting && parents.contains_key(&target) {
                    continue;
                }
                let Some(class) = self.first_class(one, other) else { continue };
                if !is_meeting {
                    parents.insert(target, (pair, class));
                    waiting.push_back(target);
                    continue;
                }
                met.insert(one);
                let mut word = vec![class];
                let mut at = pair;
                while at.0 != at.1 {
                    let Some(&(parent, class)) = parents.get(&at) else { break };
                    word.push(class);
                    at = parent;
                }
                word.reverse();
                if let Some(back) = self.shortest_path(one, at.0, component) {
                    word.extend(back);
                    found.push(AmbiguousWord { state: at.0, word, degree: None, last: at.0 });
                }
                if met.len() >= 4 * MAX_WORDS_PER_COMPONENT {
                    return;
                }
            }
        }
    }

    /// The classes on the way from one state to another inside of a component.
    fn shortest_path(&mut self, from: usize, to: usize, component: usize) -> Option<Vec<usize>> {
        let mut parents: HashMap<usize, usize> = HashMap::new();
        let mut waiting = VecDeque::from([from]);
        let mut at = from;
        while at != to {
            at = waiting.pop_front()?;
            if at == to {
                break;
            }
            for transition in self.automaton.transitions(at) {
                self.steps += 1;
                let next = transition.to;
                if self.is_inside(next, component) && next != from && !parents.contains_key(&next) {
                    parents.insert(next, at);
                    waiting.push_back(next);
                }
            }
        }
        let mut path = Vec::new();
        while at != from {
            path.push(self.first_class(at, at)?);
            at = *parents.get(&at)?;
        }
        path.reverse();
        Some(path)
    }

    fn polynomial_words(&mut self) -> Vec<AmbiguousWord> {
        let mut found: Vec<AmbiguousWord> = Vec::new();
        let mut joined = HashSet::new();
        for class in 0..self.automaton.alphabet.len() {
            if self.is_exhausted() {
                break;
            }
            for chain in self.longest_chains(class) {
                for (index, one) in chain.iter().enumerate() {
                    joined.extend(chain[index + 1..].iter().map(|other| {
                        (self.components.of_state[*one], self.components.of_state[*other])
                    }));
                }
                let degree = u32::try_from(chain.len()).ok();
                let last = *chain.last().unwrap_or(&chain[0]);
                found.push(AmbiguousWord { state: chain[0], word: vec![class], degree, last });
            }
        }
        let count = self.components.members.len();
        let loops: Vec<usize> =
            (0..count).rev().filter(|one| self.components.has_loop[*one]).collect();
        for (index, &one) in loops.iter().enumerate() {
            for &other in &loops[index + 1..] {
                if self.is_exhausted() {
                    return found;
                }
                if !joined.contains(&(one, other)) {
                    found.extend(self.common_word(one, other));
                }
            }
        }
        found
    }

    /// Most states in a row at which a repetition of the class can loop: with skipping and without.
    fn longest_chains(&mut self, class: usize) -> Vec<Vec<usize>> {
        let automaton = self.automaton;
        let reads = |state: usize| automaton.classes(state).contains(class);
        let of_state = &self.components.of_state;
        let states: Vec<usize> = (0..automaton.len())
            .filter(|state| reads(*state) && of_state[*state] != usize::MAX)
            .collect();
        let next = |state: usize| {
            let targets = automaton.transitions(state).iter().map(|transition| transition.to);
            targets.filter(|to| reads(*to)).collect::<Vec<_>>()
        };
        let by_class = Components::new(automaton.len(), &states, next);
        self.steps += states.iter().map(|state| automaton.transitions(*state).len()).sum::<usize>();
        // Components that a state leads to have lower numbers. Length and next one of the chain.
        let mut chains: Vec<(usize, Option<usize>)> = Vec::with_capacity(by_class.members.len());
        for (component, members) in by_class.members.iter().enumerate() {
            let targets = members.iter().flat_map(|state| next(*state));
            let others = targets.map(|to| by_class.of_state[to]).filter(|to| *to != component);
            let longest = others.max_by_key(|to| chains[*to].0);
            let length = longest.map_or(0, |longest| chains[longest].0);
            chains.push((length + usize::from(by_class.has_loop[component]), longest));
        }
        let skips = |component: usize| automaton.has_skip && by_class.members[component] == [SKIP];
        let longest = |wanted: bool| {
            let components = (0..chains.len()).rev().filter(|one| skips(*one) == wanted);
            components.max_by_key(|component| chains[*component].0)
        };
        let chain_from = |component: usize| {
            let mut chain = Vec::new();
            let mut at = Some(component);
            while let Some(component) = at {
                if by_class.has_loop[component] {
                    chain.push(by_class.members[component][0]);
                }
                at = chains[component].1;
            }
            chain
        };
        let found = [true, false].into_iter().filter_map(longest).map(chain_from);
        found.filter(|chain| chain.len() >= 2).collect()
    }

    /// A word that loops in both components and leads from the first to the second.
    fn common_word(&mut self, one: usize, other: usize) -> Option<AmbiguousWord> {
        let classes = |component: usize| {
            let mut all = self.automaton.alphabet.no_classes();
            let members = &self.components.members[component];
            for state in members {
                all.add_all(self.automaton.classes(*state));
            }
            all
        };
        let common = classes(one).intersection(&classes(other));
        common.iter().next()?;
        let entries = |component: usize| {
            let members = &self.components.members[component];
            members.iter().take(MAX_LOOP_ENTRIES).copied().collect::<Vec<_>>()
        };
        let readable: Vec<bool> = (0..self.automaton.len())
            .map(|state| self.automaton.classes(state).intersects(&common))
            .collect();
        let (entries, exits) = (entries(one), entries(other));
        for from in entries {
            for &to in &exits {
                if self.is_exhausted() {
                    return None;
                }
                if let Some(word) = self.triple_path(from, to, &readable) {
                    return Some(AmbiguousWord { state: from, word, degree: Some(2), last: to });
                }
            }
        }
        None
    }

    /// A word that leads from `from` to itself, from `from` to `to`, and from `to` to itself.
    fn triple_path(&mut self, from: usize, to: usize, readable: &[bool]) -> Option<Vec<usize>> {
        type Triple = (usize, usize, usize);
        let automaton = self.automaton;
        let (first, last) = (self.components.of_state[from], self.components.of_state[to]);
        let goal: Triple = (from, to, to);
        let start: Triple = (from, from, to);
        let mut parents: HashMap<Triple, (Triple, usize)> = HashMap::new();
        let mut waiting: VecDeque<Triple> = VecDeque::from([start]);
        while let Some(triple) = waiting.pop_front() {
            if triple == goal {
                let mut word = Vec::new();
                let mut at = triple;
                while at != start {
                    let (parent, class) = parents[&at];
                    word.push(class);
                    at = parent;
                }
                word.reverse();
                return Some(word);
            }
            let targets = |state: usize| {
                let targets = automaton.transitions(state).iter().map(|transition| transition.to);
                targets.filter(|to| readable[*to]).collect::<Vec<_>>()
            };
            let in_component = |state: usize, component: usize| {
                let mut states = targets(state);
                states.retain(|state| self.components.of_state[*state] == component);
                states
            };
            let one = in_component(triple.0, first);
            let three = in_component(triple.2, last);
            let mut steps = 0;
            for two in targets(triple.1) {
                for &one in &one {
                    let both = automaton.classes(one).intersection(automaton.classes(two));
                    for &three in &three {
                        steps += 1;
                        let next = (one, two, three);
                        if parents.contains_key(&next) || parents.len() > MAX_TRIPLES {
                            continue;
                        }
                        let all = both.intersection(automaton.classes(three));
                        if let Some(class) = all.iter().next() {
                            parents.insert(next, (triple, class));
                            waiting.push_back(next);
                        }
                    }
                }
            }
            self.steps += steps + 1;
            if self.is_exhausted() {
                return None;
            }
        }
        None
    }
}

/// The classes on the shortest way from a state to one at which the pattern matches.
pub(super) fn shortest_rest(automaton: &Automaton, from: usize) -> Option<Vec<usize>> {
    let mut parents: HashMap<usize, usize> = HashMap::from([(from, from)]);
    let mut waiting = VecDeque::from([from]);
    while let Some(state) = waiting.pop_front() {
        if automaton.is_accepting(state) || automaton.accepts_at_end(&[state]) {
            let mut rest = Vec::new();
            let mut at = state;
            while at != from {
                rest.push(automaton.classes(at).iter().next()?);
                at = parents[&at];
            }
            rest.reverse();
            return Some(rest);
        }
        for transition in automaton.transitions(state) {
            let to = transition.to;
            if automaton.reads_char(to) && !parents.contains_key(&to) {
                parents.insert(to, state);
                waiting.push_back(to);
            }
        }
    }
    None
}

/// The shortest ways from the start of the text to each state, without skipping.
#[derive(Debug)]
pub(super) struct PrefixTree {
    /// The state before each one; of a state at the start of the text, the state itself.
    parents: Vec<Option<usize>>,
}

impl PrefixTree {
    pub(super) fn new(automaton: &Automaton) -> Self {
        let mut parents: Vec<Option<usize>> = vec![None; automaton.len()];
        let mut waiting = VecDeque::new();
        for state in automaton.start_states() {
            parents[state] = Some(state);
            waiting.push_back(state);
        }
        while let Some(state) = waiting.pop_front() {
            for transition in automaton.transitions(state) {
                let to = transition.to;
                let is_skip = automaton.has_skip && to == SKIP;
                if parents[to].is_none() && !is_skip && automaton.reads_char(to) {
                    parents[to] = Some(state);
                    waiting.push_back(to);
                }
            }
        }
        Self { parents }
    }

    /// The classes that lead to the state; none if only skipping leads to it.
    pub(super) fn prefix_of(&self, automaton: &Automaton, state: usize) -> Option<Vec<usize>> {
        let mut word = Vec::new();
        let mut at = state;
        loop {
            let parent = self.parents[at]?;
            if parent == at {
                word.reverse();
                return Some(word);
            }
            word.push(automaton.classes(at).iter().next()?);
            at = parent;
        }
    }
}
