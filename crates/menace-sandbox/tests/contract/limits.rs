//! A limit that was asked for holds, and the outcome says by what, or that nothing holds it.

use std::fs::File;
use std::time::Instant;

use menace_model::{Limit, LimitMechanism, Outcome, Value, Verdict};
use menace_sandbox::Tier;

use crate::bench::{CallBuilder, ContractBench, build_call, guest, items};

crate::on_every_tier![
    a_call_is_dead_soon_after_its_deadline,
    the_time_that_a_fork_takes_is_the_call_s,
    processor_time_is_limited,
    processor_time_of_children_that_ended_is_limited,
    processor_time_of_children_that_no_process_waits_for_is_limited,
    the_share_of_the_processor_is_limited,
    memory_is_limited,
    memory_of_all_processes_counts_together,
    page_tables_are_memory,
    files_in_memory_are_memory,
    full_sockets_are_memory,
    files_without_a_name_count_too,
    the_memory_of_a_short_call_is_limited,
    files_that_are_read_are_no_memory,
    files_that_are_written_are_no_memory,
    files_of_the_last_call_are_no_memory_of_the_next,
    what_may_be_written_is_limited,
    many_files_count_together,
    a_small_disk_is_as_small_as_it_was_asked_for,
    processes_are_limited,
    threads_are_limited,
    open_files_are_limited,
    output_is_cut_and_counted,
    every_limit_is_accounted_for,
    memory_that_no_limit_counts_is_as_much_as_noted,
    limits_are_those_of_the_call_and_not_of_the_last_one,
];

const GUEST: &str = guest!("limits.py");
const MIB: u64 = 1 << 20;

fn is_enforced(outcome: &Outcome, limit: Limit) -> bool {
    outcome.enforced_by.get(&limit).is_some_and(|by| !by.is_empty())
}

fn a_call_is_dead_soon_after_its_deadline(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    session.assert_still_works();
    for (name, args) in [("loop", vec![]), ("sleep", vec![Value::Int(60)])] {
        let started = Instant::now();
        let outcome = session.run(build_call(name).with(args).timeout(300));
        assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
        let total = outcome.runtime_metrics.total_ms;
        assert!((300.0..550.0).contains(&total), "{name}: dead after {total} ms");
        // Seen from outside it is no different, give or take a busy machine.
        assert!(started.elapsed().as_millis() < 1500, "{name}: {:?}", started.elapsed());
        assert_eq!(outcome.exit.signal, Some(libc::SIGKILL));
    }
    session.assert_still_works();
}

fn the_time_that_a_fork_takes_is_the_call_s(tier: Tier) {
    let bench = ContractBench::new(tier, guest!("imports/slow_fork.py"));
    let outcome = bench.run(build_call("loop").timeout(1000));
    assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    let total = outcome.runtime_metrics.total_ms;
    assert!((1000.0..1250.0).contains(&total), "dead after {total} ms");
}

fn processor_time_is_limited(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(build_call("loop").timeout(8000).limited(|l| l.cpu_ms = Some(200)));
    assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    assert!(outcome.result.reason.is_some_and(|reason| reason.contains("processor time")));
    assert!(outcome.runtime_metrics.total_ms < 4000.0);
    let used = outcome.runtime_metrics.user_cpu_ms + outcome.runtime_metrics.system_cpu_ms;
    assert!((150.0..1000.0).contains(&used), "it used {used} ms");
    // Waiting costs nothing.
    let sleep = build_call("sleep").with([Value::Float(0.3)]).limited(|l| l.cpu_ms = Some(200));
    assert_eq!(session.run(sleep).verdict, Verdict::Returned);
}

fn processor_time_of_children_that_ended_is_limited(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for orphans in [false, true] {
        let busy = build_call("busy_in_children").with([Value::Float(2.0), Value::Bool(orphans)]);
        let outcome = session.run(busy.timeout(20_000).limited(|l| l.cpu_ms = Some(500)));
        assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
        assert!(outcome.result.reason.is_some_and(|reason| reason.contains("processor time")));
    }
    session.assert_still_works();
}

