//! Sandboxes that are started before they are needed, while others are busy.
//!
//! Starting one takes longer than most calls; which module it will import does not matter yet.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use menace_model::Limits;

use super::local::Starter;
use super::options::WarmSpec;
use super::sandbox::Sandbox;

#[derive(Debug, Default)]
pub(crate) struct Nursery {
    raised: Mutex<Vec<Raised>>,
}

/// One that is being started, or has been.
#[derive(Debug)]
struct Raised {
    spec: WarmSpec,
    start: JoinHandle<Option<Sandbox>>,
}

impl Nursery {
    /// Starts a sandbox that will suit this specification, unless one is waiting.
    pub(crate) fn raise(&self, starter: &Arc<Starter>, spec: &WarmSpec) {
        let spec = blank(spec);
        let mut raised = self.raised();
        if raised.iter().any(|one| one.spec == spec) {
            return;
        }
        let (starter, wanted) = (Arc::clone(starter), spec.clone());
        // What goes wrong here goes wrong again, and is told, when the sandbox is needed.
        let start = std::thread::spawn(move || starter.start_blank(&wanted).ok());
        raised.push(Raised { spec, start });
    }

    /// One that suits, waiting for it if it is on its way.
    pub(crate) fn take(&self, spec: &WarmSpec) -> Option<Sandbox> {
        let spec = blank(spec);
        let mut raised = self.raised();
        let at = raised.iter().position(|one| one.spec == spec)?;
        let one = raised.swap_remove(at);
        drop(raised);
        one.start.join().ok().flatten()
    }

    fn raised(&self) -> MutexGuard<'_, Vec<Raised>> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        for one in self.raised().drain(..) {
            drop(one.start.join());
        }
    }
}

/// What matters before anything is imported.
fn blank(spec: &WarmSpec) -> WarmSpec {
    let Limits { processes, open_files, .. } = spec.limits;
    let limits = Limits { processes, open_files, ..Limits::default() };
    WarmSpec { module: None, import_roots: Vec::new(), limits, ..spec.clone() }
}
