//! Detects what this machine supports for isolation, by trying it.

#![expect(clippy::disallowed_methods, reason = "files of the kernel, below `/proc`")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;

use crate::cgroup::{self, CgroupController, CgroupVersion};
use crate::{SandboxError, Tier, confine, init};

/// One mechanism: whether it works, why, and how to get it.
#[derive(Debug, Clone, Serialize)]
pub struct IsolationMechanism {
    pub name: &'static str,
    pub available: bool,
    /// The version, or why the mechanism is missing.
    pub detail: String,
    /// How to make the mechanism available.
    pub advice: Option<String>,
}

/// Everything that determines the tier.
#[derive(Debug, Clone, Serialize)]
pub struct MachineCapabilities {
    pub root: bool,
    pub kernel: String,
    pub mechanisms: Vec<IsolationMechanism>,
}

const NAMESPACES_NAME: &str = "namespaces";
const SECCOMP_NAME: &str = "seccomp";
const SECCOMP_NOTIFY_NAME: &str = "seccomp user notification";
const LANDLOCK_NAME: &str = "landlock";
const NFQUEUE_NAME: &str = "nfqueue";

impl MachineCapabilities {
    /// Tries all mechanisms that determine the tier. `init` is the program that becomes the init of
    /// a sandbox.
    pub fn detect(init: &Path) -> Self {
        let root = nix::unistd::geteuid().is_root();
        let mut mechanisms =
            vec![detect_namespaces(init), detect_seccomp(), detect_notify(), detect_landlock()];
        mechanisms.extend(detect_cgroups(root));
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self { root, kernel: kernel.trim().to_owned(), mechanisms }
    }

    /// Like [`Self::detect`], with mechanisms that calls may need and no tier depends on.
    pub fn detect_all(init: &Path) -> Self {
        let mut machine = Self::detect(init);
        machine.mechanisms.push(detect_network(init, machine.has_mechanism(NAMESPACES_NAME)));
        machine
    }

    fn has_mechanism(&self, name: &str) -> bool {
        self.mechanisms.iter().any(|mechanism| mechanism.name == name && mechanism.available)
    }

    fn explain_missing(&self, names: &[&str]) -> String {
        let missing = self
            .mechanisms
            .iter()
            .filter(|mechanism| names.contains(&mechanism.name) && !mechanism.available);
        missing.map(|m| format!("{}: {}", m.name, m.detail)).collect::<Vec<_>>().join("; ")
    }

    /// The tiers that this machine supports, strongest first.
    pub fn available_tiers(&self) -> Vec<Tier> {
        let filters = self.has_mechanism(SECCOMP_NAME) && self.has_mechanism(SECCOMP_NOTIFY_NAME);
        let mut tiers = Vec::new();
        if filters && self.has_mechanism(NAMESPACES_NAME) {
            if self.root {
                tiers.push(Tier::Root);
            }
            tiers.push(Tier::UserNamespaces);
        }
        if filters && self.has_mechanism(LANDLOCK_NAME) {
            tiers.push(Tier::Landlock);
        }
        tiers
    }

    /// The strongest tier; an error when there is none.
    pub fn strongest_tier(&self, unsafe_no_isolation: bool) -> Result<Tier, SandboxError> {
        match self.available_tiers().first() {
            Some(&tier) => Ok(tier),
            None if unsafe_no_isolation => Ok(Tier::Unsafe),
            None => Err(SandboxError::NoIsolation {
                why: self.explain_missing(&[
                    NAMESPACES_NAME,
                    SECCOMP_NAME,
                    SECCOMP_NOTIFY_NAME,
                    LANDLOCK_NAME,
                ]),
            }),
        }
    }

    /// Checks a tier that the user requested.
    pub fn check_tier(&self, wanted: Tier) -> Result<Tier, SandboxError> {
        if wanted == Tier::Unsafe || self.available_tiers().contains(&wanted) {
            return Ok(wanted);
        }
        let why = match wanted {
            Tier::Root if !self.root => "it needs root".to_owned(),
            _ => self.explain_missing(&[
                NAMESPACES_NAME,
                SECCOMP_NAME,
                SECCOMP_NOTIFY_NAME,
                LANDLOCK_NAME,
            ]),
        };
        Err(SandboxError::TierUnavailable { tier: wanted, why })
    }
}

