//! The knowledge about each name at one point of a walk through a file.
//!
//! Invariant: after [`NameEnvironment::leave_branch`] everything is as it was at
//! [`NameEnvironment::enter_branch`]. That costs as much as there were changes in between, however
//! many names there are.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::known_value::KnownValue;
use crate::facts::{NameScope, ScopeStack};

type BindingValue<'a> = Option<Rc<KnownValue<'a>>>;

/// The changes made in a branch.
pub(super) type BranchChanges<'a> = FxHashMap<(usize, &'a str), BindingValue<'a>>;

/// The length of the log of changes when a scope or a branch was entered.
#[derive(Debug, Clone, Copy)]
pub(super) struct EnvLogMark(usize);

#[derive(Debug)]
struct BindingChange<'a> {
    depth: usize,
    name: &'a str,
    before: BindingValue<'a>,
}

#[derive(Debug)]
pub(super) struct NameEnvironment<'a> {
    pub scopes: ScopeStack<'a>,
    /// For each scope, the knowledge about its names.
    values: Vec<FxHashMap<&'a str, Rc<KnownValue<'a>>>>,
    log: Vec<BindingChange<'a>>,
    branches: usize,
}

impl<'a> NameEnvironment<'a> {
    pub(super) fn new(module: NameScope<'a>) -> Self {
        Self {
            scopes: ScopeStack(vec![module]),
            values: vec![FxHashMap::default()],
            log: Vec::new(),
            branches: 0,
        }
    }

    pub(super) fn push_scope(&mut self, scope: NameScope<'a>) -> EnvLogMark {
        self.scopes.0.push(scope);
        self.values.push(FxHashMap::default());
        EnvLogMark(self.log.len())
    }

    pub(super) fn pop_scope(&mut self, EnvLogMark(pushed): EnvLogMark) {
        self.scopes.0.pop();
        self.values.pop();
        let depth = self.values.len();
        let since = self.log.split_off(pushed);
        self.log.extend(since.into_iter().filter(|change| change.depth < depth));
    }

    pub(super) fn get(&self, name: &str) -> Option<&Rc<KnownValue<'a>>> {
        self.values[self.scopes.depth_of(name)?].get(name)
    }

    /// Whether the name, as used here, belongs to the module's top level.
    pub(super) fn is_global(&self, name: &str) -> bool {
        self.scopes.depth_of(name) == Some(0)
    }

    pub(super) fn set(&mut self, name: &'a str, known: KnownValue<'a>) {
        if let Some(depth) = self.scopes.depth_of(name) {
            self.set_at_depth(depth, name, Some(Rc::new(known)));
        }
    }

    fn set_at_depth(&mut self, depth: usize, name: &'a str, value: BindingValue<'a>) {
        let before = match value {
            Some(known) => self.values[depth].insert(name, known),
            None => self.values[depth].remove(name),
        };
        if self.branches > 0 {
            self.log.push(BindingChange { depth, name, before });
        }
    }

    /// A branch begins, which may be taken or not.
    pub(super) fn enter_branch(&mut self) -> EnvLogMark {
        self.branches += 1;
        EnvLogMark(self.log.len())
    }

    /// Ends the branch: undoes its changes, and returns them.
    pub(super) fn leave_branch(&mut self, EnvLogMark(entered): EnvLogMark) -> BranchChanges<'a> {
        let mut changes = BranchChanges::default();
        for BindingChange { depth, name, before } in self.log.drain(entered..).rev() {
            let values = &mut self.values[depth];
            let after = match before {
                Some(before) => values.insert(name, before),
                None => values.remove(name),
            };
            // The log is read backwards, so the first entry of a name has its last value.
            changes.entry((depth, name)).or_insert(after);
        }
        self.branches -= 1;
        changes
    }

    /// Merges the environments of several branches, one of which was taken.
    pub(super) fn join_branches(&mut self, branch_changes: Vec<BranchChanges<'a>>) {
        let count = branch_changes.len();
        let mut changed: BTreeMap<(usize, &'a str), Vec<BindingValue<'a>>> = BTreeMap::new();
        for (name, value) in branch_changes.into_iter().flatten() {
            changed.entry(name).or_default().push(value);
        }
        for ((depth, name), mut values) in changed {
            if values.len() < count {
                values.insert(0, self.values[depth].get(name).cloned());
            }
            let mut values = values.into_iter().flatten();
            let first = values.next();
            let all =
                first.map(|first| values.fold(first, |all, other| Rc::new(all.merge(&other))));
            self.set_at_depth(depth, name, all);
        }
    }
}
