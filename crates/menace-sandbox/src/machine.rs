//! What this machine can do for isolation: tried, not guessed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;

use crate::cgroup::{self, Controller, Version};
use crate::{SandboxError, Tier, confine, init};

/// One mechanism: there or not, why, and what to do about it.
#[derive(Debug, Clone, Serialize)]
pub struct Mechanism {
    pub name: &'static str,
    pub available: bool,
    /// The version, or why it is missing.
    pub detail: String,
    /// How to get it.
    pub advice: Option<String>,
}

/// Everything that decides about the tier.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    pub root: bool,
    pub kernel: String,
    pub mechanisms: Vec<Mechanism>,
}

const NAMESPACES: &str = "namespaces";
const SECCOMP: &str = "seccomp";
const LISTENER: &str = "seccomp user notification";
const LANDLOCK: &str = "landlock";
const NETWORK: &str = "nfqueue";

impl Machine {
    /// Tries everything out. `init` is the program that would become the init of a sandbox.
    pub fn look(init: &Path) -> Self {
        let root = nix::unistd::geteuid().is_root();
        let mut mechanisms = vec![namespaces(init), seccomp(), notification(), landlock()];
        mechanisms.extend(control_groups(root));
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self { root, kernel: kernel.trim().to_owned(), mechanisms }
    }

    /// The same, and what calls may ask for but no tier depends on.
    pub fn examine(init: &Path) -> Self {
        let mut machine = Self::look(init);
        machine.mechanisms.push(network(init, machine.has(NAMESPACES)));
        machine
    }

    fn has(&self, name: &str) -> bool {
        self.mechanisms.iter().any(|mechanism| mechanism.name == name && mechanism.available)
    }

    fn why_not(&self, names: &[&str]) -> String {
        let missing = self
            .mechanisms
            .iter()
            .filter(|mechanism| names.contains(&mechanism.name) && !mechanism.available);
        missing.map(|m| format!("{}: {}", m.name, m.detail)).collect::<Vec<_>>().join("; ")
    }

    /// The tiers that can be had, strongest first.
    pub fn tiers(&self) -> Vec<Tier> {
        let filters = self.has(SECCOMP) && self.has(LISTENER);
        let mut tiers = Vec::new();
        if filters && self.has(NAMESPACES) {
            if self.root {
                tiers.push(Tier::Root);
            }
            tiers.push(Tier::UserNamespaces);
        }
        if filters && self.has(LANDLOCK) {
            tiers.push(Tier::Landlock);
        }
        tiers
    }

    /// The strongest tier; refuses when there is none.
    pub fn best(&self, unsafe_no_isolation: bool) -> Result<Tier, SandboxError> {
        match self.tiers().first() {
            Some(&tier) => Ok(tier),
            None if unsafe_no_isolation => Ok(Tier::Unsafe),
            None => Err(SandboxError::NoIsolation {
                why: self.why_not(&[NAMESPACES, SECCOMP, LISTENER, LANDLOCK]),
            }),
        }
    }

    /// A tier that somebody asked for.
    pub fn check(&self, wanted: Tier) -> Result<Tier, SandboxError> {
        if wanted == Tier::Unsafe || self.tiers().contains(&wanted) {
            return Ok(wanted);
        }
        let why = match wanted {
            Tier::Root if !self.root => "it needs root".to_owned(),
            _ => self.why_not(&[NAMESPACES, SECCOMP, LISTENER, LANDLOCK]),
        };
        Err(SandboxError::Tier { tier: wanted, why })
    }
}

/// Whether namespaces with an overlay can be made is known only by making them, in a process that
/// may be spoilt.
fn namespaces(program: &Path) -> Mechanism {
    let good = "user, mount, pid, net, ipc, uts and cgroup; overlayfs on top";
    let (available, detail) = tried(program, init::TRY_NAMESPACES, good);
    let advice = (!available).then(namespace_advice);
    Mechanism { name: NAMESPACES, available, detail, advice }
}

/// The same is true of making a network bad.
fn network(program: &Path, has_namespaces: bool) -> Mechanism {
    let good =
        "latency, jitter, loss, duplication, bandwidth and partition of a call's own network";
    let (available, detail) = tried(program, init::TRY_NETWORK, good);
    let advice = (!available && has_namespaces).then(|| {
        "a kernel with nf_tables, nfnetlink_queue and either nft_queue or nft_compat and \
         xt_NFQUEUE; without them, these are listed as not enforced"
            .to_owned()
    });
    Mechanism { name: NETWORK, available, detail, advice }
}

