//! Inputs and presets of calls, the oracles that judge outcomes, exploring and shrinking.
//!
//! | module | concern | may use |
//! |---|---|---|
//! | `config` | configuration that users write as JSON, and its problems | – |
//! | [`regex`] | texts that a regular expression searches for long | – |
//! | [`input`] | arguments, receivers and files of calls | `config`, `regex` |
//! | [`preset`] | limits, faults and network conditions; profiles | `config`, `input` |
//! | [`domain`] | which values parameters take, and whether an input is one of them | `input` |
//! | [`judge`] | oracles: outcome of a call → weakness or none | `input` |
//! | [`explore`] | coverage-guided search for failing inputs of a section | `input`, `judge` |
//! | [`shrink`] | a failing call → a smaller one that fails the same way | – |
//!
//! Pure: it neither reads files nor runs anything. Reading Python belongs to `menace-source`,
//! making the calls to `menace-sandbox`, and bringing them together to `menace-loop`.
//! Invariants: the same seed, source and settings give the same plan; the modules use each other
//! only as the table says, which `tests/layers.rs` checks.

mod config;
pub mod domain;
pub mod explore;
pub mod input;
pub mod judge;
pub mod preset;
pub mod regex;
pub mod shrink;

pub use config::{ConfigError, ConfigProblem};
