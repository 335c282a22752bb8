//! Metrics for Prometheus, read from what is stored whenever somebody asks.
//!
//! There is a writer of our own, as nothing is counted here: a scrape turns rows into text. A
//! library of counters would want to own the numbers, and to name them its way.
//! Invariant: a name is declared in one table or it is not exposed.

mod declared;
mod gather;
mod text;

pub use declared::{DECLARED, Declared, Kind, Origin};
pub(crate) use gather::{everything, self_tests, synergy};
pub use text::{CONTENT_TYPE, Exposition};
