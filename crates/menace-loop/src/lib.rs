//! Where source, scenarios and sandbox meet: makes the calls that a plan asks for, and learns from
//! what came of them.

mod explore;
mod reach;
pub mod targets;

pub use explore::{Exploration, ExploreError, Explored, explore};
pub use reach::{Reach, Reached, reach};
