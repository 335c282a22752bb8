//! An init without the rest of Menace, for this crate's own tests and benchmarks.

fn main() {
    if menace_sandbox::init::is_requested() {
        menace_sandbox::init::run();
    }
}
