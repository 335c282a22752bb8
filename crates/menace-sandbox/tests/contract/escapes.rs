//! Nothing of the host can be read, changed or signalled, and violations are reported.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use menace_model::{FaultMode, FaultSpec, FaultTrigger, Outcome, Value, Verdict};
use menace_sandbox::Tier;
use tempfile::TempDir;

use crate::bench::{ContractBench, ContractSession, build_call, guest, items, text};
use crate::host;
use crate::reading::opportunities_and_injections;

crate::on_every_tier![
    files_of_the_host_cannot_be_read,
    files_of_the_host_cannot_be_read_behind_the_back_of_python,
    violations_of_other_programs_are_reported,
    a_violation_that_meets_a_fault_is_reported,
    ordinary_programs_are_not_reported,
    violations_of_a_killed_process_are_reported,
    a_violation_through_links_is_reported,
    files_of_the_host_cannot_be_read_through_a_link,
    the_environment_of_the_first_process_cannot_be_read,
    nothing_is_above_the_root,
    the_repository_changes_for_the_call_only,
    the_repository_cannot_be_changed_under_its_own_path,
    the_temporary_files_of_the_host_cannot_be_changed,
    the_interpreter_and_the_harness_cannot_be_changed,
    forbidden_system_calls_are_refused_and_named,
    init_and_zygote_cannot_be_signalled,
    no_process_changes_its_user,
    other_processes_cannot_be_seen,
];

const GUEST: &str = guest!("escapes.py");
const SECRET_TEXT: &str = "a-canary-sang-here";

/// A file of the host that every user may read.
pub(crate) fn canary() -> (TempDir, String) {
    let directory = TempDir::with_prefix("canary-").expect("writable");
    let file = directory.path().join("canary.txt");
    fs::write(&file, SECRET_TEXT).expect("writable");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("ours");
    let path = file.to_str().expect("a plain path").to_owned();
    (directory, path)
}

fn answer(outcome: &Outcome) -> String {
    let value = outcome.value.as_ref().and_then(|value| value.value.as_ref());
    text(value.unwrap_or_else(|| panic!("no answer: {outcome:#?}"))).to_owned()
}

fn read(session: &mut ContractSession<'_>, how: &str, path: &str) -> Outcome {
    session.run(build_call(how).with([Value::from(path)]))
}

fn files_of_the_host_cannot_be_read(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let (_directory, canary) = canary();
    let home = host_home();
    for path in [canary.as_str(), "/etc/shadow", "/root", &home, "/sys", "/var/log"] {
        let outcome = read(&mut session, "read", path);
        let said = answer(&outcome);
        let contents = fs::read_to_string(path).unwrap_or_default();
        let leaked = !contents.trim().is_empty() && said.contains(contents.trim());
        assert!(!said.contains(SECRET_TEXT) && !leaked, "{path}: {said}");
        // Some files have an innocent double inside; and where there are mounts, /tmp is the
        // call's.
        let is_own = tier.has_namespaces() && Path::new(path).starts_with("/tmp");
        if !said.starts_with("got ") && !is_own {
            assert_eq!(outcome.verdict, Verdict::Violated, "{path}: {outcome:#?}");
            assert!(outcome.violations.iter().any(|v| v.detail.contains(path)), "{path}");
        }
    }
    session.assert_still_works();
    // The same for a path that does not exist: a mistake, not a violation.
    let outcome = read(&mut session, "read", "/nowhere/at/all");
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
}

/// A directory that only the host's user has.
pub(crate) fn host_home() -> String {
    let this = std::env::current_exe().expect("a program");
    this.parent().and_then(|path| path.to_str()).expect("a plain path").to_owned()
}

