//! The outcome tells what happened: exceptions, output, costs, files, what was left.

use menace_model::{FileChangeKind, Outcome, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{ContractBench, build_call, guest};

crate::on_every_tier![
    an_exception_has_frames_and_causes,
    an_exception_of_the_library_shows_whose_frames_are_whose,
    output_is_kept_apart,
    processor_and_wall_time_are_distinguished,
    the_time_of_children_counts,
    memory_is_that_of_the_call,
    bytes_read_and_written_are_counted,
    files_that_were_touched_are_listed,
    what_was_left_behind_is_named,
    equal_results_have_equal_hashes,
    metadata_that_cannot_be_changed_is_noted,
];

const GUEST: &str = guest!("outcome.py");
const MIB: u64 = 1 << 20;

fn an_exception_has_frames_and_causes(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(build_call("fail"));
    assert_eq!(outcome.verdict, Verdict::Raised, "{outcome:#?}");
    let exception = outcome.result.exception.expect("it raised");
    assert_eq!(
        (exception.kind.as_str(), exception.message.as_str()),
        ("ValueError", "no such key")
    );
    let last = exception.frames.last().expect("a frame");
    assert_eq!(
        (last.file.as_str(), last.function.as_str(), last.in_repository),
        ("guest.py", "fail", true)
    );
    let cause = exception.cause.expect("a cause");
    assert_eq!(cause.kind, "KeyError");
    let functions: Vec<&str> = cause.frames.iter().map(|frame| frame.function.as_str()).collect();
    assert_eq!(functions, ["fail", "look_up"]);
    assert!(cause.frames.iter().all(|frame| frame.line > 0 && frame.file == "guest.py"));
    let outcome = session.run(build_call("fail_with_errno"));
    assert_eq!(outcome.result.exception.expect("it raised").errno, Some(libc::ENOENT));
}

fn an_exception_of_the_library_shows_whose_frames_are_whose(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let exception =
        bench.run(build_call("fail_inside_the_library")).result.exception.expect("it raised");
    let own: Vec<bool> = exception.frames.iter().map(|frame| frame.in_repository).collect();
    assert_eq!((own.first(), own.last()), (Some(&true), Some(&false)), "{exception:#?}");
    assert!(exception.frames.iter().all(|frame| !frame.file.contains("menace")), "{exception:#?}");
}

fn output_is_kept_apart(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(build_call("talk"));
    assert_eq!(outcome.stdout.text, "to stdout\nwithout a line end");
    assert_eq!(outcome.stderr.text, "to stderr\n");
    assert_eq!((outcome.stdout.bytes, outcome.stdout.truncated), (28, false));
    assert_eq!(session.run(build_call("print_bytes")).stdout.text, "\u{fffd}\u{fffd} ok");
    assert_eq!(session.run(build_call("fine")).stdout.bytes, 0);
}

fn cpu(outcome: &Outcome) -> f64 {
    outcome.runtime_metrics.user_cpu_ms + outcome.runtime_metrics.system_cpu_ms
}

fn processor_and_wall_time_are_distinguished(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let burnt = session.run(build_call("burn"));
    assert!((120.0..400.0).contains(&cpu(&burnt)), "{:?}", burnt.runtime_metrics);
    let rested = session.run(build_call("rest"));
    assert!(cpu(&rested) < 75.0, "{:?}", rested.runtime_metrics);
    for outcome in [burnt, rested] {
        let metrics = outcome.runtime_metrics;
        assert!(metrics.wall_ms >= 145.0 && metrics.total_ms >= metrics.wall_ms, "{metrics:?}");
    }
}

fn the_time_of_children_counts(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let outcome = bench.run(build_call("burn_in_a_child"));
    assert!(cpu(&outcome) > 100.0, "{:?}", outcome.runtime_metrics);
}

fn memory_is_that_of_the_call(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let much = session.run(build_call("allocate")).runtime_metrics.peak_memory_bytes;
    assert!((40 * MIB..120 * MIB).contains(&much), "{much} bytes");
    // A peak is not handed on.
    let little = session.run(build_call("fine")).runtime_metrics.peak_memory_bytes;
    assert!(little < 4 * MIB, "{little} bytes");
}

fn bytes_read_and_written_are_counted(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let metrics = session.run(build_call("read_and_write")).runtime_metrics;
    let much = 2 * MIB..4 * MIB;
    assert!(much.contains(&metrics.bytes_read) && much.contains(&metrics.bytes_written));
    let metrics = session.run(build_call("fine")).runtime_metrics;
    assert!(metrics.bytes_read < MIB && metrics.bytes_written < MIB, "{metrics:?}");
}

fn files_that_were_touched_are_listed(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    // The second time is no different.
    for _ in 0..2 {
        let outcome = session.run(build_call("touch_files"));
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
        let touched: Vec<(&str, FileChangeKind, u64)> = outcome
            .files
            .touched
            .iter()
            .map(|file| (file.path.as_str(), file.change, file.bytes))
            .filter(|(path, _, _)| !matches!(*path, "made" | "made/deeper"))
            .collect();
        let expected = [
            ("/tmp/t.txt", FileChangeKind::Created, 3),
            ("data.txt", FileChangeKind::Changed, 15),
            ("made/deeper/file.txt", FileChangeKind::Created, 1),
            ("new.txt", FileChangeKind::Created, 5),
            ("old.txt", FileChangeKind::Deleted, 14),
            ("~/t.txt", FileChangeKind::Created, 3),
        ];
        assert_eq!(touched, expected);
        let total = outcome.files.total;
        assert_eq!(total, outcome.files.touched.len() as u64);
    }
    for nothing in ["fine", "touch_and_restore"] {
        let files = session.run(build_call(nothing)).files;
        assert_eq!((files.total, files.touched.len()), (0, 0), "{nothing}: {files:?}");
    }
}

fn what_was_left_behind_is_named(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let left = session.run(build_call("leave")).leaked;
    assert_eq!(left.threads, ["lingerer"]);
    assert!(left.processes.len() == 1 && left.processes[0].starts_with("sleep ("), "{left:?}");
    assert!(left.descriptors.iter().any(|what| what.ends_with("data.txt")), "{left:?}");
    let left = session.run(build_call("fine")).leaked;
    assert!(left.threads.is_empty() && left.processes.is_empty() && left.descriptors.is_empty());
}

fn equal_results_have_equal_hashes(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut other_order = bench.spec();
    other_order.hash_seed = 12345;
    let hash = |spec, name| {
        bench
            .session_of(spec)
            .run(build_call(name))
            .result
            .value
            .expect("a value")
            .hash
            .expect("a hash")
    };
    let usual = bench.spec();
    assert_eq!(hash(&usual, "equal"), hash(&other_order, "equal"));
    assert_ne!(hash(&usual, "equal"), hash(&usual, "other"));
    assert_eq!(hash(&usual, "point"), hash(&usual, "point"));
}

fn metadata_that_cannot_be_changed_is_noted(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(build_call("change_metadata"));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    let changed = Value::Bool(tier.has_namespaces());
    let answer = outcome.result.value.and_then(|value| value.value);
    assert_eq!(answer, Some(Value::List(vec![changed.clone(), changed])));
    let noted = |notes: &[String]| notes.iter().any(|note| note.contains("modes, owners, times"));
    assert_eq!(noted(&outcome.notes), !tier.has_namespaces(), "{:?}", outcome.notes);
    if let Some(note) = outcome.notes.iter().find(|note| note.contains("modes")) {
        assert!(note.contains("chmod") && note.contains("utime"), "{note}");
    }
    // It is said of those calls only that tried.
    assert!(!noted(&session.run(build_call("fine")).notes));
}
