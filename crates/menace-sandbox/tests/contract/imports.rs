//! A module whose import misbehaves is a finding about that module, and the host is fine.

use menace_model::{CallStage, Limit, Outcome, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{ContractBench, build_call, build_module_call, guest};

crate::on_every_tier![
    an_import_that_hangs_times_out,
    an_import_beyond_the_limits_of_its_call_is_reported,
    an_import_that_multiplies_is_contained,
    an_import_that_ends_the_interpreter_is_a_crash,
    an_import_that_raises_says_where,
    an_import_that_takes_too_much_is_out_of_it,
    an_import_that_corrupts_descriptors_harms_only_itself,
    an_import_that_forges_answers_is_found_out,
    an_import_that_patches_everything_can_be_called,
    an_import_that_ignores_signals_can_be_called_and_stopped,
    an_import_that_keeps_threads_or_children_is_done_anew_for_each_call,
    an_import_that_keeps_sockets_shares_them_with_no_other_call,
    an_import_that_writes_into_the_repository_does_so_for_its_calls_only,
    violations_of_an_import_are_reported,
    an_import_that_signals_init_and_zygote_does_no_harm,
];

const MIB: u64 = 1 << 20;

/// Every call of a module that cannot be imported ends the same way.
fn run_broken_import(tier: Tier, guest: &str) -> Outcome {
    let bench = ContractBench::new(tier, guest);
    let mut spec = bench.spec();
    spec.import_limits.timeout_ms = 500;
    spec.import_limits.processes = 30;
    spec.import_limits.memory_bytes = Some(64 * MIB);
    spec.import_limits.disk_bytes = Some(8 * MIB);
    let mut session = bench.session_of(&spec);
    let first = session.run(build_call("fine"));
    assert_eq!(first.stage, CallStage::Import, "{first:#?}");
    assert_ne!(first.verdict, Verdict::Returned, "{first:#?}");
    let second = session.run(build_call("fine"));
    assert_eq!((second.verdict, second.stage), (first.verdict, CallStage::Import));
    // The same as a call of its own.
    let top_level = session.run(build_module_call().timeout(500).limited(|limits| {
        limits.processes = 30;
        limits.memory_bytes = Some(64 * MIB);
        limits.disk_bytes = Some(8 * MIB);
    }));
    assert_eq!(top_level.verdict, first.verdict, "{:?}, then {top_level:#?}", first.reason);
    first
}

/// Calls of a module that misbehaved but can be used.
fn run_usable_import(tier: Tier, guest: &str) -> Outcome {
    let bench = ContractBench::new(tier, guest);
    let mut session = bench.session();
    let outcome = session.run(build_call("fine"));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    session.assert_still_works();
    outcome
}

fn an_import_that_hangs_times_out(tier: Tier) {
    let outcome = run_broken_import(tier, guest!("imports/loop.py"));
    assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    let total = outcome.runtime_metrics.total_ms;
    assert!(total < 750.0, "dead after {total} ms");
}

/// Where the import has wider limits than the call, what was asked for is not held.
fn an_import_beyond_the_limits_of_its_call_is_reported(tier: Tier) {
    let note = |outcome: &Outcome| {
        outcome.notes.iter().filter(|note| note.contains("wider limits than the call")).count()
    };
    let bench = ContractBench::new(tier, guest!("imports/greedy.py"));
    let mut session = bench.session();
    let tight =
        build_call("fine").timeout(200).limited(|limits| limits.memory_bytes = Some(32 * MIB));
    let outcome = session.run(tight);
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    assert_eq!(outcome.unenforced, [Limit::Timeout, Limit::Memory], "{outcome:#?}");
    assert_eq!(note(&outcome), 1, "{outcome:#?}");
    let wide = session.run(build_call("fine"));
    assert_eq!((wide.unenforced.as_slice(), note(&wide)), (&[][..], 0), "{wide:#?}");
    drop(session);
    drop(bench);

    let bench = ContractBench::new(tier, guest!("imports/loop.py"));
    let mut spec = bench.spec();
    spec.import_limits.timeout_ms = 500;
    let outcome = bench.session_of(&spec).run(build_call("fine").timeout(100));
    assert_eq!((outcome.verdict, outcome.stage), (Verdict::TimedOut, CallStage::Import));
    assert_eq!((outcome.unenforced.as_slice(), note(&outcome)), (&[Limit::Timeout][..], 1));
    assert!(!outcome.enforced_by.contains_key(&Limit::Timeout), "{outcome:#?}");
}

fn an_import_that_multiplies_is_contained(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/fork_bomb.py"));
    let mut spec = bench.spec();
    spec.import_limits.timeout_ms = 500;
    spec.import_limits.processes = 30;
    let mut session = bench.session_of(&spec);
    for _ in 0..2 {
        let outcome = session.run(build_call("fine"));
        assert_eq!(outcome.stage, CallStage::Import, "{outcome:#?}");
        assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
        assert_eq!(outcome.violations[0].detail, "more than 30 processes");
    }
}

fn an_import_that_ends_the_interpreter_is_a_crash(tier: Tier) {
    let outcome = run_broken_import(tier, guest!("imports/exit.py"));
    assert_eq!(outcome.verdict, Verdict::Crashed, "{outcome:#?}");
    assert_eq!(outcome.exit.code, Some(3));
    let outcome = run_broken_import(tier, guest!("imports/segfault.py"));
    assert_eq!(outcome.verdict, Verdict::Crashed, "{outcome:#?}");
    assert_eq!(outcome.exit.signal, Some(libc::SIGSEGV));
    let outcome = run_broken_import(tier, guest!("imports/ask_to_exit.py"));
    assert_eq!(outcome.verdict, Verdict::Crashed, "{outcome:#?}");
}

fn an_import_that_raises_says_where(tier: Tier) {
    let outcome = run_broken_import(tier, guest!("imports/fails.py"));
    assert_eq!(outcome.verdict, Verdict::Raised, "{outcome:#?}");
    let exception = outcome.result.exception.expect("it raised");
    assert_eq!(exception.kind, "json.decoder.JSONDecodeError");
    let own =
        exception.frames.iter().find(|frame| frame.in_repository).expect("a frame of the guest");
    assert_eq!((own.file.as_str(), own.line), ("guest.py", 3));
}

fn an_import_that_takes_too_much_is_out_of_it(tier: Tier) {
    let outcome = run_broken_import(tier, guest!("imports/allocate.py"));
    assert_eq!(outcome.verdict, Verdict::OutOfMemory, "{outcome:#?}");
    let outcome = run_broken_import(tier, guest!("imports/fill_disk.py"));
    assert_eq!(outcome.verdict, Verdict::OutOfDisk, "{outcome:#?}");
}

fn an_import_that_corrupts_descriptors_harms_only_itself(tier: Tier) {
    for guest in [guest!("imports/close_descriptors.py"), guest!("imports/write_descriptors.py")] {
        let bench = ContractBench::new(tier, guest);
        let mut spec = bench.spec();
        spec.import_limits.timeout_ms = 500;
        let mut session = bench.session_of(&spec);
        let outcome = session.run(build_call("fine"));
        let works = outcome.verdict == Verdict::Returned;
        assert!(works || outcome.stage == CallStage::Import, "{outcome:#?}");
        // In a process of its own, the import is a call like any other.
        let top_level = session.run(build_module_call());
        assert_eq!(top_level.verdict, Verdict::Returned, "{top_level:#?}");
    }
}

fn an_import_that_forges_answers_is_found_out(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/forged.py"));
    let mut spec = bench.spec();
    spec.import_limits.timeout_ms = 500;
    let mut session = bench.session_of(&spec);
    for _ in 0..2 {
        let outcome = session.run(build_call("fine").timeout(500));
        assert_ne!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    }
}

fn an_import_that_patches_everything_can_be_called(tier: Tier) {
    run_usable_import(tier, guest!("imports/patch.py"));
}

fn an_import_that_ignores_signals_can_be_called_and_stopped(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/ignore_signals.py"));
    let mut session = bench.session();
    session.assert_still_works();
    let outcome = session.run(build_call("loop").timeout(300));
    assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    session.assert_still_works();
}

fn an_import_that_keeps_threads_or_children_is_done_anew_for_each_call(tier: Tier) {
    for guest in [guest!("imports/thread.py"), guest!("imports/child.py")] {
        let outcome = run_usable_import(tier, guest);
        let note = outcome.notes.iter().find(|note| note.starts_with("imported anew"));
        assert!(note.is_some(), "{outcome:#?}");
    }
}

fn an_import_that_keeps_sockets_shares_them_with_no_other_call(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/socket_kept.py"));
    let mut session = bench.session();
    for _ in 0..3 {
        assert_eq!(session.value(build_call("answer")), Value::from("nothing"));
    }
}

fn an_import_that_writes_into_the_repository_does_so_for_its_calls_only(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/write_repository.py"));
    let mut session = bench.session();
    let seen = |text: &str| Value::Tuple(vec![Value::from(text), Value::Bool(false)]);
    for _ in 0..2 {
        assert_eq!(session.value(build_call("written")), seen("by the import"));
        assert_eq!(session.value(build_call("write_more")), seen("by the import and by a call"));
        session.assert_still_works();
    }
}

fn violations_of_an_import_are_reported(tier: Tier) {
    for (guest, named) in [
        (guest!("imports/ptrace.py"), "ptrace("),
        (guest!("imports/read_outside.py"), "/etc/shadow"),
    ] {
        let bench = ContractBench::new(tier, guest);
        let mut session = bench.session();
        let outcome = session.run(build_module_call());
        assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
        assert!(outcome.violations[0].detail.contains(named), "{:?}", outcome.violations);
        // Its functions can be called, and each outcome says what their module did.
        for _ in 0..2 {
            let outcome = session.run(build_call("fine"));
            assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
            assert!(outcome.notes.iter().any(|note| note.contains(named)), "{outcome:#?}");
        }
    }
}

fn an_import_that_signals_init_and_zygote_does_no_harm(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/signal_init.py"));
    let mut session = bench.session();
    let outcome = session.run(build_module_call());
    assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
    assert!(outcome.violations.iter().all(|v| v.kind == "signal"), "{:?}", outcome.violations);
    session.assert_still_works();
}