fn files_of_the_host_cannot_be_read_behind_the_back_of_python(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    for level in 1..=5 {
        let mut spec = bench.spec();
        spec.confinement.security_level = level.try_into().unwrap();
        let mut session = bench.session_of(&spec);
        let (_directory, canary) = canary();
        for path in [canary.as_str(), "/etc/shadow", "/proc/1/environ", "/proc/1/root/etc/shadow"] {
            let outcome = read(&mut session, "read_in_c", path);
            assert_eq!(answer(&outcome), "refused", "{path}");
            // With mounts, temporary directories are the call's own.
            if tier == Tier::Landlock || path != canary {
                assert_reported(&outcome, &format!("read {path}"));
            }
        }
        session.assert_still_works();
    }
}

fn violations_of_other_programs_are_reported(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    for level in 1..=3 {
        let mut spec = bench.spec();
        spec.confinement.security_level = level.try_into().unwrap();
        let mut session = bench.session_of(&spec);
        for (command, reported) in [
            ("cat /etc/shadow", "read /etc/shadow"),
            ("cd /etc && exec cat ./shadow", "read /etc/shadow"),
            ("ln -s /etc $TMPDIR/away; cat $TMPDIR/away/shadow", "read /etc/shadow"),
            ("echo > /usr/lib/new", "write /usr/lib/new"),
            ("rm -f /usr/bin/env", "remove /usr/bin/env"),
        ] {
            let outcome = read(&mut session, "shell", command);
            assert_reported(&outcome, reported);
        }
        session.assert_still_works();
    }
}

fn a_violation_that_meets_a_fault_is_reported(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut spec = bench.spec();
    spec.interposition.files = true;
    let mut session = bench.session_of(&spec);
    // At first sight, it is the guest's own.
    let path = "/tmp/../usr/lib/new";
    let disk = |when, seed| (FaultSpec { mode: FaultMode::Disk, trigger: when }, seed);
    // By chance, of these some are refused and some delayed.
    let by_chance = (0..8).map(|seed| disk(FaultTrigger::Rate(1.0), seed));
    let mut answers = BTreeSet::new();
    for (fault, seed) in by_chance.chain([disk(FaultTrigger::Nth(1), 0)]) {
        let mut asked = build_call("write_in_c").with([Value::from(path)]).seed(seed);
        asked.0.conditions.faults = vec![fault];
        let outcome = session.run(asked);
        assert_eq!(opportunities_and_injections(&outcome, fault.mode).1, 1, "{outcome:#?}");
        assert_reported(&outcome, "write /usr/lib/new");
        answers.insert(answer(&outcome));
    }
    // The fault's own, and the kernel's.
    assert!(answers.contains("ENOSPC") && !answers.contains("made"), "{answers:?}");
    assert_eq!(answers.len(), 2, "{answers:?}");
    session.assert_still_works();
}

fn ordinary_programs_are_not_reported(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for command in [
        "ls -l /usr data.txt; id; date; uname -a; nproc; df . ; hostname",
        "cp data.txt $TMPDIR/copy && mv $TMPDIR/copy $HOME/copy && rm $HOME/copy",
        "cat /proc/self/status /proc/cpuinfo /proc/meminfo /etc/passwd /etc/hosts < /dev/null",
        "bash -c 'echo $((1+1))' && grep -r data . && find . | sort | head -3",
        "tar cf - . | wc -c",
        "python3 -c 'import os, ssl, json, ctypes, tempfile, subprocess; os.cpu_count()'",
    ] {
        let outcome = read(&mut session, "shell", command);
        assert_eq!(outcome.verdict, Verdict::Returned, "{command}: {outcome:#?}");
    }
    let outcome = session.run(build_call("look_around"));
    assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
}

fn assert_reported(outcome: &Outcome, detail: &str) {
    assert_eq!(outcome.verdict, Verdict::Violated, "{outcome:#?}");
    let reported: Vec<&str> =
        outcome.violations.iter().map(|tried| tried.detail.as_str()).collect();
    assert_eq!(reported, [detail], "{outcome:#?}");
}