/// Tries to make namespaces with an overlay, in a process of its own that may fail: there is no
/// other way to know.
fn detect_namespaces(program: &Path) -> IsolationMechanism {
    let success_detail = "user, mount, pid, net, ipc, uts and cgroup; overlayfs on top";
    let (available, detail) =
        run_init_trial(program, init::TRY_NAMESPACES_ARGUMENT, success_detail);
    let advice = (!available).then(namespace_advice);
    IsolationMechanism { name: NAMESPACES_NAME, available, detail, advice }
}

/// Tries to degrade a network, in a process of its own.
fn detect_network(program: &Path, has_namespaces: bool) -> IsolationMechanism {
    let success_detail =
        "latency, jitter, loss, duplication, bandwidth and partition of a call's own network";
    let (available, detail) = run_init_trial(program, init::TRY_NETWORK_ARGUMENT, success_detail);
    let advice = (!available && has_namespaces).then(|| {
        "a kernel with nf_tables, nfnetlink_queue and either nft_queue or nft_compat and \
         xt_NFQUEUE; without them, these are listed as not enforced"
            .to_owned()
    });
    IsolationMechanism { name: NFQUEUE_NAME, available, detail, advice }
}

/// Whether the trial succeeded, and the detail to show.
fn run_init_trial(program: &Path, what: &str, success_detail: &str) -> (bool, String) {
    let output = Command::new(program)
        .args([init::INIT_ARGUMENT, what])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .output();
    match output {
        Ok(output) if output.status.success() => (true, success_detail.to_owned()),
        Ok(output) => (false, String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        Err(error) => (false, error.to_string()),
    }
}

fn namespace_advice() -> String {
    let sysctl = |name: &str| fs::read_to_string(format!("/proc/sys/{name}")).ok();
    let is = |name: &str, value: &str| sysctl(name).is_some_and(|found| found.trim() == value);
    if is("kernel/unprivileged_userns_clone", "0") {
        "sysctl kernel.unprivileged_userns_clone=1".to_owned()
    } else if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for menace \
         that allows userns"
            .to_owned()
    } else if is("user/max_user_namespaces", "0") {
        "sysctl user.max_user_namespaces=10000".to_owned()
    } else {
        "run menace outside of a container, or in one that allows user namespaces and mounts \
         (docker: --security-opt seccomp=unconfined --security-opt systempaths=unconfined)"
            .to_owned()
    }
}

fn detect_seccomp() -> IsolationMechanism {
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail");
    let (available, detail) = match actions {
        Ok(_) => (true, "system call filters".to_owned()),
        Err(error) => (false, format!("no /proc/sys/kernel/seccomp: {error}")),
    };
    let advice = (!available).then(|| "a kernel with CONFIG_SECCOMP_FILTER".to_owned());
    IsolationMechanism { name: SECCOMP_NAME, available, detail, advice }
}

fn detect_notify() -> IsolationMechanism {
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    let available = actions.split_whitespace().any(|action| action == "user_notif");
    let detail = if available { "records what was tried" } else { "the kernel is too old" };
    let advice = (!available).then(|| "Linux 5.5 or newer".to_owned());
    IsolationMechanism { name: SECCOMP_NOTIFY_NAME, available, detail: detail.to_owned(), advice }
}

fn detect_landlock() -> IsolationMechanism {
    let abi = confine::landlock_abi();
    let (available, detail) = match abi {
        0 => (false, "not in this kernel, or not switched on".to_owned()),
        abi => (true, format!("ABI {abi}")),
    };
    let advice = (!available)
        .then(|| "Linux 5.13 or newer with `landlock` in the kernel's lsm= list".to_owned());
    IsolationMechanism { name: LANDLOCK_NAME, available, detail, advice }
}

