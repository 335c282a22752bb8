//! What a guest says of itself is checked against what init saw, and what an import did to the
//! harness is named.

use menace_model::{
    CallStage, CallStep, CallTarget, FaultMode, FaultSpec, FaultTrigger, ModuleRef, Outcome,
    SandboxSpec, TargetKind, Value, Verdict,
};
use menace_sandbox::{SyscallInterposition, Tier};

use crate::bench::{CallBuilder, ContractBench, build_call, guest};
use crate::reading::returned;

crate::on_every_tier![
    a_full_report_of_a_process_that_died_is_forged,
    a_short_report_does_not_hide_how_a_process_ended,
    a_report_of_another_process_does_not_hide_a_death,
    a_crash_while_a_result_is_described_is_a_crash,
    forged_reports_of_steps_are_dropped,
    a_flood_of_refused_calls_hides_no_other_kind,
    a_flood_of_missing_files_does_not_go_unseen,
    a_flood_in_python_hides_no_other_kind,
    violations_between_two_calls_belong_to_the_next_one,
    faults_cannot_be_switched_off_unseen,
    an_import_that_changes_the_harness_is_refused,
    a_fork_hook_that_changes_the_harness_is_found_in_each_call,
    no_fork_hook_runs_in_the_interpreter_that_is_forked,
    an_interpreter_that_lies_about_an_end_is_found_out,
    fork_hooks_of_an_import_are_named,
];

const GUEST: &str = guest!("lies.py");
const PATCHING_GUEST: &str = guest!("imports/patch_harness.py");
const SHORT: Value = Value::Int(2);
const FULL: Value = Value::Int(3);

fn kinds(outcome: &Outcome) -> Vec<&str> {
    outcome.violations.iter().map(|violation| violation.kind.as_str()).collect()
}

fn assert_forged(outcome: &Outcome) {
    assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
    // One attempt may contradict several facts.
    let mut kinds = kinds(outcome);
    kinds.dedup();
    assert_eq!(kinds, ["forged_report"], "{outcome:#?}");
    assert_eq!(outcome.reason.as_deref(), Some("the guest forged its report"));
    assert_eq!((&outcome.value, &outcome.exception), (&None, &None));
}

/// Ways to end that no regular call has, and the verdict that each deserves.
fn ends(phase: &Value) -> Vec<(CallBuilder, Verdict)> {
    let call = |name: &str, more: &[i64]| {
        let more = more.iter().map(|number| Value::Int(*number));
        build_call(name).with([phase.clone()].into_iter().chain(more)).timeout(400)
    };
    let signal = |number: i32| call("forge_and_die", &[i64::from(number)]);
    vec![
        (signal(libc::SIGSEGV), Verdict::Crashed),
        (signal(libc::SIGKILL), Verdict::Crashed),
        (signal(libc::SIGSEGV).with([Value::from("raised")]), Verdict::Crashed),
        (call("forge_and_leave", &[3]), Verdict::Crashed),
        (call("forge_and_leave", &[73]), Verdict::Crashed),
        (call("forge_and_hang", &[]), Verdict::TimedOut),
    ]
}

fn a_full_report_of_a_process_that_died_is_forged(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for (call, _) in ends(&FULL) {
        assert_forged(&session.run(call));
        session.assert_still_works();
    }
}

/// The harness itself writes it before it asks the guest's objects for their texts, which may end
/// the process: no forgery, and no result either.
fn a_short_report_does_not_hide_how_a_process_ended(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for (call, verdict) in ends(&SHORT) {
        let outcome = session.run(call);
        assert_eq!(outcome.verdict, verdict, "{outcome:#?}");
        assert_eq!((&outcome.value, &outcome.exception), (&None, &None));
        let is_named = outcome.notes.iter().any(|note| note.contains("was being described"));
        assert!(is_named, "{:?}", outcome.notes);
    }
    session.assert_still_works();
}

fn a_report_of_another_process_does_not_hide_a_death(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    assert_forged(&session.run(build_call("forge_in_a_fork").with([FULL])));
    let outcome = session.run(build_call("forge_in_a_fork").with([SHORT]));
    assert_eq!(outcome.verdict, Verdict::Crashed, "{outcome:#?}");
}

fn a_crash_while_a_result_is_described_is_a_crash(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(build_call("crash_when_described"));
    assert_eq!(outcome.verdict, Verdict::Crashed, "{outcome:#?}");
    assert_eq!((outcome.exit.signal, kinds(&outcome).len()), (Some(libc::SIGABRT), 0));
    let place = outcome.hang_location.as_ref().expect("faulthandler tells where");
    assert_eq!(place.frames.last().map(|frame| &*frame.file), Some("guest.py"), "{place:?}");
    session.assert_still_works();
}