fn violations_of_a_killed_process_are_reported(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let how = ["read_and_leave", "read_and_hang", "read_in_a_fork", "read_in_a_fork_that_stays"];
    for how in how {
        let asked = build_call(how).with([Value::from("/etc/shadow")]).timeout(400);
        assert_reported(&session.run(asked), "read /etc/shadow");
        // The next one has tried nothing.
        session.assert_still_works();
    }
}

fn a_violation_through_links_is_reported(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for how in ["read_through_links", "read_below_a_link"] {
        assert_reported(&read(&mut session, how, "/etc/shadow"), "read /etc/shadow");
        session.assert_still_works();
    }
    // A link to what the call may read is nothing special.
    let own = read(&mut session, "read_through_links", "/usr/bin/env");
    assert_eq!(own.verdict, Verdict::Returned, "{own:#?}");
}

fn files_of_the_host_cannot_be_read_through_a_link(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let (_directory, canary) = canary();
    for path in [canary.as_str(), "/proc/1/cwd/etc/shadow", "/proc/self/root/etc/shadow"] {
        let said = answer(&read(&mut session, "link_to", path));
        assert!(!said.starts_with("got "), "{path}: {said}");
    }
    session.assert_still_works();
}

fn the_environment_of_the_first_process_cannot_be_read(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for path in ["/proc/1/environ", "/proc/1/maps", "/proc/1/mem"] {
        let outcome = read(&mut session, "read", path);
        assert!(!answer(&outcome).starts_with("got "), "{outcome:#?}");
        assert_eq!(outcome.verdict, Verdict::Violated, "{path}: {outcome:#?}");
    }
    session.assert_still_works();
}

fn nothing_is_above_the_root(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let outcome = bench.run(build_call("walk_out"));
    let seen = outcome.result.value.and_then(|value| value.value).expect("it returned");
    let seen: Vec<&str> = items(&seen).iter().map(text).collect();
    // What only the host has at its top.
    for name in ["root", "home", "boot", "srv", "mnt", "work"] {
        assert!(!seen.contains(&name), "`/{name}` can be seen: {seen:?}");
    }
}

fn the_repository_changes_for_the_call_only(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    for _ in 0..2 {
        let outcome = session.run(build_call("change_the_repository"));
        assert_eq!(answer(&outcome), "changed");
        let touched = |path: &str| outcome.files.touched.iter().any(|file| file.path == path);
        assert!(touched("guest.py") && touched(".git/config"), "{:?}", outcome.files);
        session.assert_still_works();
    }
}

fn the_repository_cannot_be_changed_under_its_own_path(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let path = bench.repo().to_str().expect("a plain path");
    // Where there are mounts, the path leads to the call's own copy.
    let outcome = session.run(build_call("change_by_absolute_path").with([Value::from(path)]));
    let verdict = if tier.has_namespaces() { Verdict::Returned } else { Verdict::Violated };
    assert_eq!(outcome.verdict, verdict, "{outcome:#?}");
    session.assert_still_works();
}

fn the_temporary_files_of_the_host_cannot_be_changed(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let (_directory, canary) = canary();
    for path in [canary.as_str(), "/tmp/menace-test-new", "/var/tmp/menace-test-new"] {
        let outcome = session.run(build_call("overwrite").with([Value::from(path)]));
        // Where there are mounts, the call has a /tmp of its own, without the canary's directory.
        let own = tier.has_namespaces();
        let written = answer(&outcome) == "written";
        assert_eq!(written, own && path != canary, "{path}: {outcome:#?}");
        let verdict = if own { Verdict::Returned } else { Verdict::Violated };
        assert_eq!(outcome.verdict, verdict, "{path}: {outcome:#?}");
        assert!(path == canary || !Path::new(path).exists(), "{path}");
    }
    assert_eq!(fs::read_to_string(&canary).expect("ours"), SECRET_TEXT);
}

