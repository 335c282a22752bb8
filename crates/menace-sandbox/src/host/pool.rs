//! The sandboxes of a backend that no session uses at the moment, found by their [`SandboxSpec`].
//!
//! A spare has imported nothing yet, so its key is the spec before the import. Spares are started
//! in the background: one for each announced spec, and one more whenever a spec is requested
//! repeatedly and had none ready. Idle sandboxes come from ended sessions, with their module
//! imported.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use menace_model::SandboxSpec;

use super::local::SandboxStarter;
use super::options::BackendOptions;
use super::sandbox::SandboxHandle;
use super::session::ModuleSandboxes;
use crate::SandboxError;

/// The most spares of all specs together, as a multiple of `max_spares`.
const TOTAL_SPARES_FACTOR: usize = 3;
/// The most specs whose requests are remembered.
const MAX_REMEMBERED_SPECS: usize = 32;

#[derive(Debug)]
pub(crate) struct SandboxPool {
    starter: Arc<SandboxStarter>,
    state: Mutex<PoolState>,
}

#[derive(Debug)]
struct PoolState {
    /// In the order of their start.
    spares: Vec<SpareSandbox>,
    demand: SpareDemand,
    /// In the order of their last use.
    idle: VecDeque<IdleSandboxes>,
    max_idle: usize,
}

/// A spare that is being started, or is ready.
#[derive(Debug)]
struct SpareSandbox {
    spec: SandboxSpec,
    start: JoinHandle<Option<SandboxHandle>>,
}

#[derive(Debug)]
struct IdleSandboxes {
    spec: SandboxSpec,
    sandboxes: ModuleSandboxes,
}

impl SandboxPool {
    /// `max_spares`: the most spares of one spec that are kept without an announcement.
    pub(crate) fn new(starter: SandboxStarter, max_spares: usize) -> Self {
        let state = PoolState {
            spares: Vec::new(),
            demand: SpareDemand { max_spares, specs: Vec::new() },
            idle: VecDeque::new(),
            max_idle: 0,
        };
        Self { starter: Arc::new(starter), state: Mutex::new(state) }
    }

    pub(crate) fn options(&self) -> &BackendOptions {
        self.starter.options()
    }

    pub(crate) fn starter(&self) -> Arc<SandboxStarter> {
        Arc::clone(&self.starter)
    }

    /// Starts a spare for this spec, unless one is ready or being started, or a sandbox is idle.
    pub(crate) fn prewarm(&self, spec: &SandboxSpec) {
        let mut state = self.state();
        if !state.idle.iter().any(|idle| idle.spec == *spec) {
            state.start_spares(&self.starter, &spec.before_import(), 1);
        }
    }

    /// Returns a sandbox with nothing imported: a spare, or a new one.
    pub(crate) fn take_or_start(&self, spec: &SandboxSpec) -> Result<SandboxHandle, SandboxError> {
        let key = spec.before_import();
        let spare = self.take_spare(&key).and_then(|mut sandbox| {
            // Fails for a spare that was killed while it waited.
            sandbox.set_import_path(&spec.import_roots).is_ok().then_some(sandbox)
        });
        let sandbox = spare.map_or_else(|| self.starter.start(spec), Ok)?;
        let mut state = self.state();
        let spares = state.demand.spares(&key);
        state.start_spares(&self.starter, &key, spares);
        drop(state);
        Ok(sandbox)
    }

    /// Takes a spare of this spec; waits if it is still being started.
    fn take_spare(&self, key: &SandboxSpec) -> Option<SandboxHandle> {
        let mut state = self.state();
        let mut suitable = state.spares.iter().enumerate().filter(|(_, spare)| spare.spec == *key);
        let first = suitable.clone().next();
        let at = suitable.find(|(_, spare)| spare.start.is_finished()).or(first).map(|(at, _)| at);
        let spare = at.map(|at| state.spares.remove(at));
        let in_time = spare.as_ref().is_some_and(|spare| spare.start.is_finished());
        state.demand.record_request(key, in_time);
        drop(state);
        spare?.start.join().ok().flatten()
    }

    /// Takes the idle sandboxes of an ended session with this spec.
    pub(crate) fn take_idle(&self, spec: &SandboxSpec) -> Option<ModuleSandboxes> {
        let mut state = self.state();
        let at = state.idle.iter().rposition(|idle| idle.spec == *spec)?;
        state.idle.remove(at).map(|idle| idle.sandboxes)
    }

