//! Decides about every system call and installs the decisions as a filter.
//!
//! Most calls are allowed or refused by number, some by their arguments; what is not clear is left to
//! a listener, which [`super::warden`] answers.
//!
//! Invariant: a call that no list names is never made. Calls that are allowed whatever their
//! arguments stay in the kernel's bitmap, so that they cost nothing.

use std::collections::BTreeMap;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::OwnedFd;

use seccompiler::BackendError;

use super::landlock::Landlocked;
use super::policy::Policy;
use super::program::{self, Decision};
use super::rules::{self, Keepers, Rules};
use super::{reach, sys, syscalls};

/// `truncate` by path is restricted from this Landlock interface on.
const ABI_WITH_TRUNCATE: u32 = 3;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SeccompError {
    #[error("failed to compile the seccomp filter")]
    Compile(#[from] BackendError),
    #[error("failed to install the seccomp filter")]
    Install(#[from] io::Error),
}

/// Confines this thread and all that it will start. Needs `no_new_privs`.
///
/// The caller must be the warm interpreter's process, just before it becomes that program, and hand
/// the listener to its parent, who must answer: the guest waits whenever it asks.
pub(crate) fn install(policy: Policy, landlocked: &Landlocked) -> Result<OwnedFd, SeccompError> {
    let keepers = Keepers { menace: parent(), interpreter: std::process::id() };
    // Not even to be freed: giving memory back to the kernel may be a question, which nobody hears yet.
    let program = ManuallyDrop::new(program::compile(decide(policy, landlocked, keepers)?));
    Ok(sys::install_filter(&program)?)
}

fn parent() -> u32 {
    u32::try_from(nix::unistd::getppid().as_raw()).unwrap_or(1)
}

/// The decision about each call that has a name.
fn decide(
    policy: Policy,
    landlocked: &Landlocked,
    keepers: Keepers,
) -> Result<BTreeMap<u32, Decision>, BackendError> {
    let mut decisions: BTreeMap<_, _> =
        syscalls::every().map(|(call, _)| (call.number, Decision::Ask)).collect();
    decisions.extend(syscalls::ABSENT.iter().map(|call| (call.number, Decision::Absent)));
    let always = always(policy, landlocked);
    decisions.extend(always.into_iter().flatten().map(|call| (call.number, Decision::Allow)));
    let sometimes = sometimes(policy, landlocked, keepers)?;
    decisions.extend(sometimes.into_iter().map(|(number, rules)| (number, Decision::When(rules))));
    let watched = if policy.watches_files { reach::calls()? } else { Vec::new() };
    // Of a call that is wanted by both, the one that lets it fail has to hear of more.
    for (number, rules) in policy.interpose.calls()?.into_iter().chain(watched) {
        if decisions.get(&number) == Some(&Decision::Allow) {
            decisions.insert(number, Decision::When(rules));
        }
    }
    let numbered = decisions.into_iter();
    Ok(numbered.filter_map(|(number, d)| Some((u32::try_from(number).ok()?, d))).collect())
}

/// Calls that the policy allows and that are asked about all the same.
pub(super) fn interposed(policy: Policy, landlocked: &Landlocked) -> Vec<i64> {
    if policy.interpose.nothing() {
        return Vec::new();
    }
    allowed(policy.interpose.calls().unwrap_or_default(), policy, landlocked)
}

/// Calls that are asked about only to know which files they are for.
pub(super) fn watched(policy: Policy, landlocked: &Landlocked) -> Vec<i64> {
    if !policy.watches_files {
        return Vec::new();
    }
    allowed(reach::calls().unwrap_or_default(), policy, landlocked)
}

/// Those of the calls that the policy would allow unasked.
fn allowed(calls: Vec<(i64, Rules)>, policy: Policy, landlocked: &Landlocked) -> Vec<i64> {
    let always = always(policy, landlocked);
    let allowed = |number: i64| always.iter().any(|calls| calls.iter().any(|c| c.number == number));
    calls.into_iter().map(|(number, _)| number).filter(|number| allowed(*number)).collect()
}

/// Calls that are allowed whatever their arguments.
fn always(policy: Policy, landlocked: &Landlocked) -> Vec<&'static [syscalls::Call]> {
    let mut always = syscalls::ORDINARY.to_vec();
    if policy.rare_calls() {
        always.extend(syscalls::RARE);
    }
    if policy.namespaces {
        always.extend(syscalls::METADATA);
        always.push(&[syscalls::CONNECT, syscalls::BIND, syscalls::WATCH]);
    }
    if policy.namespaces || landlocked.abi >= ABI_WITH_TRUNCATE {
        always.push(&[syscalls::TRUNCATE]);
    }
    if policy.programs() {
        always.push(syscalls::PROGRAMS);
    }
    if policy.processes() {
        always.push(syscalls::FORKS);
    }
    always
}

/// Calls that are allowed when one of their rules holds.
fn sometimes(
    policy: Policy,
    landlocked: &Landlocked,
    keepers: Keepers,
) -> Result<Vec<(i64, Rules)>, BackendError> {
    let signal = rules::signal(keepers, policy.namespaces || landlocked.scoped)?;
    let limit = rules::limit(policy, keepers)?;
    Ok(vec![
        (libc::SYS_clone, rules::clone(policy)?),
        (libc::SYS_socket, rules::socket(policy)?),
        (libc::SYS_socketpair, rules::socketpair(policy)?),
        (libc::SYS_kill, signal.clone()),
        (libc::SYS_tkill, signal.clone()),
        (libc::SYS_tgkill, signal.clone()),
        (libc::SYS_rt_sigqueueinfo, signal.clone()),
        (libc::SYS_rt_tgsigqueueinfo, signal),
        (libc::SYS_prlimit64, limit.clone()),
        (libc::SYS_sched_setaffinity, limit.clone()),
        (libc::SYS_sched_setscheduler, limit.clone()),
        (libc::SYS_sched_setparam, limit.clone()),
        (libc::SYS_sched_setattr, limit),
        (libc::SYS_setpriority, rules::priority(policy, keepers)?),
        (libc::SYS_ioprio_set, rules::io_priority(policy, keepers)?),
        (libc::SYS_ioctl, rules::ioctl(policy)?),
        (libc::SYS_fcntl, rules::fcntl()?),
        (libc::SYS_prctl, rules::prctl(policy)?),
        (libc::SYS_personality, rules::personality()?),
        (libc::SYS_seccomp, rules::seccomp()?),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mknod, rules::node(1)?),
        (libc::SYS_mknodat, rules::node(2)?),
    ])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::confine::{Interpose, Level};

    const KEEPERS: Keepers = Keepers { menace: 1, interpreter: 2 };

    fn policies(level: u8) -> impl Iterator<Item = Policy> {
        let level = Level::try_from(level).unwrap();
        [(false, false), (false, true), (true, false), (true, true)].into_iter().map(
            move |(safe_mode, namespaces)| Policy {
                level,
                safe_mode,
                namespaces,
                host_lets_in: false,
                watches_files: false,
                interpose: Interpose::default(),
            },
        )
    }

    /// What may be allowed at all.
    fn open(policy: Policy) -> BTreeSet<u32> {
        let decisions = decide(policy, &Landlocked::default(), KEEPERS).unwrap();
        let closed = |decision: &Decision| match decision {
            Decision::Allow => false,
            Decision::Ask | Decision::Absent => true,
            Decision::When(rules) => rules.is_empty(),
        };
        decisions.into_iter().filter(|(_, d)| !closed(d)).map(|(number, _)| number).collect()
    }

    #[test]
    fn each_level_opens_no_call_that_the_level_below_closes() {
        for level in 1..5 {
            for (lower, higher) in policies(level).zip(policies(level + 1)) {
                assert!(open(higher).is_subset(&open(lower)), "{lower:?}");
            }
        }
    }

    #[test]
    fn the_lowest_tier_opens_no_call_that_is_closed_inside_namespaces() {
        for policy in (1..=5).flat_map(policies) {
            let (outside, inside) =
                (Policy { namespaces: false, ..policy }, Policy { namespaces: true, ..policy });
            assert!(open(outside).is_subset(&open(inside)), "{policy:?}");
        }
    }

    /// The kernel takes 4096 lines, but the fewer the quicker a sandbox starts.
    #[test]
    fn programs_are_short() {
        for policy in (1..=5).flat_map(policies) {
            let decisions = decide(policy, &Landlocked::default(), KEEPERS).unwrap();
            let program = program::compile(decisions);
            assert!(program.len() < 900, "{}", program.len());
        }
    }
}