fn the_interpreter_and_the_harness_cannot_be_changed(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let found = [build_call("places"), build_call("harness_files")].map(|places| {
        let outcome = session.run(places);
        let value = outcome.result.value.and_then(|value| value.value).expect("a list");
        items(&value).iter().map(|path| text(path).to_owned()).collect::<Vec<_>>()
    });
    let library = fs::read(&found[0][0]).expect("the library is at the same path outside");
    for path in found.iter().flatten() {
        for how in ["overwrite", "replace"] {
            let outcome = session.run(build_call(how).with([Value::from(path.as_str())]));
            let value = outcome.result.value.and_then(|value| value.value).expect("it answers");
            let worked = match &value {
                Value::List(worked) => !worked.is_empty(),
                other => text(other) == "written",
            };
            assert!(!worked, "{how} of `{path}` worked: {value:?}");
        }
    }
    assert_eq!(library, fs::read(&found[0][0]).expect("still there"));
    session.assert_still_works();
}

fn forbidden_system_calls_are_refused_and_named(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let inet = i64::from(libc::AF_INET);
    let raw = i64::from(libc::SOCK_RAW);
    let packet = i64::from(libc::AF_PACKET);
    let calls: [(&str, libc::c_long, &[i64]); 26] = [
        ("ptrace", libc::SYS_ptrace, &[0, 0, 0, 0]),
        ("ptrace", libc::SYS_ptrace, &[16, 1, 0, 0]),
        ("process_vm_readv", libc::SYS_process_vm_readv, &[1, 0, 0, 0, 0, 0]),
        ("mount", libc::SYS_mount, &[0, 0, 0, 0, 0]),
        ("umount2", libc::SYS_umount2, &[0, 0]),
        ("pivot_root", libc::SYS_pivot_root, &[0, 0]),
        ("chroot", libc::SYS_chroot, &[0]),
        ("open_tree", libc::SYS_open_tree, &[-100, 0, 1]),
        ("unshare", libc::SYS_unshare, &[i64::from(libc::CLONE_NEWUSER)]),
        ("setns", libc::SYS_setns, &[0, 0]),
        ("bpf", libc::SYS_bpf, &[0, 0, 0]),
        ("perf_event_open", libc::SYS_perf_event_open, &[0, 0, -1, -1, 0]),
        ("io_uring_setup", libc::SYS_io_uring_setup, &[1, 0]),
        ("userfaultfd", libc::SYS_userfaultfd, &[0]),
        ("keyctl", libc::SYS_keyctl, &[0, -3, 0, 0, 0]),
        ("add_key", libc::SYS_add_key, &[0, 0, 0, 0, 0]),
        ("kexec_load", libc::SYS_kexec_load, &[0, 0, 0, 0]),
        ("init_module", libc::SYS_init_module, &[0, 0, 0]),
        ("finit_module", libc::SYS_finit_module, &[0, 0, 0]),
        ("delete_module", libc::SYS_delete_module, &[0, 0]),
        ("reboot", libc::SYS_reboot, &[0, 0, 0, 0]),
        ("settimeofday", libc::SYS_settimeofday, &[0, 0]),
        ("sethostname", libc::SYS_sethostname, &[0, 0]),
        ("open_by_handle_at", libc::SYS_open_by_handle_at, &[0, 0, 0]),
        ("socket", libc::SYS_socket, &[inet, raw, 1]),
        ("socket", libc::SYS_socket, &[packet, raw, 0]),
    ];
    for (name, number, arguments) in calls {
        let numbers = [number].into_iter().chain(arguments.iter().copied());
        let outcome = session.run(build_call("system_call").with(numbers.map(Value::Int)));
        assert_eq!(outcome.verdict, Verdict::Violated, "{name}: {outcome:#?}");
        let named = outcome.violations.iter().any(|v| v.detail.starts_with(&format!("{name}(")));
        assert!(named, "{name}: {:?}", outcome.violations);
        let returned = outcome.result.value.and_then(|value| value.value).expect("it goes on");
        assert_eq!(items(&returned)[0], Value::Int(-1), "{name}");
    }
    session.assert_still_works();
}