fn detect_cgroups(root: bool) -> Vec<IsolationMechanism> {
    let groups = cgroup::detect_cgroups();
    let named = [
        (CgroupController::Memory, "cgroup memory"),
        (CgroupController::Cpu, "cgroup cpu"),
        (CgroupController::Cpuacct, "cgroup cpuacct"),
        (CgroupController::Pids, "cgroup pids"),
        (CgroupController::Kill, "cgroup kill"),
    ];
    let mechanism = |(controller, name)| {
        let version = groups.version(controller).map(|version| match version {
            CgroupVersion::CgroupV1 => "version 1",
            CgroupVersion::CgroupV2 => "version 2",
        });
        cgroup_mechanism(name, version.ok_or(groups.explain_missing(controller)), root)
    };
    named.into_iter().map(mechanism).collect()
}

/// A mechanism with its version, or with the reason why it is missing.
fn cgroup_mechanism(
    name: &'static str,
    version: Result<&str, Option<&str>>,
    root: bool,
) -> IsolationMechanism {
    let detail = version.unwrap_or_else(|why| why.unwrap_or("not available")).to_owned();
    let advice = version.is_err().then(|| cgroup_advice(root));
    IsolationMechanism { name, available: version.is_ok(), detail, advice }
}

fn cgroup_advice(root: bool) -> String {
    let remedy = if root {
        "a kernel that has it, mounted where it can be written to (docker: --privileged, or \
         --cgroupns=host -v /sys/fs/cgroup:/sys/fs/cgroup:rw)"
    } else {
        "run as root, or under `systemd-run --user --scope -p Delegate=yes`"
    };
    format!("{remedy}; without it, resource limits and a monitor take over")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(root: bool, available: &[&'static str]) -> MachineCapabilities {
        let mechanism = |name: &&'static str| IsolationMechanism {
            name,
            available: available.contains(name),
            detail: "not here".to_owned(),
            advice: None,
        };
        let all = [NAMESPACES_NAME, SECCOMP_NAME, SECCOMP_NOTIFY_NAME, LANDLOCK_NAME];
        MachineCapabilities {
            root,
            kernel: String::new(),
            mechanisms: all.iter().map(mechanism).collect(),
        }
    }

    #[test]
    fn the_strongest_tier_that_can_be_had_is_taken() {
        let all = [NAMESPACES_NAME, SECCOMP_NAME, SECCOMP_NOTIFY_NAME, LANDLOCK_NAME];
        assert_eq!(machine(true, &all).strongest_tier(false).unwrap(), Tier::Root);
        assert_eq!(machine(false, &all).strongest_tier(false).unwrap(), Tier::UserNamespaces);
        assert_eq!(machine(true, &all[1..]).strongest_tier(false).unwrap(), Tier::Landlock);
    }

    #[test]
    fn a_missing_control_group_comes_with_advice() {
        let advice = |version, root| cgroup_mechanism("cgroup pids", version, root).advice;
        assert_eq!((advice(Ok("version 2"), true), advice(Ok("version 1"), false)), (None, None));
        let advice_when_missing = |root| advice(Err(Some("not in this kernel")), root).unwrap();
        let (of_root, of_others) = (advice_when_missing(true), advice_when_missing(false));
        assert!(of_root.starts_with("a kernel") && !of_root.contains("run as root"), "{of_root}");
        assert!(of_others.starts_with("run as root"), "{of_others}");
    }

    #[test]
    fn without_isolation_nothing_runs_unless_it_is_asked_for() {
        for missing in [
            &[][..],
            &[LANDLOCK_NAME],
            &[NAMESPACES_NAME, LANDLOCK_NAME],
            &[NAMESPACES_NAME, SECCOMP_NAME],
        ] {
            let machine = machine(true, missing);
            let refused = machine.strongest_tier(false).unwrap_err().to_string();
            assert!(refused.contains("no isolation"), "{refused}");
            assert_eq!(machine.strongest_tier(true).unwrap(), Tier::Unsafe);
        }
    }

    #[test]
    fn a_tier_that_cannot_be_had_is_refused_with_the_reason() {
        let machine = machine(false, &[SECCOMP_NAME, SECCOMP_NOTIFY_NAME, LANDLOCK_NAME]);
        assert!(machine.check_tier(Tier::Root).unwrap_err().to_string().contains("needs root"));
        let refused = machine.check_tier(Tier::UserNamespaces).unwrap_err().to_string();
        assert!(refused.contains("namespaces: not here"), "{refused}");
        assert_eq!(machine.check_tier(Tier::Landlock).unwrap(), Tier::Landlock);
    }
}
