//! The engine: plans cycles over a repository, makes their calls in sandboxes, confirms and scores
//! the results, and stores them.
//!
//! The crates below analyse, generate inputs, isolate, score and store; this one is the only one
//! that uses all of them.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they read"))]

mod assess;
mod calls;
pub mod cycle;
mod explore;
pub mod failure;
pub mod inputs;
pub mod metrics;
mod plugin;
pub mod pytest;
mod reach;
pub mod run;
mod survey;
pub mod targets;

pub use explore::{ExplorationResult, ExploreError, ExploreOptions, explore};
pub use reach::{ReachOptions, ReachResult, reach};
pub use survey::SurveyedAnalysis;
