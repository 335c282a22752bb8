//! The store as its users see it: real files, real processes, real damage.

mod borderline;
mod damage;
mod disks;
mod failures;
mod flags;
mod metrics;
mod opening;
mod pages;
mod processes;
mod runs;
mod sample;
mod synergy;