fn forged_reports_of_steps_are_dropped(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let step = |qualname: &str, args: &[Value]| {
        let module = ModuleRef { name: "guest".to_owned(), path: None };
        let qualname = qualname.to_owned();
        let target = CallTarget { module, qualname, kind: TargetKind::Function };
        CallStep { args: args.to_vec(), ..CallStep::new(target) }
    };
    let segfault = Value::Int(i64::from(libc::SIGSEGV));
    let run = |phase: Value| {
        let mut call = build_call("fine");
        call.0.shared_steps = vec![
            step("put", &[Value::Int(1)]),
            step("forge_and_die", &[phase, segfault.clone()]),
            step("put", &[Value::Int(2)]),
        ];
        bench.run(call)
    };
    let outcome = run(FULL);
    assert_forged(&outcome);
    assert_eq!(outcome.steps, []);
    // The step that ended the process is the one that had begun.
    let outcome = run(SHORT);
    let verdicts: Vec<Verdict> = outcome.steps.iter().map(|step| step.verdict).collect();
    assert_eq!(verdicts, [Verdict::Returned, Verdict::Crashed], "{outcome:#?}");
}

fn a_flood_of_refused_calls_hides_no_other_kind(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let outcome = bench.run(build_call("flood_system_calls").with([Value::Int(200)]));
    assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
    let found = kinds(&outcome);
    assert!(found.contains(&"network") && found.contains(&"namespace"), "{found:?}");
    let rest =
        outcome.notes.iter().any(|note| note == "136 more forbidden attempts are not listed");
    assert!(rest, "{:?}", outcome.notes);
}

fn a_flood_of_missing_files_does_not_go_unseen(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let secret = || Value::from("/etc/shadow");
    let mut session = bench.session();
    let outcome = session.run(build_call("flood_files").with([Value::Int(1500), secret()]));
    assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
    // Fewer are mistakes, and hide nothing.
    let outcome = session.run(build_call("flood_files").with([Value::Int(300), secret()]));
    let details: Vec<&str> = outcome.violations.iter().map(|it| it.detail.as_str()).collect();
    assert_eq!(details, ["read /etc/shadow"], "{outcome:#?}");
    let none = Value::from("/nowhere/else");
    let outcome = session.run(build_call("flood_files").with([Value::Int(300), none]));
    assert_eq!(returned(&outcome), &Value::Bool(true));
}

fn a_flood_in_python_hides_no_other_kind(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let flood = |path: &str| build_call("flood_python").with([Value::Int(60), Value::from(path)]);
    let outcome = session.run(flood("/root"));
    assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
    let details: Vec<&str> = outcome.violations.iter().map(|it| it.detail.as_str()).collect();
    assert_eq!(details, ["list /root"], "{outcome:#?}");
    assert_eq!(session.run(flood(".")).verdict, Verdict::Returned);
}

fn patching(bench: &ContractBench, patch: &str) -> SandboxSpec {
    let mut spec = bench.spec();
    spec.environment.push(("PATCH".to_owned(), patch.to_owned()));
    spec
}

fn violations_between_two_calls_belong_to_the_next_one(tier: Tier) {
    let bench = ContractBench::new(tier, PATCHING_GUEST);
    let mut session = bench.session_of(&patching(&bench, "read_in_forks"));
    for _ in 0..3 {
        let outcome = session.run(build_call("fine"));
        assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
        assert!(outcome.violations.iter().any(|it| it.detail == "read /etc/shadow"));
    }
}

fn faults_cannot_be_switched_off_unseen(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut spec = bench.spec();
    spec.interposition = SyscallInterposition { files: true, memory: false, sockets: false };
    let mut session = bench.session_of(&spec);
    let faulty = |name: &str, args: &[Value]| {
        let mut call = build_call(name).with(args.iter().cloned());
        let trigger = FaultTrigger::Nth(2);
        call.0.conditions.faults = vec![FaultSpec { mode: FaultMode::Disk, trigger }];
        call
    };
    let honest = session.run(faulty("write_lines", &[Value::Int(10)]));
    assert_eq!(returned(&honest), &Value::Int(1), "the disk is full");
    assert_eq!(honest.violations, []);
    for (name, args) in [
        ("end_section_early", &[Value::Bool(false)][..]),
        ("end_section_early", &[Value::Bool(true)]),
        ("begin_section_again", &[]),
        ("pause_faults", &[]),
    ] {
        let outcome = session.run(faulty(name, args));
        assert_eq!(outcome.verdict, Verdict::Violated, "{name}: {outcome:#?}");
        assert_eq!(kinds(&outcome), ["forged_report"], "{name}: {outcome:#?}");
        assert_eq!(outcome.value, None, "{name}");
    }
    session.assert_still_works();
}

