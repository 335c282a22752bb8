//! A program that is only the init of a sandbox, for tests and benchmarks of this crate.

fn main() {
    if menace_sandbox::init::is_requested() {
        menace_sandbox::init::run();
    }
}
