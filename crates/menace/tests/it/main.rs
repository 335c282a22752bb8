//! The commands as their users meet them: the real binary on copies of the fixtures.

mod analyze;
mod answers;
mod cache;
mod conditions;
mod doctor;
mod ending;
mod exec;
mod explore;
mod inputs;
mod isolation;
mod presets;
mod processes;
mod program;
mod reach;
mod scanners;
mod settings;
mod trial;