fn an_import_that_changes_the_harness_is_refused(tier: Tier) {
    let bench = ContractBench::new(tier, PATCHING_GUEST);
    for (patch, named) in [
        ("patch_code", "runtime.child.publish"),
        ("patch_global", "runtime.child.build_short_report"),
        ("patch_default", "runtime.child.publish"),
        ("patch_builtin", "builtins.issubclass"),
        ("patch_class", "runtime.mailbox.Mailbox.report_violation"),
        ("patch_object", "zygote.ops.fork_ahead"),
        ("add_audit_hook", "an audit hook"),
        ("map_mailbox", "a second mapping of the mailbox"),
    ] {
        let mut session = bench.session_of(&patching(&bench, patch));
        for name in ["fail", "fine"] {
            let outcome = session.run(build_call(name));
            let seen = (outcome.verdict, outcome.stage, kinds(&outcome));
            let expected = (Verdict::Violated, CallStage::Import, vec!["patched_harness"]);
            assert_eq!(seen, expected, "{patch}: {outcome:#?}");
            assert_eq!(outcome.violations[0].detail, named);
            assert_eq!(outcome.reason.as_deref(), Some("its import changed the harness"));
            assert_eq!(outcome.value, None);
        }
        // Other modules are called by a harness of their own.
        let module = ModuleRef { name: "package.inner".to_owned(), path: None };
        let spec = SandboxSpec { module: Some(module.clone()), ..bench.spec() };
        let mut call = build_call("where");
        call.0.target.module = module;
        let value = bench.session_of(&spec).value(call);
        assert_eq!(value, Value::from("package.inner"));
    }
}

fn a_fork_hook_that_changes_the_harness_is_found_in_each_call(tier: Tier) {
    let bench = ContractBench::new(tier, PATCHING_GUEST);
    for patch in ["patch_in_forks", "patch_before_forks", "patch_in_disguise"] {
        let mut session = bench.session_of(&patching(&bench, patch));
        for name in ["fail", "fine", "fail"] {
            let outcome = session.run(build_call(name));
            assert_eq!(outcome.verdict, Verdict::Violated, "{patch}: {outcome:#?}");
            assert_eq!(kinds(&outcome), ["patched_harness"], "{patch}: {outcome:#?}");
            assert_eq!(outcome.violations[0].detail, "runtime.child.publish");
            assert_eq!(outcome.value, None);
        }
    }
}

fn no_fork_hook_runs_in_the_interpreter_that_is_forked(tier: Tier) {
    let bench = ContractBench::new(tier, PATCHING_GUEST);
    let mut session = bench.session_of(&patching(&bench, "patch_in_parents"));
    for _ in 0..2 {
        let outcome = session.run(build_call("die"));
        let seen = (outcome.verdict, outcome.exit.signal);
        assert_eq!(seen, (Verdict::Crashed, Some(libc::SIGKILL)), "{outcome:#?}");
        assert_forged(&session.run(build_call("forge_and_die")));
        assert_eq!(returned(&session.run(build_call("fine"))), &Value::from("fine"));
    }
}

fn an_interpreter_that_lies_about_an_end_is_found_out(tier: Tier) {
    let bench = ContractBench::new(tier, PATCHING_GUEST);
    for (patch, names, detail) in [
        ("patch_in_parents_in_c", &["die", "forge_and_die"][..], "reported another exit status"),
        ("lose_status_in_c", &["fine", "die", "forge_and_die"], "exit status was taken"),
    ] {
        let mut session = bench.session_of(&patching(&bench, patch));
        for name in names {
            let outcome = session.run(build_call(name));
            assert_forged(&outcome);
            let named = outcome.violations[0].detail.contains(detail);
            assert!(named, "{patch}, {name}: {:?}", outcome.violations);
        }
    }
}

fn fork_hooks_of_an_import_are_named(tier: Tier) {
    let bench = ContractBench::new(tier, PATCHING_GUEST);
    let mut session = bench.session_of(&patching(&bench, "watch_forks"));
    for _ in 0..2 {
        let outcome = session.run(build_call("fine"));
        assert_eq!(returned(&outcome), &Value::from("fine"));
        let note = "its import runs code in each fork: guest.fine";
        assert!(outcome.notes.iter().any(|it| it == note), "{:?}", outcome.notes);
    }
}