/// Each of them is gone before the monitor looks again.
fn processor_time_of_children_that_no_process_waits_for_is_limited(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let busy = build_call("busy_in_forgotten_children").with([Value::Float(10.0)]);
    let outcome = session.run(busy.timeout(30_000).limited(|l| l.cpu_ms = Some(500)));
    assert_eq!(outcome.verdict, Verdict::TimedOut, "{outcome:#?}");
    assert!(outcome.result.reason.is_some_and(|reason| reason.contains("processor time")));
    // Processor time, since a busy machine makes its half second long; without the limit the
    // children take ten seconds.
    let used = outcome.runtime_metrics.user_cpu_ms + outcome.runtime_metrics.system_cpu_ms;
    assert!(used < 2000.0, "{:?}", outcome.runtime_metrics);
    assert!(outcome.runtime_metrics.total_ms < 9000.0, "{:?}", outcome.runtime_metrics);
    session.assert_still_works();
}

fn the_share_of_the_processor_is_limited(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut share = || {
        let busy =
            build_call("busy").with([Value::Float(2.0)]).limited(|l| l.cpu_share = Some(0.25));
        let outcome = session.run(busy);
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
        let by = &outcome.enforced_by[&Limit::CpuShare];
        let known = [LimitMechanism::CgroupV1, LimitMechanism::CgroupV2, LimitMechanism::Sigstop];
        assert!(by.len() == 1 && known.contains(&by[0]), "{by:?}");
        let used = outcome.runtime_metrics.user_cpu_ms + outcome.runtime_metrics.system_cpu_ms;
        used / outcome.runtime_metrics.wall_ms
    };
    // Never more than a fifth above; less only while the machine has less to give.
    let mut shares: Vec<f64> = Vec::new();
    while shares.len() < 4 && shares.iter().all(|share| *share < 0.2) {
        shares.push(share());
    }
    assert!(shares.iter().all(|share| *share < 0.3), "{shares:?}");
    assert!(shares.iter().any(|share| *share > 0.2), "{shares:?}");
}

fn memory_is_limited(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for name in ["allocate", "allocate_piece_by_piece"] {
        let some = |mib| build_call(name).with([Value::Int(mib)]);
        let limited = |mib| some(mib).limited(|l| l.memory_bytes = Some(64 * MIB));
        assert_eq!(session.run(limited(24)).verdict, Verdict::Returned, "{name}");
        let outcome = session.run(limited(400));
        assert_eq!(outcome.verdict, Verdict::OutOfMemory, "{name}: {outcome:#?}");
        assert!(outcome.runtime_metrics.peak_memory_bytes < 300 * MIB);
    }
    session.assert_still_works();
}

fn memory_of_all_processes_counts_together(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let together = build_call("allocate_in_processes").with([Value::Int(4), Value::Int(40)]);
    let limited = together.timeout(5000).limited(|l| l.memory_bytes = Some(96 * MIB));
    let outcome = session.run(limited);
    assert_eq!(outcome.verdict, Verdict::OutOfMemory, "{outcome:#?}");
    assert!(outcome.runtime_metrics.total_ms < 4000.0);
    session.assert_still_works();
}

fn page_tables_are_memory(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut read = |gib| {
        let read = build_call("page_tables").with([Value::Int(gib)]);
        session.run(read.limited(|limits| {
            limits.memory_bytes = Some(64 * MIB);
        }))
    };
    assert_eq!(read(2).verdict, Verdict::Returned);
    // A table of four kibibytes for every second mebibyte: 256 MiB.
    let outcome = read(128);
    assert_eq!(outcome.verdict, Verdict::OutOfMemory, "{outcome:#?}");
}

fn files_in_memory_are_memory(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut write = |mib| {
        let write = build_call("memory_file").with([Value::Int(mib)]);
        session.run(write.limited(|limits| limits.memory_bytes = Some(64 * MIB)))
    };
    assert_eq!(write(32).verdict, Verdict::Returned);
    let outcome = write(128);
    assert_eq!(outcome.verdict, Verdict::OutOfMemory, "{outcome:#?}");
}

fn full_sockets_are_memory(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut fill = |pairs| {
        let fill = build_call("full_sockets").with([Value::Int(pairs), Value::Int(1 << 20)]);
        session.run(fill.limited(|limits| {
            limits.memory_bytes = Some(64 * MIB);
            // As above.
            limits.disk_bytes = Some(MIB);
        }))
    };
    assert_eq!(fill(10).verdict, Verdict::Returned);
    let outcome = fill(400);
    assert_eq!(outcome.verdict, Verdict::OutOfMemory, "{outcome:#?}");
}