    pub(crate) fn put_idle(&self, spec: SandboxSpec, sandboxes: ModuleSandboxes) {
        let mut state = self.state();
        state.idle.push_back(IdleSandboxes { spec, sandboxes });
        end_idle(state);
    }

    pub(crate) fn reserve_idle(&self, sessions: usize) {
        self.state().max_idle += sessions;
    }

    pub(crate) fn release_idle(&self, sessions: usize) {
        let mut state = self.state();
        state.max_idle = state.max_idle.saturating_sub(sessions);
        end_idle(state);
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends idle sandboxes beyond the maximum. Releases the lock before, because ending one takes a
/// while.
fn end_idle(mut state: MutexGuard<'_, PoolState>) {
    let beyond = state.idle.len().saturating_sub(state.max_idle);
    let ended: Vec<IdleSandboxes> = state.idle.drain(..beyond).collect();
    drop(state);
    drop(ended);
}

impl PoolState {
    /// Starts spares of this spec until there are `wanted`.
    fn start_spares(&mut self, starter: &Arc<SandboxStarter>, key: &SandboxSpec, wanted: usize) {
        let waiting = self.spares.iter().filter(|spare| spare.spec == *key).count();
        for _ in waiting..wanted {
            let evicted = self.evict_other(key);
            let starter = Arc::clone(starter);
            let spec = key.clone();
            let start = std::thread::Builder::new().spawn(move || {
                let sandbox = starter.start_without_import_path(&spec).ok();
                drop(evicted.map(|spare| spare.start.join()));
                sandbox
            });
            // If starting fails, the session starts a sandbox itself and reports the error.
            let Ok(start) = start else { return };
            self.spares.push(SpareSandbox { spec: key.clone(), start });
        }
    }

    /// Takes out the oldest spare of another spec, when there are too many.
    fn evict_other(&mut self, key: &SandboxSpec) -> Option<SpareSandbox> {
        if self.spares.len() < TOTAL_SPARES_FACTOR * self.demand.max_spares.max(1) {
            return None;
        }
        let at = self.spares.iter().position(|spare| spare.spec != *key)?;
        let spare = self.spares.remove(at);
        self.demand.forget(&spare.spec);
        Some(spare)
    }
}

impl Drop for SandboxPool {
    fn drop(&mut self) {
        for spare in self.state().spares.drain(..) {
            drop(spare.start.join());
        }
    }
}

/// The specs that were requested, each with the number of spares that it should have.
#[derive(Debug)]
struct SpareDemand {
    max_spares: usize,
    /// In the order of their last request.
    specs: Vec<(SandboxSpec, usize)>,
}

impl SpareDemand {
    /// Records a request; `in_time` says whether a spare was ready. The first request of a spec
    /// adds no spare, since a second one may never come.
    fn record_request(&mut self, key: &SandboxSpec, in_time: bool) {
        let spares = match self.specs.iter().position(|(known, _)| known == key) {
            Some(at) => {
                let (_, spares) = self.specs.remove(at);
                if in_time { spares } else { (spares + 1).min(self.max_spares) }
            }
            None => 0,
        };
        if self.specs.len() == MAX_REMEMBERED_SPECS {
            self.specs.remove(0);
        }
        self.specs.push((key.clone(), spares));
    }

    fn spares(&self, key: &SandboxSpec) -> usize {
        self.specs.iter().find(|(known, _)| known == key).map_or(0, |(_, spares)| *spares)
    }

    fn forget(&mut self, key: &SandboxSpec) {
        self.specs.retain(|(known, _)| known != key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(level: u8) -> SandboxSpec {
        let mut spec = SandboxSpec::new(None);
        spec.confinement.security_level = level.try_into().unwrap();
        spec
    }

    #[test]
    fn a_spec_that_was_requested_repeatedly_and_in_vain_gets_spares() {
        let mut demand = SpareDemand { max_spares: 2, specs: Vec::new() };
        let mut after = |level, in_time| {
            demand.record_request(&spec(level), in_time);
            demand.spares(&spec(level))
        };
        assert_eq!(after(3, false), 0, "the first request may be the last");
        assert_eq!(after(3, true), 0, "it was announced");
        assert_eq!(after(3, false), 1);
        assert_eq!(after(5, false), 0, "another spec");
        assert_eq!(after(3, true), 1, "one is enough");
        assert_eq!(after(3, false), 2);
        assert_eq!(after(3, false), 2, "no more than the maximum");
        demand.forget(&spec(3));
        assert_eq!(demand.spares(&spec(3)), 0);
    }
}
