//! The command line of Menace. What each command does is in `commands`.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they read"))]

mod analysis;
mod args;
mod cache;
mod call_preset;
mod call_target;
mod commands;
mod context;
mod data_dir;
mod exit;
mod external_inputs;
mod finding_filter;
mod interrupt;
mod isolation;
mod logs;
mod preset_files;
mod python;
mod render;
mod repeat;
mod report_page;
mod selection;
mod servers;
mod setting_flags;

use std::process::ExitCode;

use clap::Parser;

/// Parsing allocates millions of small trees; this allocator is made for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Sandboxes start this very program to become their PID 1.
    if menace_sandbox::init::is_requested() {
        menace_sandbox::init::run();
    }
    let arguments = args::CommandLineArgs::parse();
    match commands::dispatch(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => exit::report(&failure),
    }
}
