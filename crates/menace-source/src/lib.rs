//! placeholder

pub mod check;
