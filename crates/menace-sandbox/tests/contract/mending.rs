//! Mending the copy of the repository, which the tier without mounts does by path after each call:
//! nobody may lead it outside meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use menace_model::Verdict;
use menace_sandbox::Tier;
use tempfile::TempDir;

use crate::bench::{Bench, ask, guest};

/// So many that there is time to lose a race.
const FILES: usize = 200;
const CALLS: usize = 4;

mod landlock {
    use crate::process::of_its_own;

    #[test]
    fn a_thread_of_the_interpreter_leads_nobody_outside() {
        of_its_own(
            concat!(module_path!(), "::a_thread_of_the_interpreter_leads_nobody_outside"),
            || super::nothing_changes_outside("thread"),
        );
    }

    #[test]
    fn a_fork_ahead_of_a_call_leads_nobody_outside() {
        of_its_own(
            concat!(module_path!(), "::a_fork_ahead_of_a_call_leads_nobody_outside"),
            || super::nothing_changes_outside("fork"),
        );
    }
}

fn nothing_changes_outside(racer: &str) {
    let victim = victim();
    let before = contents(victim.path());
    let bench = Bench::new(Tier::Landlock, guest!("racing.py"));
    let mut spec = bench.spec();
    let outside = victim.path().to_str().expect("a plain path");
    for (name, value) in [("VICTIM", outside), ("RACER", racer), ("FILES", &FILES.to_string())] {
        spec.environment.push((name.to_owned(), value.to_owned()));
    }
    let mut session = bench.session_of(&spec);
    let outcomes: Vec<_> = (0..CALLS)
        .map(|_| session.run(ask("scribble").limited(|its| its.disk_bytes = None)))
        .collect();
    // What the last call left is mended, too.
    drop(session);
    let after = contents(victim.path());
    let lost = before.keys().filter(|name| !after.contains_key(*name)).count();
    assert_eq!(lost, 0, "files outside were deleted");
    assert_eq!(before, after, "files outside were written");
    for outcome in outcomes {
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
    }
}

/// A directory that everybody may change, as the guest's user would be able to, too, were it not
/// for Landlock.
fn victim() -> TempDir {
    let victim = TempDir::with_prefix("victim-").expect("writable");
    let open_to_all = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    };
    open_to_all(victim.path(), 0o777);
    for number in 0..FILES {
        let file = victim.path().join(number.to_string());
        fs::write(&file, "of the host").expect("writable");
        open_to_all(&file, 0o666);
    }
    victim
}

fn contents(directory: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(directory).expect("readable");
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.expect("readable");
        let text = fs::read_to_string(entry.path()).expect("a file");
        (entry.file_name().to_string_lossy().into_owned(), text)
    };
    entries.map(read).collect()
}
