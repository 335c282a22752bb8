//! Of a call that did not live to tell, the outcome says where its code was.

use menace_model::{Outcome, Stood, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{Bench, ask, guest};

crate::on_every_tier![
    a_crash_is_told_with_its_line,
    who_waits_for_ever_is_told_with_the_line,
    who_goes_round_is_told_with_the_lines_between_which,
    who_goes_down_too_deep_is_told_with_the_line_that_does,
    who_always_has_more_to_give_is_told_with_the_line,
    who_closes_the_way_to_tell_is_stopped_all_the_same,
    what_the_guest_says_itself_is_no_more_than_its_word,
    who_returns_when_asked_is_too_late,
];

const GUEST: &str = guest!("whereabouts.py");
const TIMEOUT_MS: u64 = 400;

/// The line that has this on it.
fn line_of(mark: &str) -> u32 {
    let at = GUEST.lines().position(|line| line.ends_with(mark));
    u32::try_from(at.expect("a mark") + 1).expect("a line")
}

fn stood(outcome: &Outcome) -> &Stood {
    outcome.stood.as_ref().unwrap_or_else(|| panic!("nothing was told: {outcome:#?}"))
}

fn assert_at(outcome: &Outcome, name: &str) {
    let stood = stood(outcome);
    let last = stood.frames.last().expect("a frame");
    assert_eq!((last.file.as_str(), last.line), ("guest.py", line_of(&format!("HERE: {name}"))));
    assert!(last.own && last.function == name, "{stood:?}");
}

fn a_crash_is_told_with_its_line(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    for (name, signal) in [("aborts", libc::SIGABRT), ("reads_nothing", libc::SIGSEGV)] {
        let outcome = session.run(ask(name));
        assert_eq!((outcome.verdict, outcome.exit.signal), (Verdict::Crashed, Some(signal)));
        assert_at(&outcome, name);
        // Its last words are not for others.
        assert_eq!(outcome.stderr.text, "");
        assert_eq!(session.run(ask("fine")).stood, None);
    }
}

fn who_waits_for_ever_is_told_with_the_line(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    for name in ["sleeps", "waits_for_a_lock", "waits_for_a_thread", "matches"] {
        let outcome = session.run(ask(name).timeout(TIMEOUT_MS));
        assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
        assert_at(&outcome, name);
        assert!(stood(&outcome).among.is_empty(), "{:?}", outcome.stood);
    }
}

fn who_goes_round_is_told_with_the_lines_between_which(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let outcome = bench.run(ask("calls_who_goes_round").timeout(TIMEOUT_MS));
    let stood = stood(&outcome);
    assert_eq!(stood.frames[0].line, line_of("HERE: calls_who_goes_round"), "{stood:?}");
    // It may have been on one line each time, or before the loop has begun on a very busy machine.
    let inside = line_of("def goes_round():")..line_of("END: goes_round");
    let found: Vec<u32> = stood.frames[1..].iter().chain(&stood.among).map(|at| at.line).collect();
    assert!(!found.is_empty() && found.iter().all(|line| inside.contains(line)), "{stood:?}");
}

fn who_goes_down_too_deep_is_told_with_the_line_that_does(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    for depth in [60, 300] {
        let asked = ask("goes_down").with([Value::Int(depth)]).timeout(TIMEOUT_MS);
        assert_at(&bench.run(asked), "goes_down");
    }
}

fn who_always_has_more_to_give_is_told_with_the_line(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    for name in ["never_ends", "never_ends_either"] {
        let outcome = session.run(ask(name));
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
        assert_at(&outcome, name);
    }
}

fn who_closes_the_way_to_tell_is_stopped_all_the_same(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(ask("closes_everything").timeout(TIMEOUT_MS));
    assert_eq!((outcome.verdict, outcome.stood), (Verdict::TimedOut, None));
    let outcome = session.run(ask("is_deaf"));
    assert_eq!((outcome.verdict, outcome.stood), (Verdict::Crashed, None));
    assert_at(&session.run(ask("aborts")), "aborts");
}

fn what_the_guest_says_itself_is_no_more_than_its_word(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let mut session = bench.session();
    let long = "(most recent call first):\n".repeat(1 << 15);
    for lie in ["\0 nonsense", "(most recent call first):\n  File \"", &long] {
        let outcome = session.run(ask("tells_lies").with([Value::Str(lie.into())]));
        assert_eq!((outcome.verdict, outcome.stood), (Verdict::Crashed, None), "{lie:.40}");
        // The next one is heard, whatever was left in the pipe.
        assert_at(&session.run(ask("aborts")), "aborts");
    }
}

fn who_returns_when_asked_is_too_late(tier: Tier) {
    let bench = Bench::new(tier, GUEST);
    let outcome = bench.session().run(ask("returns_when_asked").timeout(TIMEOUT_MS));
    assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    assert!(outcome.value.is_none(), "{outcome:#?}");
}
