//! Guests that get at the descriptors and the memory through which the sandbox talks.

use menace_model::{Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{ContractBench, build_call, guest, items, text};

crate::on_every_tier![
    closing_descriptors_hides_no_result,
    writing_to_every_descriptor_does_no_harm,
    the_descriptors_of_the_interpreter_are_out_of_reach,
    the_memory_of_the_interpreter_is_out_of_reach_at_every_level,
    output_can_be_exchanged_but_not_for_the_next_call,
    non_blocking_output_is_not_handed_on,
    a_corrupted_mailbox_is_no_result,
    a_forged_report_takes_no_more_time_than_there_was,
];

const GUEST: &str = guest!("descriptors.py");

fn closing_descriptors_hides_no_result(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for (first, last) in [(0, 101), (0, 2048), (3, 1000), (900, 1000)] {
        let close = build_call("close").with([Value::Int(first), Value::Int(last)]);
        assert_eq!(session.value(close), Value::Int(7), "{first} to {last}");
        session.assert_still_works();
    }
    assert_eq!(session.value(build_call("close_in_c")), Value::Int(7));
    session.assert_still_works();
}

fn writing_to_every_descriptor_does_no_harm(tier: Tier) {
    // Open in this process, and handed on to whatever it starts.
    let _inherited = nix::unistd::pipe().expect("a pipe");
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(build_call("write_everywhere"));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    let written = outcome.result.value.and_then(|value| value.value).expect("a list");
    let numbers: Vec<_> =
        items(&written).iter().filter_map(|fd| text(fd).split(' ').next()).collect();
    // Its output, and the pipe for the stack dumps of a killed call.
    assert_eq!(numbers, ["1", "2", "904"], "{written:?}");
    session.assert_still_works();
}

fn the_descriptors_of_the_interpreter_are_out_of_reach(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    for level in [1, 3] {
        let mut spec = bench.spec();
        spec.confinement.security_level = level.try_into().unwrap();
        let mut session = bench.session_of(&spec);
        let outcome = session.run(build_call("write_to_the_interpreter"));
        session.assert_still_works();
        let reached = outcome.result.value.and_then(|value| value.value);
        assert_eq!(reached, Some(Value::List(vec![])), "level {level}");
    }
}

fn the_memory_of_the_interpreter_is_out_of_reach_at_every_level(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    for level in 1..=5 {
        let mut spec = bench.spec();
        spec.confinement.security_level = level.try_into().unwrap();
        let mut session = bench.session_of(&spec);
        let outcome = session.run(build_call("write_into_the_interpreter"));
        let answer = outcome.result.value.and_then(|value| value.value).expect("it answers");
        session.assert_still_works();
        assert_ne!(text(&answer), "written", "level {level}");
    }
}

fn output_can_be_exchanged_but_not_for_the_next_call(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    assert_eq!(session.value(build_call("exchange_the_output")), Value::from("into the pipe"));
    let outcome = session.run(build_call("print_much"));
    assert_eq!(outcome.stdout.bytes, 40 * (100 << 10));
}

fn non_blocking_output_is_not_handed_on(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    assert_eq!(session.value(build_call("make_output_non_blocking")), Value::Int(7));
    let outcome = session.run(build_call("print_much"));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert_eq!(outcome.stdout.bytes, 40 * (100 << 10));
}

fn a_corrupted_mailbox_is_no_result(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for byte in [0x00, 0x02, 0x03, 0xff] {
        let outcome = session.run(build_call("tamper_the_mailbox").with([Value::Int(byte)]));
        assert_eq!(outcome.verdict, Verdict::Crashed, "{byte:#x}: {outcome:#?}");
        assert!(outcome.exit.code.is_some_and(|code| code > 40), "{:?}", outcome.exit);
        assert_eq!(outcome.value, None);
        session.assert_still_works();
    }
}

fn a_forged_report_takes_no_more_time_than_there_was(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let outcome = bench.run(build_call("forge_a_report"));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    let metrics = &outcome.runtime_metrics;
    assert!(metrics.wall_ms <= metrics.total_ms, "{metrics:#?}");
    let processors = std::thread::available_parallelism().expect("some").get() as f64;
    let most = metrics.total_ms * processors;
    assert!(metrics.user_cpu_ms + metrics.system_cpu_ms <= most, "{metrics:#?}");
}
