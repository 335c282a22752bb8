//! The commands as their users meet them: the real binary on copies of the fixtures.

mod analyze;
mod answers;
mod cache;
mod conditions;
mod convergence;
mod doctor;
mod ending;
mod exec;
mod explore;
mod failure_kinds;
mod failures;
mod inputs;
mod isolation;
mod killed;
mod looking;
mod presets;
mod processes;
mod program;
mod reach;
mod run;
mod scanners;
mod seeing;
mod settings;
mod stored;
mod trial;
mod validity;