fn files_without_a_name_count_too(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut write = |mib| {
        let write = build_call("removed_files").with([Value::Int(mib)]);
        session.run(write.limited(|limits| limits.disk_bytes = Some(16 * MIB)))
    };
    assert_eq!(write(8).verdict, Verdict::Returned);
    let outcome = write(64);
    assert_eq!(outcome.verdict, Verdict::OutOfDisk, "{outcome:#?}");
}

fn the_memory_of_a_short_call_is_limited(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let allocate = |mib, limit: u64| {
        build_call("allocate")
            .with([Value::Int(mib)])
            .limited(|l| l.memory_bytes = Some(limit * MIB))
    };
    for _ in 0..12 {
        let outcome = session.run(allocate(8, 1));
        assert_eq!(outcome.verdict, Verdict::OutOfMemory, "{outcome:#?}");
        for fits in [allocate(0, 1), allocate(8, 12)] {
            let outcome = session.run(fits);
            assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
        }
    }
    // What was in a file that is gone was no memory.
    let written = build_call("write_and_remove").with([Value::from("big.bin"), Value::Int(8)]);
    let outcome = session.run(written.limited(|limits| limits.memory_bytes = Some(4 * MIB)));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
}

fn files_that_are_read_are_no_memory(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let repo = File::open(bench.repo()).expect("ours");
    let modified = repo.metadata().and_then(|found| found.modified()).expect("ours");
    // It was not read before, so that each page that is cached is the call's.
    let path = bench.repo().join("unread.bin");
    File::create(&path).and_then(|file| file.set_len(200 * MIB)).expect("ours");
    let read = build_call("read").with([Value::from("unread.bin")]);
    let outcome = bench.run(read.limited(|limits| limits.memory_bytes = Some(32 * MIB)));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    let peak = outcome.runtime_metrics.peak_memory_bytes;
    assert!(peak < 16 * MIB, "{peak} bytes");
    std::fs::remove_file(path).expect("ours");
    // The repository is looked at afterwards, down to its times.
    repo.set_modified(modified).expect("ours");
}

fn files_that_are_written_are_no_memory(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut limited = |ask: CallBuilder, disk: u64| {
        session.run(ask.limited(|limits| {
            limits.memory_bytes = Some(32 * MIB);
            limits.disk_bytes = Some(disk * MIB);
        }))
    };
    // The limit on what is written is this call's, not that of the last one.
    assert_eq!(limited(build_call("fine"), 1).verdict, Verdict::Returned);
    for name in ["write", "write_and_remove"] {
        let outcome =
            limited(build_call(name).with([Value::from("big.bin"), Value::Int(160)]), 192);
        assert_eq!(outcome.verdict, Verdict::Returned, "{name}: {outcome:#?}");
        let peak = outcome.runtime_metrics.peak_memory_bytes;
        assert!(peak < 16 * MIB, "{name}: {peak} bytes");
    }
}

fn files_of_the_last_call_are_no_memory_of_the_next(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for _ in 0..3 {
        let (path, written, allocated) = (Value::from("big.bin"), Value::Int(90), Value::Int(150));
        let both = build_call("write_and_allocate").with([path, written, allocated]);
        let outcome = session.run(both.limited(|limits| limits.memory_bytes = Some(128 * MIB)));
        assert_eq!(outcome.verdict, Verdict::OutOfMemory, "{outcome:#?}");
    }
}

fn what_may_be_written_is_limited(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for path in ["big.bin", "/tmp/big.bin"] {
        let path = if tier.has_namespaces() { path } else { path.trim_start_matches("/tmp/") };
        let write = |mib| build_call("write").with([Value::from(path), Value::Int(mib)]);
        let limited = |mib| write(mib).limited(|l| l.disk_bytes = Some(8 * MIB));
        assert_eq!(session.run(limited(4)).verdict, Verdict::Returned, "{path}");
        let outcome = session.run(limited(64));
        assert_eq!(outcome.verdict, Verdict::OutOfDisk, "{path}: {outcome:#?}");
        let largest = outcome.files.touched.iter().map(|file| file.bytes).max();
        assert!(largest.is_some_and(|bytes| bytes <= 8 * MIB), "{:?}", outcome.files);
    }
    session.assert_still_works();
}

