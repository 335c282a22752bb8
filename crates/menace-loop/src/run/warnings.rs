//! Warnings of a run: what the user should know beside its results.
//!
//! Each step of a run returns its warnings; only [`WarningLog`] collects them.

use std::fmt;
use std::path::PathBuf;

use menace_store::{BorderlineStatus, StoreNotice};

use crate::cycle::{RunEvent, RunObserver};

/// Modules that a warning names before it counts the rest.
const MAX_NAMED_MODULES: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RunWarning {
    Store(StoreNotice),
    /// A damaged history has an intact copy.
    RestorableCopy(PathBuf),
    /// A warning of a metric plugin, with its file.
    Plugin(String),
    /// These modules are flagged from now on.
    ModulesConverged(Vec<String>),
    /// The run ended before all of its cycles.
    RunConverged {
        cycle: u32,
        cycles: u32,
    },
    /// The ROI of a module is predicted to reach zero in this number of cycles; `None` if it
    /// already has.
    RoiCollapse {
        module: String,
        cycles: Option<usize>,
    },
    /// The number of modules that were not called because their ROI had converged.
    ModulesLeftOut(usize),
    /// A borderline module, in a run without calls.
    Borderline {
        module: String,
        status: BorderlineStatus,
    },
}

impl From<StoreNotice> for RunWarning {
    fn from(notice: StoreNotice) -> Self {
        Self::Store(notice)
    }
}

impl fmt::Display for RunWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(notice) => notice.fmt(f),
            Self::RestorableCopy(path) => {
                write!(f, "--recover goes back to the last good copy of `{}`", path.display())
            }
            Self::Plugin(warning) => f.write_str(warning),
            Self::ModulesConverged(modules) => {
                let named = modules.iter().take(MAX_NAMED_MODULES).map(String::as_str);
                let named = named.collect::<Vec<_>>().join(", ");
                write!(f, "converged, later cycles leave out until the source changes: {named}")?;
                match modules.len().saturating_sub(MAX_NAMED_MODULES) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::RunConverged { cycle, cycles } => {
                write!(f, "ROI and synergy have converged: ended after cycle {cycle} of {cycles}")
            }
            Self::RoiCollapse { module, cycles: None } => {
                write!(f, "{module}: its ROI is at or below zero")
            }
            Self::RoiCollapse { module, cycles: Some(cycles) } => {
                write!(
                    f,
                    "{module}: its ROI reaches zero in {cycles} cycles if the trend continues"
                )
            }
            Self::ModulesLeftOut(count) => {
                let modules = if *count == 1 { "module" } else { "modules" };
                write!(
                    f,
                    "left out because they have converged: {count} {modules}; \
                     --reset-flags begins again"
                )
            }
            Self::Borderline { module, status } => {
                let result = match status {
                    BorderlineStatus::Pending => "waits for a micro-pilot",
                    BorderlineStatus::Promoted => "was promoted by a micro-pilot",
                    BorderlineStatus::Terminated => "was terminated by a micro-pilot",
                };
                write!(f, "{module} is on the border and {result}")
            }
        }
    }
}

/// The warnings of a run, each once, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct WarningLog(Vec<String>);

impl WarningLog {
    /// Adds new warnings, and passes them on to the observer.
    pub(super) fn add<W: Into<RunWarning>>(
        &mut self,
        warnings: impl IntoIterator<Item = W>,
        observer: &mut dyn RunObserver,
    ) {
        for warning in warnings {
            let text = warning.into().to_string();
            if !self.0.contains(&text) {
                observer.on_event(RunEvent::Warning(&text));
                self.0.push(text);
            }
        }
    }

    pub(super) fn into_texts(self) -> Vec<String> {
        self.0
    }
}
