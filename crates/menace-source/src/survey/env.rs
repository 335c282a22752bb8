//! What is known about each name, at one point of a walk through a file.
//!
//! Invariant: after [`Env::leave`], everything is as it was at [`Env::enter`]. The work is that
//! of the changes in between, however many names there are.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::known::Known;
use crate::facts::{Scope, Scopes};

type Value<'a> = Option<Rc<Known<'a>>>;

/// What a way through a branch has changed.
pub(super) type Changes<'a> = FxHashMap<(usize, &'a str), Value<'a>>;

/// How far the log had come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark(usize);

#[derive(Debug)]
struct Change<'a> {
    depth: usize,
    name: &'a str,
    before: Value<'a>,
}

#[derive(Debug)]
pub(super) struct Env<'a> {
    pub scopes: Scopes<'a>,
    /// For each scope, what is known about its names.
    values: Vec<FxHashMap<&'a str, Rc<Known<'a>>>>,
    log: Vec<Change<'a>>,
    branches: usize,
}

impl<'a> Env<'a> {
    pub(super) fn new(module: Scope<'a>) -> Self {
        Self {
            scopes: Scopes(vec![module]),
            values: vec![FxHashMap::default()],
            log: Vec::new(),
            branches: 0,
        }
    }

    pub(super) fn push(&mut self, scope: Scope<'a>) -> Mark {
        self.scopes.0.push(scope);
        self.values.push(FxHashMap::default());
        Mark(self.log.len())
    }

    pub(super) fn pop(&mut self, Mark(pushed): Mark) {
        self.scopes.0.pop();
        self.values.pop();
        let depth = self.values.len();
        let since = self.log.split_off(pushed);
        self.log.extend(since.into_iter().filter(|change| change.depth < depth));
    }

    pub(super) fn get(&self, name: &str) -> Option<&Rc<Known<'a>>> {
        self.values[self.scopes.depth_of(name)?].get(name)
    }

    /// Is this a name of the module itself, seen from wherever we are?
    pub(super) fn is_global(&self, name: &str) -> bool {
        self.scopes.depth_of(name) == Some(0)
    }

    pub(super) fn set(&mut self, name: &'a str, known: Known<'a>) {
        if let Some(depth) = self.scopes.depth_of(name) {
            self.put(depth, name, Some(Rc::new(known)));
        }
    }

    fn put(&mut self, depth: usize, name: &'a str, value: Value<'a>) {
        let before = match value {
            Some(known) => self.values[depth].insert(name, known),
            None => self.values[depth].remove(name),
        };
        if self.branches > 0 {
            self.log.push(Change { depth, name, before });
        }
    }

    /// A branch begins, which may be taken or not.
    pub(super) fn enter(&mut self) -> Mark {
        self.branches += 1;
        Mark(self.log.len())
    }

    /// The branch ends: what it has changed is taken back and returned.
    pub(super) fn leave(&mut self, Mark(entered): Mark) -> Changes<'a> {
        let mut changes = Changes::default();
        for Change { depth, name, before } in self.log.drain(entered..).rev() {
            let values = &mut self.values[depth];
            let after = match before {
                Some(before) => values.insert(name, before),
                None => values.remove(name),
            };
            // The last change comes first; the others led to it.
            changes.entry((depth, name)).or_insert(after);
        }
        self.branches -= 1;
        changes
    }

    /// Goes on after one of several ways was taken, nobody knows which.
    pub(super) fn join(&mut self, ways: Vec<Changes<'a>>) {
        let count = ways.len();
        let mut changed: BTreeMap<(usize, &'a str), Vec<Value<'a>>> = BTreeMap::new();
        for (name, value) in ways.into_iter().flatten() {
            changed.entry(name).or_default().push(value);
        }
        for ((depth, name), mut values) in changed {
            if values.len() < count {
                values.insert(0, self.values[depth].get(name).cloned());
            }
            let mut values = values.into_iter().flatten();
            let first = values.next();
            let all = first.map(|first| values.fold(first, |all, other| Rc::new(all.or(&other))));
            self.put(depth, name, all);
        }
    }
}