fn many_files_count_together(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    // Twenty seconds: only the limit can end it before.
    let write =
        build_call("write_many").with([Value::from("."), Value::Int(1_000_000), Value::Int(256)]);
    let outcome = session.run(write.timeout(20_000).limited(|l| l.disk_bytes = Some(16 * MIB)));
    assert_eq!(outcome.verdict, Verdict::OutOfDisk, "{:?}", outcome.reason);
    assert!(outcome.runtime_metrics.total_ms < 10_000.0);
    session.assert_still_works();
}

fn a_small_disk_is_as_small_as_it_was_asked_for(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let mut write = |names: &[&str], count: i64, disk: u64| {
        let names = Value::List(names.iter().map(|&name| Value::from(name)).collect());
        let write = build_call("write_bytes").with([names, Value::Int(count)]);
        session.run(write.limited(|limits| limits.disk_bytes = Some(disk)))
    };
    for (names, count, disk, verdict) in [
        (&["a", "b"][..], 4096, 8192, Verdict::Returned),
        (&["a", "b", "c"], 4096, 8192, Verdict::OutOfDisk),
        (&["a"], 8193, 8192, Verdict::OutOfDisk),
        (&["a"], 1, 1, Verdict::Returned),
        (&["a", "b"], 1, 1, Verdict::OutOfDisk),
        (&["a"], 2, 1, Verdict::OutOfDisk),
    ] {
        let outcome = write(names, count, disk);
        assert_eq!(outcome.verdict, verdict, "{names:?}, {count}, {disk}: {outcome:#?}");
    }
}

/// How many processes start when eight are allowed. An import may start more: the limit of the
/// call counts.
fn most_of_eight(tier: Tier, outcome: &Outcome) -> i64 {
    // Where the kernel counts all that the user runs, there is room for some that come and go.
    let is_the_users = outcome.enforced_by[&Limit::Processes] == [LimitMechanism::Rlimit];
    if is_the_users && !tier.has_namespaces() { 20 } else { 8 }
}

fn processes_are_limited(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let fork = |count| build_call("fork").with([Value::Int(count)]).limited(|l| l.processes = 8);
    assert_eq!(session.value(fork(3)), Value::Int(3));
    let outcome = session.run(fork(64));
    let started = outcome.value.as_ref().and_then(|value| value.value.clone());
    let most = most_of_eight(tier, &outcome);
    assert!(matches!(started, Some(Value::Int(n)) if (3..=most).contains(&n)), "{outcome:#?}");
    assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
    assert_eq!(outcome.violations[0].kind, "processes");
}

fn threads_are_limited(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let threads =
        |count| build_call("threads").with([Value::Int(count)]).limited(|l| l.processes = 8);
    assert_eq!(session.value(threads(3)), Value::Int(3));
    let outcome = session.run(threads(64));
    let started = outcome.value.as_ref().and_then(|value| value.value.clone());
    let most = most_of_eight(tier, &outcome);
    assert!(matches!(started, Some(Value::Int(n)) if (3..=most).contains(&n)), "{outcome:#?}");
}

fn open_files_are_limited(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let open =
        |limit| build_call("open_files").with([Value::Int(500)]).limited(|l| l.open_files = limit);
    let few = session.value(open(64));
    let [Value::Int(opened), Value::Int(errno)] = items(&few) else { panic!("{few:?}") };
    assert!((30..=64).contains(opened) && *errno == i64::from(libc::EMFILE), "{few:?}");
    assert_eq!(session.value(open(1024)), Value::Tuple(vec![Value::Int(500), Value::Int(0)]));
}

fn output_is_cut_and_counted(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let shout = build_call("shout").with([Value::Int(5000)]).limited(|l| l.output_bytes = 1000);
    let outcome = bench.run(shout);
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    let stdout = (outcome.stdout.text.as_str(), outcome.stdout.bytes, outcome.stdout.truncated);
    assert_eq!(stdout, ("o".repeat(1000).as_str(), 5000, true));
    let stderr = (outcome.stderr.text.as_str(), outcome.stderr.bytes, outcome.stderr.truncated);
    assert_eq!(stderr, ("e".repeat(1000).as_str(), 10_000, true));
}

