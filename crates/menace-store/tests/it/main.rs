//! The store as its users see it: real files, real processes, real damage.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

mod borderline;
mod damage;
mod disks;
mod failures;
mod flags;
mod hostile;
mod metrics;
mod opening;
mod pages;
mod processes;
mod runs;
mod sample;
mod synergy;
