//! The commands as their users meet them: the real binary on copies of the fixtures.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]

mod analyze;
mod assess;
mod cache;
mod conditions;
mod convergence;
mod doctor;
mod exec;
mod exec_cleanup;
mod explore;
mod failure_kinds;
mod failures;
mod inputs;
mod isolation;
mod killed_run;
mod old_data;
mod presets;
mod processes;
mod program;
mod reach;
mod run;
mod scanners;
mod security_page;
mod servers;
mod settings;
mod single_module;
mod store_contents;
mod stored_data;
mod trust;
mod upstream_replies;
mod validity;
