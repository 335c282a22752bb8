//! Restoring the copy of the repository, which the tier without mounts does after each call, and
//! keeping the files of the import in it: no live process may lead init outside meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use menace_model::{Value, Verdict};
use menace_sandbox::Tier;
use tempfile::TempDir;

use crate::bench::{ContractBench, build_call, guest};

/// So many that there is time to lose a race.
const FILE_COUNT: usize = 200;
const CALLS_PER_SESSION: usize = 4;
/// An import that could not be kept is not tried again in the same session.
const SESSION_COUNT: usize = 5;

mod landlock {
    use crate::process::in_own_process;

    #[test]
    fn a_thread_of_the_interpreter_does_not_lead_init_outside() {
        in_own_process(
            concat!(module_path!(), "::a_thread_of_the_interpreter_does_not_lead_init_outside"),
            || super::nothing_changes_outside("thread"),
        );
    }

    #[test]
    fn a_fork_ahead_of_a_call_does_not_lead_init_outside() {
        in_own_process(
            concat!(module_path!(), "::a_fork_ahead_of_a_call_does_not_lead_init_outside"),
            || super::nothing_changes_outside("fork"),
        );
    }

    #[test]
    fn a_process_forked_after_a_call_does_not_lead_init_outside() {
        in_own_process(
            concat!(module_path!(), "::a_process_forked_after_a_call_does_not_lead_init_outside"),
            || super::nothing_changes_outside_in("late", 1, 3 * super::CALLS_PER_SESSION),
        );
    }

    #[test]
    fn an_interpreter_that_wakes_itself_does_not_lead_init_outside() {
        in_own_process(
            concat!(
                module_path!(),
                "::an_interpreter_that_wakes_itself_does_not_lead_init_outside"
            ),
            || super::nothing_changes_outside("timer"),
        );
    }

    #[test]
    fn a_daemon_of_the_import_does_not_lead_init_outside() {
        in_own_process(
            concat!(module_path!(), "::a_daemon_of_the_import_does_not_lead_init_outside"),
            || super::nothing_changes_outside_in("daemon", super::SESSION_COUNT, 1),
        );
    }
}

fn nothing_changes_outside(racer: &str) {
    nothing_changes_outside_in(racer, 1, CALLS_PER_SESSION);
}

fn nothing_changes_outside_in(racer: &str, sessions: usize, calls: usize) {
    let victim = victim();
    let before = contents(victim.path());
    let in_memory = workspaces();
    let bench = ContractBench::with_options(Tier::Landlock, guest!("racing.py"), |options| {
        in_memory.path().clone_into(&mut options.workspace_parent);
    });
    let mut spec = bench.spec();
    let outside = victim.path().to_str().expect("a plain path");
    for (name, value) in [("VICTIM", outside), ("RACER", racer), ("FILES", &FILE_COUNT.to_string())]
    {
        spec.environment.push((name.to_owned(), value.to_owned()));
    }
    spec.import_limits.disk_bytes = None;
    let mut outcomes = Vec::new();
    for _ in 0..sessions {
        // What the last call left is restored, too, before a session ends.
        let mut session = bench.session_of(&spec);
        let call = build_call("scribble").limited(|its| its.disk_bytes = None);
        outcomes.extend((0..calls).map(|_| session.run(call.clone())));
    }
    let after = contents(victim.path());
    let lost = before.keys().filter(|name| !after.contains_key(*name)).count();
    assert_eq!(lost, 0, "files outside were deleted");
    assert_eq!(before, after, "files outside were written, or their modes changed");
    for outcome in outcomes {
        // A call that reads where the link happens to lead is reported, for that alone.
        let tried = outcome.violations.iter().any(|tried| tried.detail.contains(outside));
        let expected = if tried { Verdict::Violated } else { Verdict::Returned };
        assert_eq!(outcome.verdict, expected, "{outcome:#?}");
        assert!(outcome.value.is_some(), "{outcome:#?}");
        let others = outcome.violations.iter().find(|tried| !tried.detail.contains(outside));
        assert_eq!(others, None, "{outcome:#?}");
    }
}

/// In memory: some file systems make new files slowly while many were just removed.
fn workspaces() -> TempDir {
    let workspaces = TempDir::with_prefix_in("work-", "/dev/shm").expect("writable");
    // The guest is another user; it needs access to its copy.
    fs::set_permissions(workspaces.path(), fs::Permissions::from_mode(0o711)).expect("ours");
    workspaces
}

/// A directory of the guest's user. Only Landlock keeps the guest from changing it.
fn victim() -> TempDir {
    let guest =
        ContractBench::new(Tier::Landlock, guest!("identity.py")).value(build_call("user_id"));
    let Value::Int(guest) = guest else { panic!("not a number: {guest:?}") };
    let guest = u32::try_from(guest).expect("a user");
    let victim = TempDir::with_prefix("victim-").expect("writable");
    let hand_over = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
        chown(path, Some(guest), None)
            .expect("root can, and others are the guest's user themselves");
    };
    for number in 0..FILE_COUNT {
        let file = victim.path().join(number.to_string());
        fs::write(&file, "of the host").expect("writable");
        hand_over(&file, 0o666);
    }
    hand_over(victim.path(), 0o777);
    victim
}

/// What is in each file, and modes; the directory itself has no name.
fn contents(directory: &Path) -> BTreeMap<String, (u32, String)> {
    let mode = |path: &Path| fs::metadata(path).expect("it is there").mode();
    let entries = fs::read_dir(directory).expect("readable");
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.expect("readable");
        let text = fs::read_to_string(entry.path()).expect("a file");
        (entry.file_name().to_string_lossy().into_owned(), (mode(&entry.path()), text))
    };
    let itself = (String::new(), (mode(directory), String::new()));
    entries.map(read).chain([itself]).collect()
}
