//! Where source, scenarios and sandbox meet: makes the calls that a plan asks for, and learns from
//! what came of them.

mod calls;
pub mod cycle;
pub mod decided;
mod explore;
pub mod failure;
pub mod inputs;
pub mod metrics;
mod plugin;
pub mod pytest;
mod reach;
pub mod report;
pub mod run;
mod survey;
pub mod targets;

pub use explore::{Exploration, ExploreError, Explored, Made, explore};
pub use reach::{Reach, Reached, reach};
pub use survey::Surveyed;
