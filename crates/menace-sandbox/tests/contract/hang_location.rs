//! The outcome of a call that crashed or was killed says where its code was.

use menace_model::{HangLocation, Outcome, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{ContractBench, build_call, guest};

crate::on_every_tier![
    a_crash_is_reported_with_its_line,
    a_call_that_waits_for_ever_is_reported_with_the_line,
    an_endless_loop_is_reported_with_its_lines,
    an_endless_recursion_is_reported_with_its_line,
    an_endless_generator_is_reported_with_its_line,
    a_guest_that_closes_the_dump_pipe_is_stopped_all_the_same,
    what_the_guest_says_itself_is_no_more_than_its_word,
    a_call_that_returns_during_sampling_is_too_late,
];

const GUEST: &str = guest!("hang_location.py");
const TIMEOUT_MS: u64 = 400;

/// The line that has this on it.
fn line_of(mark: &str) -> u32 {
    let at = GUEST.lines().position(|line| line.ends_with(mark));
    u32::try_from(at.expect("a mark") + 1).expect("a line")
}

fn hang_location(outcome: &Outcome) -> &HangLocation {
    outcome.hang_location.as_ref().unwrap_or_else(|| panic!("no hang location: {outcome:#?}"))
}

fn assert_at(outcome: &Outcome, name: &str) {
    let location = hang_location(outcome);
    let last = location.frames.last().expect("a frame");
    assert_eq!((last.file.as_str(), last.line), ("guest.py", line_of(&format!("HERE: {name}"))));
    assert!(last.in_repository && last.function == name, "{location:?}");
}

fn a_crash_is_reported_with_its_line(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for (name, signal) in [("aborts", libc::SIGABRT), ("reads_nothing", libc::SIGSEGV)] {
        let outcome = session.run(build_call(name));
        assert_eq!((outcome.verdict, outcome.exit.signal), (Verdict::Crashed, Some(signal)));
        assert_at(&outcome, name);
        // Its last words are not for others.
        assert_eq!(outcome.stderr.text, "");
        assert_eq!(session.run(build_call("fine")).hang_location, None);
    }
}

fn a_call_that_waits_for_ever_is_reported_with_the_line(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for name in ["sleeps", "waits_for_a_lock", "waits_for_a_thread", "matches"] {
        let outcome = session.run(build_call(name).timeout(TIMEOUT_MS));
        assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
        assert_at(&outcome, name);
        assert!(hang_location(&outcome).loop_frames.is_empty(), "{:?}", outcome.hang_location);
    }
}

fn an_endless_loop_is_reported_with_its_lines(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let outcome = bench.run(build_call("calls_endless_loop").timeout(TIMEOUT_MS));
    let location = hang_location(&outcome);
    assert_eq!(location.frames[0].line, line_of("HERE: calls_endless_loop"), "{location:?}");
    // It may have been on one line each time, or before the loop has begun on a very busy machine.
    let inside = line_of("def goes_round():")..line_of("END: goes_round");
    let found: Vec<u32> =
        location.frames[1..].iter().chain(&location.loop_frames).map(|at| at.line).collect();
    assert!(!found.is_empty() && found.iter().all(|line| inside.contains(line)), "{location:?}");
}

fn an_endless_recursion_is_reported_with_its_line(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    for depth in [60, 300] {
        let asked = build_call("goes_down").with([Value::Int(depth)]).timeout(TIMEOUT_MS);
        assert_at(&bench.run(asked), "goes_down");
    }
}

fn an_endless_generator_is_reported_with_its_line(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for name in ["never_ends", "never_ends_either"] {
        let outcome = session.run(build_call(name));
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
        assert_at(&outcome, name);
    }
}

fn a_guest_that_closes_the_dump_pipe_is_stopped_all_the_same(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(build_call("closes_everything").timeout(TIMEOUT_MS));
    assert_eq!((outcome.verdict, outcome.hang_location), (Verdict::TimedOut, None));
    let outcome = session.run(build_call("is_deaf"));
    assert_eq!((outcome.verdict, outcome.hang_location), (Verdict::Crashed, None));
    assert_at(&session.run(build_call("aborts")), "aborts");
}

fn what_the_guest_says_itself_is_no_more_than_its_word(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let long = "(most recent call first):\n".repeat(1 << 15);
    for lie in ["\0 nonsense", "(most recent call first):\n  File \"", &long] {
        let outcome = session.run(build_call("tells_lies").with([Value::Str(lie.into())]));
        assert_eq!((outcome.verdict, outcome.hang_location), (Verdict::Crashed, None), "{lie:.40}");
        // The next one is reported, whatever was left in the pipe.
        assert_at(&session.run(build_call("aborts")), "aborts");
    }
}

fn a_call_that_returns_during_sampling_is_too_late(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let outcome = bench.session().run(build_call("returns_when_asked").timeout(TIMEOUT_MS));
    assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    assert!(outcome.value.is_none(), "{outcome:#?}");
}