fn every_limit_is_accounted_for(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(build_call("fine").limited(|limits| {
        limits.cpu_ms = Some(5000);
        limits.cpu_share = Some(0.5);
    }));
    let all = [
        Limit::Timeout,
        Limit::Cpu,
        Limit::CpuShare,
        Limit::Memory,
        Limit::Disk,
        Limit::Processes,
        Limit::OpenFiles,
        Limit::Output,
    ];
    for limit in all {
        assert!(is_enforced(&outcome, limit), "{limit}: {outcome:#?}");
    }
    assert_eq!(outcome.unenforced, []);
    let disk = &outcome.enforced_by[&Limit::Disk];
    assert_eq!(disk.contains(&LimitMechanism::TmpfsSize), tier.has_namespaces(), "{disk:?}");
    // No backend can pass these on.
    let outcome = session.run(build_call("fine").limited(|limits| limits.gpus = 1));
    assert_eq!((outcome.verdict, outcome.unenforced), (Verdict::Returned, vec![Limit::Gpu]));
    // What was not requested is neither.
    let outcome = session.run(build_call("fine").limited(|limits| {
        limits.memory_bytes = None;
        limits.disk_bytes = None;
    }));
    for limit in [Limit::Cpu, Limit::CpuShare, Limit::Memory, Limit::Disk] {
        assert!(!is_enforced(&outcome, limit) && !outcome.unenforced.contains(&limit), "{limit}");
    }
}

/// `N MiB of data in pipes` of a note, in bytes.
fn noted_pipe_bytes(outcome: &Outcome) -> Option<i64> {
    let note = outcome.notes.iter().find(|note| note.contains("without a control group"))?;
    let (before, _) = note.split_once(" MiB of data in pipes").expect("a figure");
    let figure = before.rsplit(' ').next().expect("it ends in a figure");
    Some(figure.parse::<i64>().expect("a whole number") << 20)
}

fn memory_that_no_limit_counts_is_as_much_as_noted(tier: Tier) {
    const PIPES: i64 = 80;
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let call = |mib: u64| {
        let fill = build_call("fill_pipes").with([Value::Int(PIPES)]);
        fill.limited(|limits| limits.memory_bytes = Some(mib * MIB))
    };
    let outcome = session.run(call(16));
    let by = &outcome.enforced_by[&Limit::Memory];
    let is_counted =
        by.contains(&LimitMechanism::CgroupV1) || by.contains(&LimitMechanism::CgroupV2);
    let noted = noted_pipe_bytes(&outcome);
    assert_eq!(noted.is_none(), is_counted, "{outcome:#?}");
    if let Some(most) = noted {
        let Some(Value::Int(held)) = outcome.value.as_ref().and_then(|value| value.value.clone())
        else {
            panic!("{outcome:#?}")
        };
        assert!(held > 16 << 20, "{held} bytes are within the limit: nothing to note");
        assert!(held <= most + PIPES * 8192, "{held} bytes are more than noted: {most}");
        // In comparison with a larger limit it is little.
        assert_eq!(noted_pipe_bytes(&session.run(call(512))), None);
    }
}

fn limits_are_those_of_the_call_and_not_of_the_last_one(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let allocate = |limit: u64| {
        build_call("allocate")
            .with([Value::Int(100)])
            .limited(|l| l.memory_bytes = Some(limit * MIB))
    };
    let write = |limit: u64| {
        let write = build_call("write").with([Value::from("big.bin"), Value::Int(20)]);
        write.limited(|l| l.disk_bytes = Some(limit * MIB))
    };
    for (limit, memory, disk) in [
        (48, Verdict::OutOfMemory, Verdict::Returned),
        (256, Verdict::Returned, Verdict::Returned),
        (8, Verdict::OutOfMemory, Verdict::OutOfDisk),
        (256, Verdict::Returned, Verdict::Returned),
    ] {
        assert_eq!(session.run(allocate(limit)).verdict, memory, "{limit} MiB of memory");
        assert_eq!(session.run(write(limit)).verdict, disk, "{limit} MiB of disk");
    }
}
