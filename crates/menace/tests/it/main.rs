//! The commands as their users meet them: the real binary on copies of the fixtures.

mod analyze;
mod doctor;
mod exec;
mod presets;
mod processes;
mod program;
mod scanners;
mod settings;