/// Whether it worked, and what to say about it.
fn tried(program: &Path, what: &str, good: &str) -> (bool, String) {
    let tried = Command::new(program)
        .args([init::ARGUMENT, what])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .output();
    match tried {
        Ok(output) if output.status.success() => (true, good.to_owned()),
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

fn seccomp() -> Mechanism {
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail");
    let (available, detail) = match actions {
        Ok(_) => (true, "system call filters".to_owned()),
        Err(error) => (false, format!("no /proc/sys/kernel/seccomp: {error}")),
    };
    let advice = (!available).then(|| "a kernel with CONFIG_SECCOMP_FILTER".to_owned());
    Mechanism { name: SECCOMP, available, detail, advice }
}

fn notification() -> Mechanism {
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    let available = actions.split_whitespace().any(|action| action == "user_notif");
    let detail = if available { "records what was tried" } else { "the kernel is too old" };
    let advice = (!available).then(|| "Linux 5.5 or newer".to_owned());
    Mechanism { name: LISTENER, available, detail: detail.to_owned(), advice }
}

fn landlock() -> Mechanism {
    let abi = confine::landlock_abi();
    let (available, detail) = match abi {
        0 => (false, "not in this kernel, or not switched on".to_owned()),
        abi => (true, format!("ABI {abi}")),
    };
    let advice = (!available)
        .then(|| "Linux 5.13 or newer with `landlock` in the kernel's lsm= list".to_owned());
    Mechanism { name: LANDLOCK, available, detail, advice }
}

fn control_groups(root: bool) -> Vec<Mechanism> {
    let groups = cgroup::available();
    let named = [
        (Controller::Memory, "cgroup memory"),
        (Controller::Cpu, "cgroup cpu"),
        (Controller::Cpuacct, "cgroup cpuacct"),
        (Controller::Pids, "cgroup pids"),
        (Controller::Kill, "cgroup kill"),
    ];
    let mechanism = |(controller, name)| {
        let version = groups.version(controller).map(|version| match version {
            Version::CgroupV1 => "version 1",
            Version::CgroupV2 => "version 2",
        });
        control_group(name, version.ok_or(groups.why_not(controller)), root)
    };
    named.into_iter().map(mechanism).collect()
}

/// The version that there is, or why there is none.
fn control_group(name: &'static str, version: Result<&str, Option<&str>>, root: bool) -> Mechanism {
    let detail = version.unwrap_or_else(|why| why.unwrap_or("not available")).to_owned();
    let advice = version.is_err().then(|| group_advice(root));
    Mechanism { name, available: version.is_ok(), detail, advice }
}

fn group_advice(root: bool) -> String {
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

    fn machine(root: bool, available: &[&'static str]) -> Machine {
        let mechanism = |name: &&'static str| Mechanism {
            name,
            available: available.contains(name),
            detail: "not here".to_owned(),
            advice: None,
        };
        let all = [NAMESPACES, SECCOMP, LISTENER, LANDLOCK];
        Machine { root, kernel: String::new(), mechanisms: all.iter().map(mechanism).collect() }
    }

    #[test]
    fn the_strongest_tier_that_can_be_had_is_taken() {
        let all = [NAMESPACES, SECCOMP, LISTENER, LANDLOCK];
        assert_eq!(machine(true, &all).best(false).unwrap(), Tier::Root);
        assert_eq!(machine(false, &all).best(false).unwrap(), Tier::UserNamespaces);
        assert_eq!(machine(true, &all[1..]).best(false).unwrap(), Tier::Landlock);
    }

    #[test]
    fn whoever_lacks_a_control_group_is_told_what_to_do() {
        let advice = |version, root| control_group("cgroup pids", version, root).advice;
        assert_eq!((advice(Ok("version 2"), true), advice(Ok("version 1"), false)), (None, None));
        let lacking = |root| advice(Err(Some("not in this kernel")), root).unwrap();
        let (of_root, of_others) = (lacking(true), lacking(false));
        assert!(of_root.starts_with("a kernel") && !of_root.contains("run as root"), "{of_root}");
        assert!(of_others.starts_with("run as root"), "{of_others}");
    }

    #[test]
    fn without_isolation_nothing_runs_unless_it_is_asked_for() {
        for lacking in [&[][..], &[LANDLOCK], &[NAMESPACES, LANDLOCK], &[NAMESPACES, SECCOMP]] {
            let machine = machine(true, lacking);
            let refused = machine.best(false).unwrap_err().to_string();
            assert!(refused.contains("no isolation"), "{refused}");
            assert_eq!(machine.best(true).unwrap(), Tier::Unsafe);
        }
    }

    #[test]
    fn a_tier_that_cannot_be_had_is_refused_with_the_reason() {
        let machine = machine(false, &[SECCOMP, LISTENER, LANDLOCK]);
        assert!(machine.check(Tier::Root).unwrap_err().to_string().contains("needs root"));
        let refused = machine.check(Tier::UserNamespaces).unwrap_err().to_string();
        assert!(refused.contains("namespaces: not here"), "{refused}");
        assert_eq!(machine.check(Tier::Landlock).unwrap(), Tier::Landlock);
    }
}
