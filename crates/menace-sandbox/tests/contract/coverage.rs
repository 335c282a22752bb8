//! Lines and branches that a call reached are reported when they are wanted.

use menace_model::{FileCoverage, Outcome, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{CallBuilder, ContractBench, build_call, build_module_call, guest};
use crate::reading::assert_fault_free;

crate::on_every_tier![
    lines_and_branches_are_those_that_were_reached,
    what_is_awaited_iterated_or_raised_is_reached_too,
    other_files_of_the_repository_count_and_no_others,
    the_top_level_is_reached_when_it_is_what_is_called,
    the_same_call_reaches_the_same_and_the_next_one_is_not_watched,
    a_killed_call_reports_no_coverage,
];

const GUEST: &str = guest!("coverage.py");

impl CallBuilder {
    fn watched(mut self) -> Self {
        self.0.coverage = true;
        self
    }
}

/// The line of the guest that has this text.
fn line(text: &str) -> u32 {
    let found = GUEST.lines().position(|line| line.trim() == text);
    found.map_or_else(|| panic!("no line `{text}`"), |at| at as u32 + 1)
}

fn lines(texts: &[&str]) -> Vec<u32> {
    texts.iter().map(|text| line(text)).collect()
}

fn reached<'a>(outcome: &'a Outcome, file: &str) -> &'a FileCoverage {
    let coverage = outcome.coverage.as_ref().expect("it was asked for");
    let found = coverage.files.iter().find(|one| one.file == file);
    found.unwrap_or_else(|| panic!("nothing of {file}: {coverage:?}"))
}

fn integers(numbers: &[i64]) -> Value {
    Value::List(numbers.iter().copied().map(Value::Int).collect())
}

fn lines_and_branches_are_those_that_were_reached(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let (asks, one, two) = (line("if x > 1:"), line("a = 1"), line("a = 2"));
    for (x, taken, other) in [(2, one, two), (0, two, one)] {
        let outcome = session.run(build_call("choose").with([Value::Int(x)]).watched());
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
        let found = reached(&outcome, "guest.py");
        assert_eq!(found.lines, [asks, taken, line("return a")]);
        assert!(found.branches.contains(&(asks, taken)), "{found:?}");
        assert!(!found.branches.contains(&(asks, other)), "{found:?}");
    }
    let (head, asks, adds) = (line("for x in xs:"), line("if x > 2:"), line("total += x"));
    let outcome = session.run(build_call("loop").with([integers(&[1, 3])]).watched());
    let found = reached(&outcome, "guest.py");
    for branch in [(head, asks), (asks, adds), (asks, head), (head, line("return total"))] {
        assert!(found.branches.contains(&branch), "{branch:?}: {found:?}");
    }
    let outcome = session.run(build_call("loop").with([integers(&[])]).watched());
    assert_eq!(
        reached(&outcome, "guest.py").lines,
        lines(&["total = 0", "for x in xs:", "return total"])
    );
}

fn what_is_awaited_iterated_or_raised_is_reached_too(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut found =
        |ask: CallBuilder| reached(&session.run(ask.watched()), "guest.py").lines.clone();
    assert_eq!(found(build_call("generator")), lines(&["yield 1", "yield 2"]));
    assert_eq!(found(build_call("later")), lines(&["return 3"]));
    let fails = ["try:", "return 1 // x", "except ZeroDivisionError:", "raise ValueError(x)"];
    assert_eq!(found(build_call("fails").with([Value::Int(0)])), lines(&fails));
}

fn other_files_of_the_repository_count_and_no_others(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let outcome = bench.run(build_call("elsewhere").watched());
    let coverage = outcome.coverage.expect("it was asked for");
    let files: Vec<&str> = coverage.files.iter().map(|one| one.file.as_str()).collect();
    assert_eq!(files, ["guest.py", "package/inner.py"]);
    assert_eq!(coverage.files[1].lines, [2]);
}

fn the_top_level_is_reached_when_it_is_what_is_called(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let outcome = bench.run(build_module_call().watched());
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    let found = reached(&outcome, "guest.py");
    assert!(found.lines.contains(&line("def fine():")), "{found:?}");
    assert!(!found.lines.contains(&line("return \"fine\"")), "{found:?}");
}

fn the_same_call_reaches_the_same_and_the_next_one_is_not_watched(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let looping = || build_call("loop").with([integers(&[1, 3, 5])]);
    let first = session.run(looping().watched());
    assert_eq!(session.run(looping().watched()).coverage, first.coverage);
    let calm = session.run(looping());
    assert_eq!(calm.verdict, Verdict::Returned, "{calm:#?}");
    assert_fault_free(&calm);
    session.assert_still_works();
}

fn a_killed_call_reports_no_coverage(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(build_call("hangs").watched().timeout(400));
    assert_eq!((outcome.verdict, outcome.coverage), (Verdict::TimedOut, None));
    session.assert_still_works();
}
