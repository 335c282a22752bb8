//! The command line of Menace. What each command does is in `commands`.

mod args;
mod cache;
mod commands;
mod context;
mod data;
mod exit;
mod isolation;
mod logs;
mod python;
mod render;
mod selection;
mod serving;
mod setting_flags;
mod stubs;
mod suggest;

use std::process::ExitCode;

use clap::Parser;

/// Parsing allocates millions of small trees; this allocator is made for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Sandboxes start this very program to become their PID 1.
    if menace_sandbox::init::requested() {
        menace_sandbox::init::run();
    }
    let arguments = args::Arguments::parse();
    match commands::dispatch(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => exit::report(&failure),
    }
}
