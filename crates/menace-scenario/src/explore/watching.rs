//! Which calls are watched on their way from line to line. Below Python 3.12 that slows down every line,
//! and pays only while something new is reached.
//!
//! Mutations are always watched: they follow what is seen.
//! Invariant: what is watched depends on what earlier calls reached, in their order, and on nothing else.

use super::Probe;

/// Watched calls in a row that reach nothing new, after which watching all of them pays no more.
const PATIENCE: usize = 16;
/// One of so many is watched then: should it reach something new, all are again.
const SAMPLE: usize = 4;

#[derive(Debug)]
pub(super) struct Watching {
    is_free: bool,
    /// Watched calls in a row that reached nothing new.
    barren: usize,
}

impl Watching {
    pub(super) fn new(is_free: bool) -> Self {
        Self { is_free, barren: 0 }
    }

    /// What came of a call that was watched.
    pub(super) fn note(&mut self, has_news: bool) {
        self.barren = if has_news { 0 } else { self.barren + 1 };
    }

    /// Says of each of a generation whether it is watched.
    pub(super) fn choose(&self, probes: &mut [Probe]) {
        let pays = self.is_free || self.barren < PATIENCE;
        for (index, probe) in probes.iter_mut().enumerate() {
            probe.coverage &= pays || index % SAMPLE == 0;
        }
    }
}
