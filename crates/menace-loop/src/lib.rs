//! Where source, scenarios and sandbox meet: makes the calls that a plan asks for, and learns from
//! what came of them.

mod explore;
pub mod inputs;
mod reach;
mod survey;
pub mod targets;

pub use explore::{Exploration, ExploreError, Explored, Made, explore};
pub use reach::{Reach, Reached, reach};
pub use survey::Surveyed;
