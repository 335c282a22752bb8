//! Benchmarks on released packages, which are installed below `target`: what is found of documented
//! bugs ([`corpus`]), and how much of what is reported is worth reading ([`precision`]).

pub(crate) mod arguments;
pub(crate) mod corpus;
mod judgements;
mod menace;
mod packages;
pub(crate) mod precision;
