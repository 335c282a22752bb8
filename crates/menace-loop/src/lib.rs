//! Where source, scenarios and sandbox meet: makes the calls that a plan asks for, and learns from
//! what came of them.

pub mod targets;
