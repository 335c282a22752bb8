//! What the code is put through: presets and profiles, inputs, and which of them are worth trying.
//!
//! Pure: it neither reads files nor runs anything. Reading Python belongs to `menace-source`, making
//! the calls to `menace-sandbox`, and bringing them together to `menace-loop`.
//! Invariant: the same seed, source and settings give the same plan.

pub mod explore;
pub mod fixtures;
pub mod input;
pub mod judge;
mod notation;
pub mod preset;
mod problem;
pub mod shrink;

pub use problem::{Problem, Problems};