fn init_and_zygote_cannot_be_signalled(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    session.assert_still_works();
    let before = host::all_children();
    for which in ["first", "all", "interpreter", "group"] {
        for number in [libc::SIGKILL, libc::SIGSTOP, libc::SIGTERM] {
            let number = i64::from(number);
            let outcome =
                session.run(build_call("signal_to").with([Value::from(which), Value::Int(number)]));
            assert_ne!(answer(&outcome), "sent", "{which}");
            assert_eq!(outcome.verdict, Verdict::Violated, "{which}: {outcome:#?}");
        }
        session.assert_still_works();
    }
    let stop = Value::Int(i64::from(libc::SIGSTOP));
    for how in ["signal_by_thread", "signal_by_descriptor"] {
        session.run(build_call(how).with([stop.clone()]));
        session.assert_still_works();
    }
    // All but the process that waits for the next call are the same.
    let after = host::all_children();
    let same = before.iter().filter(|pid| after.contains(pid)).count();
    assert!(same + 1 >= before.len(), "another sandbox: {before:?}, then {after:?}");
}

fn no_process_changes_its_user(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let mut session = bench.session();
    let outcome = session.run(build_call("become_another_user"));
    let answers = outcome.result.value.and_then(|value| value.value).expect("it answers");
    assert!(items(&answers).iter().all(|answer| text(answer) != "done"), "{answers:?}");
    session.run(build_call("set_user_bit"));
    session.assert_still_works();
}

fn other_processes_cannot_be_seen(tier: Tier) {
    let bench = ContractBench::new(tier, GUEST);
    let outcome = bench.run(build_call("processes_seen"));
    let seen = outcome.result.value.and_then(|value| value.value).expect("it answers");
    let own = Value::Int(i64::from(std::process::id()));
    assert!(items(&seen).len() <= 4, "{seen:?}");
    assert!(!tier.has_namespaces() || !items(&seen).contains(&own), "{seen:?}");
}

#[cfg(target_arch = "x86_64")]
mod of_another_architecture {
    use super::*;

    /// As a 32-bit call, the number with which files are synced sets the name of the host.
    fn a_call_is_refused_and_named_though_a_fault_listens_to_its_number(tier: Tier) {
        let bench = ContractBench::new(tier, GUEST);
        let mut spec = bench.spec();
        spec.interposition.files = true;
        let mut session = bench.session_of(&spec);
        for seed in 0..4 {
            let number = Value::Int(libc::SYS_fsync);
            let asked =
                build_call("call_of_another_architecture").with([number, Value::from("data.txt")]);
            let mut asked = asked.seed(seed);
            asked.0.conditions.faults =
                vec![FaultSpec { mode: FaultMode::Disk, trigger: FaultTrigger::Rate(1.0) }];
            let outcome = session.run(asked);
            assert_reported(&outcome, "system call 0x4a of another architecture");
            let answer = outcome.result.value.and_then(|value| value.value);
            assert_eq!(answer, Some(Value::Int(-i64::from(libc::ENOSYS))));
        }
    }

    #[test]
    fn a_call_is_refused_and_named_as_root() {
        let name = concat!(module_path!(), "::a_call_is_refused_and_named_as_root");
        let fact = a_call_is_refused_and_named_though_a_fault_listens_to_its_number;
        crate::process::in_own_process(name, || fact(Tier::Root));
    }

    #[test]
    fn a_call_is_refused_and_named_without_namespaces() {
        let name = concat!(module_path!(), "::a_call_is_refused_and_named_without_namespaces");
        let fact = a_call_is_refused_and_named_though_a_fault_listens_to_its_number;
        crate::process::in_own_process(name, || fact(Tier::Landlock));
    }
}
