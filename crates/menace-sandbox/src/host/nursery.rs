//! Sandboxes that are started before they are needed, while others are busy.
//!
//! Starting one takes longer than most calls; which module it will import does not matter yet. Some are
//! announced. Of a kind that was asked for again and was not there in time, spares are kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use menace_model::Limits;

use super::local::Starter;
use super::options::WarmSpec;
use super::sandbox::Sandbox;

/// The most that wait, of all kinds together, for each that may be kept of one kind.
const KINDS: usize = 3;
/// The most kinds that are remembered.
const KNOWN: usize = 32;

#[derive(Debug)]
pub(crate) struct Nursery {
    rooms: Mutex<Rooms>,
}

#[derive(Debug)]
struct Rooms {
    /// The one that was raised first comes first.
    waiting: Vec<Raised>,
    demand: Demand,
}

/// One that is being started, or has been.
#[derive(Debug)]
struct Raised {
    kind: WarmSpec,
    start: JoinHandle<Option<Sandbox>>,
}

impl Nursery {
    /// `spares`: the most that are kept of one kind without anybody having announced them.
    pub(crate) fn new(spares: usize) -> Self {
        let demand = Demand { most: spares, kinds: Vec::new() };
        Self { rooms: Mutex::new(Rooms { waiting: Vec::new(), demand }) }
    }

    /// Starts a sandbox that will suit this specification, unless one is waiting.
    pub(crate) fn raise(&self, starter: &Arc<Starter>, spec: &WarmSpec) {
        self.rooms().raise(starter, &blank(spec), 1);
    }

    /// One that suits, waiting for it if it is on its way.
    pub(crate) fn take(&self, spec: &WarmSpec) -> Option<Sandbox> {
        let kind = blank(spec);
        let mut rooms = self.rooms();
        let mut suitable = rooms.waiting.iter().enumerate().filter(|(_, one)| one.kind == kind);
        let first = suitable.clone().next();
        let at = suitable.find(|(_, one)| one.start.is_finished()).or(first).map(|(at, _)| at);
        let one = at.map(|at| rooms.waiting.remove(at));
        let in_time = one.as_ref().is_some_and(|one| one.start.is_finished());
        rooms.demand.note(&kind, in_time);
        drop(rooms);
        one?.start.join().ok().flatten()
    }

    /// Once whoever asked has theirs, the next one may come at any time.
    pub(crate) fn refill(&self, starter: &Arc<Starter>, spec: &WarmSpec) {
        let kind = blank(spec);
        let mut rooms = self.rooms();
        let spares = rooms.demand.spares(&kind);
        rooms.raise(starter, &kind, spares);
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rooms {
    /// Until so many of the kind are waiting.
    fn raise(&mut self, starter: &Arc<Starter>, kind: &WarmSpec, wanted: usize) {
        let waiting = self.waiting.iter().filter(|one| one.kind == *kind).count();
        for _ in waiting..wanted {
            let in_the_way = self.make_room(kind);
            let (starter, wanted) = (Arc::clone(starter), kind.clone());
            let start = std::thread::Builder::new().spawn(move || {
                let sandbox = starter.start_blank(&wanted).ok();
                drop(in_the_way.map(|one| one.start.join()));
                sandbox
            });
            // What goes wrong goes wrong again, and is told, when the sandbox is needed.
            let Ok(start) = start else { return };
            self.waiting.push(Raised { kind: kind.clone(), start });
        }
    }

    /// One of another kind that nobody came for.
    fn make_room(&mut self, kind: &WarmSpec) -> Option<Raised> {
        if self.waiting.len() < KINDS * self.demand.most.max(1) {
            return None;
        }
        let at = self.waiting.iter().position(|one| one.kind != *kind)?;
        let one = self.waiting.remove(at);
        self.demand.forget(&one.kind);
        Some(one)
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        for one in self.rooms().waiting.drain(..) {
            drop(one.start.join());
        }
    }
}

/// What was asked for, and how many of it should be there.
#[derive(Debug)]
struct Demand {
    most: usize,
    /// The one that was asked for last comes last.
    kinds: Vec<(WarmSpec, usize)>,
}

impl Demand {
    /// Who comes for the first time may never come again.
    fn note(&mut self, kind: &WarmSpec, in_time: bool) {
        let spares = match self.kinds.iter().position(|(known, _)| known == kind) {
            Some(at) => {
                let (_, spares) = self.kinds.remove(at);
                if in_time { spares } else { (spares + 1).min(self.most) }
            }
            None => 0,
        };
        if self.kinds.len() == KNOWN {
            self.kinds.remove(0);
        }
        self.kinds.push((kind.clone(), spares));
    }

    fn spares(&self, kind: &WarmSpec) -> usize {
        self.kinds.iter().find(|(known, _)| known == kind).map_or(0, |(_, spares)| *spares)
    }

    fn forget(&mut self, kind: &WarmSpec) {
        self.kinds.retain(|(known, _)| known != kind);
    }
}

/// What matters before anything is imported.
fn blank(spec: &WarmSpec) -> WarmSpec {
    let Limits { processes, open_files, .. } = spec.limits;
    let limits = Limits { processes, open_files, ..Limits::default() };
    WarmSpec { module: None, import_roots: Vec::new(), limits, ..spec.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(level: u8) -> WarmSpec {
        WarmSpec { security_level: level, ..WarmSpec::new(None) }
    }

    #[test]
    fn spares_are_kept_of_what_was_missed_when_it_was_wanted_again() {
        let mut demand = Demand { most: 2, kinds: Vec::new() };
        let mut after = |level, in_time| {
            demand.note(&kind(level), in_time);
            demand.spares(&kind(level))
        };
        assert_eq!(after(3, false), 0, "the first of all may be the last");
        assert_eq!(after(3, true), 0, "it was announced");
        assert_eq!(after(3, false), 1);
        assert_eq!(after(5, false), 0, "another kind");
        assert_eq!(after(3, true), 1, "one is enough");
        assert_eq!(after(3, false), 2);
        assert_eq!(after(3, false), 2, "no more than may be");
        demand.forget(&kind(3));
        assert_eq!(demand.spares(&kind(3)), 0);
    }
}
