//! A sandbox that does not hold is not used: whatever leaks is found before the first call.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use menace_sandbox::{BackendOptions, SandboxError, SandboxSpec, SyscallInterposition, Tier};
use tempfile::TempDir;

use crate::bench::{ContractBench, build_call, guest};
use crate::{host, process};

crate::on_every_tier![
    a_sandbox_that_shows_a_file_of_the_host_is_refused,
    a_sandbox_that_lets_something_out_is_refused,
    a_sandbox_with_another_filter_is_proved_anew,
    a_sandbox_that_inherits_descriptors_is_refused,
    a_start_that_fails_leaves_nothing,
];

const GUEST: &str = guest!("bad.py");
/// Becomes the init, and does nothing else.
const PASS_THROUGH_INIT: &str = "#!/bin/sh\nexec \"${0%/*}/init\" \"$@\"\n";

/// Every call is refused for this reason, not only the first.
fn assert_refused(bench: &ContractBench, reason: &str) {
    for _ in 0..2 {
        match bench.session().try_run(build_call("fine")) {
            Err(SandboxError::BuildFailed(why)) => assert!(why.contains(reason), "{why}"),
            other => panic!("it should have been refused: {other:?}"),
        }
    }
    assert_eq!(host::groups().len(), 0, "{:?}", host::groups());
}

/// A directory with the init, a link to the workspaces, and a program that comes before the init.
struct InitWrapper {
    directory: TempDir,
}

impl InitWrapper {
    fn new(options: &mut BackendOptions, program: &str) -> Self {
        let directory = TempDir::with_prefix("init-").expect("writable");
        let before = Self { directory };
        symlink(process::init(), before.at("init")).expect("ours");
        symlink(&options.workspace_parent, before.at("workspaces")).expect("ours");
        fs::write(before.at("program"), program).expect("ours");
        fs::set_permissions(before.at("program"), fs::Permissions::from_mode(0o755)).expect("ours");
        options.init = before.at("program");
        before
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// The directory of the canary is shown, as that of a library would be.
fn a_sandbox_that_shows_a_file_of_the_host_is_refused(tier: Tier) {
    let bench = ContractBench::with_options(tier, GUEST, |options| {
        options.interpreter.readable_paths.push(options.workspace_parent.clone());
    });
    assert_refused(&bench, "a file of the host could be read");
}

fn a_sandbox_that_lets_something_out_is_refused(tier: Tier) {
    let mut before = None;
    let bench = ContractBench::with_options(tier, GUEST, |options| {
        before = Some(InitWrapper::new(options, include_str!("programs/leaky_init.sh")));
    });
    assert_refused(&bench, "something came out of it");
}

/// The first sandbox held; what answers system calls in place of the kernel is another one.
fn a_sandbox_with_another_filter_is_proved_anew(tier: Tier) {
    let mut before = None;
    let bench = ContractBench::with_options(tier, GUEST, |options| {
        before = Some(InitWrapper::new(options, PASS_THROUGH_INIT));
    });
    let before = before.expect("it was made");
    bench.session().assert_still_works();
    fs::write(before.at("program"), include_str!("programs/leaky_init.sh")).expect("ours");
    // A sandbox with the same policy is not probed again.
    bench.session().assert_still_works();
    let other = [
        SyscallInterposition { files: true, ..SyscallInterposition::default() },
        SyscallInterposition { memory: true, ..SyscallInterposition::default() },
        SyscallInterposition { sockets: true, ..SyscallInterposition::default() },
    ];
    for interpose in other {
        let spec = SandboxSpec { interposition: interpose, ..bench.spec() };
        match bench.session_of(&spec).try_run(build_call("fine")) {
            Err(SandboxError::BuildFailed(why)) => {
                assert!(why.contains("something came out"), "{why}");
            }
            other => panic!("{interpose:?} should have been refused: {other:?}"),
        }
    }
}

fn a_sandbox_that_inherits_descriptors_is_refused(tier: Tier) {
    let mut before = None;
    let bench = ContractBench::with_options(tier, GUEST, |options| {
        let program = include_str!("programs/init_without_close_range.py");
        before = Some(InitWrapper::new(options, program));
    });
    assert_refused(&bench, "cannot close what was inherited");
}

/// The program of the init is gone when it is needed.
fn a_start_that_fails_leaves_nothing(tier: Tier) {
    let mut before = None;
    let bench = ContractBench::with_options(tier, GUEST, |options| {
        before = Some(InitWrapper::new(options, PASS_THROUGH_INIT));
    });
    drop(before);
    let failed = bench.session().try_run(build_call("fine"));
    assert!(matches!(failed, Err(SandboxError::Start { .. })), "{failed:?}");
    assert_eq!(host::groups().len(), 0, "{:?}", host::groups());
}
