//! `cargo test` ends with one summary per test program; this adds one for all of them.

use anyhow::{Result, ensure};

use crate::run::ProgramCommand;

#[derive(Debug, Default, PartialEq, Eq)]
struct TestCounts {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl TestCounts {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    fn add_result_line(&mut self, line: &str) {
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
pub(crate) fn run_with_summary(tests: ProgramCommand) -> Result<()> {
    let mut counts = TestCounts::default();
    let succeeded = tests.run_with_lines(|line| counts.add_result_line(line))?;
    println!("{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.ignored);
    ensure!(succeeded && counts.failed == 0, "tests failed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_all_programs_add_up() {
        let mut counts = TestCounts::default();
        counts.add_result_line(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; finished in 0.0s",
        );
        counts.add_result_line("running 2 tests");
        counts.add_result_line("test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured");
        assert_eq!(counts, TestCounts { passed: 4, failed: 1, ignored: 1 });
    }
}
