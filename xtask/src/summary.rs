//! `cargo test` ends with one summary per test program; this adds one for all of them.

use anyhow::{Result, ensure};

use crate::run::Program;

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Counts {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    fn add(&mut self, line: &str) {
        let Some((_, result)) = line.split_once("test result: ") else { return };
        for part in result.split([';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(what)) = (words.next(), words.next()) else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// Runs the tests, shows what they print, and ends with the sum.
#[expect(clippy::print_stdout, reason = "this is the user interface of xtask")]
pub(crate) fn run(tests: Program) -> Result<()> {
    let mut counts = Counts::default();
    let succeeded = tests.lines(|line| counts.add(line))?;
    println!("{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.ignored);
    ensure!(succeeded && counts.failed == 0, "tests failed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_all_programs_add_up() {
        let mut counts = Counts::default();
        counts.add("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; finished in 0.0s");
        counts.add("running 2 tests");
        counts.add("test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured");
        assert_eq!(counts, Counts { passed: 4, failed: 1, ignored: 1 });
    }
}
