//! What a machine can do is tried out, and what it cannot do has a reason.

use std::process::Command;

use crate::process;

#[test]
fn a_trial_that_fails_says_why() {
    let init = process::init();
    for trial in ["try-namespaces", "try-network"] {
        // A user namespace in which there may be no other.
        let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
        let output = Command::new("unshare")
            .args(["--user", "--map-current-user", "--keep-caps", "sh", "-c", script])
            .arg(&init)
            .args(["__sandbox-init", trial])
            .output()
            .expect("unshare is part of every Linux");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && said.starts_with("cannot "), "{trial}: {output:?}");
    }
}
