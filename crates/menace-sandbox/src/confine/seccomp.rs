//! Decides about every system call, and installs the decisions as a filter.
//!
//! Most calls are allowed or refused by number, some by their arguments. What the filter cannot
//! decide is left to the listener, where [`super::supervisor`] decides.
//!
//! Invariant: a call that no list names is never made. Calls that are allowed whatever their
//! arguments stay in the kernel's bitmap, and cost nothing.

use std::collections::BTreeMap;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::OwnedFd;

use seccompiler::BackendError;

use super::interposition;
use super::landlock::LandlockStatus;
use super::policy::ConfinementPolicy;
use super::program::{self, FilterDecision};
use super::rules::{self, SyscallRules, TrustedPids};
use super::{path_access, sys, syscalls};

/// The first Landlock ABI that restricts `truncate`.
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
/// The caller must be the process that is about to execute the interpreter. It hands the returned
/// listener to its parent, which must answer: every notified call waits for its answer.
pub(crate) fn install(
    policy: ConfinementPolicy,
    landlock_status: &LandlockStatus,
) -> Result<OwnedFd, SeccompError> {
    let trusted = TrustedPids { menace: parent_pid(), interpreter: std::process::id() };
    // Never freed: returning memory to the kernel may be a notified call, and no process answers
    // yet.
    let program =
        ManuallyDrop::new(program::compile(build_decisions(policy, landlock_status, trusted)?));
    Ok(sys::install_filter(&program)?)
}

fn parent_pid() -> u32 {
    u32::try_from(nix::unistd::getppid().as_raw()).unwrap_or(1)
}

/// The decision about each known system call.
fn build_decisions(
    policy: ConfinementPolicy,
    landlock_status: &LandlockStatus,
    trusted: TrustedPids,
) -> Result<BTreeMap<u32, FilterDecision>, BackendError> {
    let mut decisions: BTreeMap<_, _> =
        syscalls::all_syscalls().map(|(call, _)| (call.number, FilterDecision::Notify)).collect();
    decisions
        .extend(syscalls::ABSENT_SYSCALLS.iter().map(|call| (call.number, FilterDecision::Absent)));
    let always = unconditional_syscalls(policy, landlock_status);
    decisions.extend(always.into_iter().flatten().map(|call| (call.number, FilterDecision::Allow)));
    let sometimes = conditional_syscalls(policy, landlock_status, trusted)?;
    decisions.extend(
        sometimes.into_iter().map(|(number, rules)| (number, FilterDecision::AllowIf(rules))),
    );
    let watched =
        if policy.records_path_access { path_access::watched_syscalls()? } else { Vec::new() };
    // For a call on both lists, the rules of the interposition hold: they notify of more.
    for (number, rules) in
        interposition::interposed_syscalls(policy.interposition)?.into_iter().chain(watched)
    {
        if decisions.get(&number) == Some(&FilterDecision::Allow) {
            decisions.insert(number, FilterDecision::AllowIf(rules));
        }
    }
    let numbered = decisions.into_iter();
    Ok(numbered.filter_map(|(number, d)| Some((u32::try_from(number).ok()?, d))).collect())
}

/// Calls that the policy allows, and that notify the listener so that faults can be injected.
pub(super) fn interposed_syscalls(
    policy: ConfinementPolicy,
    landlock_status: &LandlockStatus,
) -> Vec<i64> {
    if policy.interposition.is_empty() {
        return Vec::new();
    }
    filter_allowed(
        interposition::interposed_syscalls(policy.interposition).unwrap_or_default(),
        policy,
        landlock_status,
    )
}

/// Calls that the policy allows, and that notify the listener so that their paths can be recorded.
pub(super) fn watched_syscalls(
    policy: ConfinementPolicy,
    landlock_status: &LandlockStatus,
) -> Vec<i64> {
    if !policy.records_path_access {
        return Vec::new();
    }
    filter_allowed(path_access::watched_syscalls().unwrap_or_default(), policy, landlock_status)
}

/// Keeps the calls that the policy allows whatever their arguments.
fn filter_allowed(
    calls: Vec<(i64, SyscallRules)>,
    policy: ConfinementPolicy,
    landlock_status: &LandlockStatus,
) -> Vec<i64> {
    let always = unconditional_syscalls(policy, landlock_status);
    let allowed = |number: i64| always.iter().any(|calls| calls.iter().any(|c| c.number == number));
    calls.into_iter().map(|(number, _)| number).filter(|number| allowed(*number)).collect()
}

/// Calls that are allowed whatever their arguments.
fn unconditional_syscalls(
    policy: ConfinementPolicy,
    landlock_status: &LandlockStatus,
) -> Vec<&'static [syscalls::SyscallEntry]> {
    let mut always = syscalls::ORDINARY_SYSCALLS.to_vec();
    if policy.allows_rare_syscalls() {
        always.extend(syscalls::RARE_SYSCALLS);
    }
    if policy.namespaces {
        always.extend(syscalls::METADATA_SYSCALLS);
        always.push(&[
            syscalls::CONNECT_SYSCALL,
            syscalls::BIND_SYSCALL,
            syscalls::INOTIFY_ADD_WATCH_SYSCALL,
            syscalls::FLOCK_SYSCALL,
        ]);
    }
    if policy.namespaces || landlock_status.abi >= ABI_WITH_TRUNCATE {
        always.push(&[syscalls::TRUNCATE_SYSCALL]);
    }
    if policy.allows_programs() {
        always.push(syscalls::EXEC_SYSCALLS);
    }
    if policy.allows_processes() {
        always.push(syscalls::FORK_SYSCALLS);
    }
    always
}

/// Calls that are allowed when one of their rules holds.
fn conditional_syscalls(
    policy: ConfinementPolicy,
    landlock_status: &LandlockStatus,
    trusted: TrustedPids,
) -> Result<Vec<(i64, SyscallRules)>, BackendError> {
    let signal = rules::signal_rules(trusted, policy.namespaces || landlock_status.is_scoped)?;
    let limit = rules::limit_rules(policy, trusted)?;
    Ok(vec![
        (libc::SYS_clone, rules::clone_rules(policy)?),
        (libc::SYS_socket, rules::socket_rules(policy)?),
        (libc::SYS_socketpair, rules::socketpair_rules(policy)?),
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
        (libc::SYS_setpriority, rules::priority_rules(policy, trusted)?),
        (libc::SYS_ioprio_set, rules::io_priority_rules(policy, trusted)?),
        (libc::SYS_ioctl, rules::ioctl_rules(policy)?),
        (libc::SYS_fcntl, rules::fcntl_rules(policy)?),
        (libc::SYS_prctl, rules::prctl_rules(policy)?),
        (libc::SYS_personality, rules::personality_rules()?),
        (libc::SYS_seccomp, rules::seccomp_rules()?),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mknod, rules::mknod_rules(1)?),
        (libc::SYS_mknodat, rules::mknod_rules(2)?),
    ])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use menace_model::SyscallInterposition;
    use menace_model::{CallConfinement, SecurityLevel};

    const TRUSTED_PIDS: TrustedPids = TrustedPids { menace: 1, interpreter: 2 };

    fn policies(level: u8) -> impl Iterator<Item = ConfinementPolicy> {
        let security_level = SecurityLevel::try_from(level).unwrap();
        [(false, false), (false, true), (true, false), (true, true)].into_iter().map(
            move |(safe_mode, namespaces)| ConfinementPolicy {
                confinement: CallConfinement { security_level, safe_mode },
                namespaces,
                host_sockets_visible: false,
                records_path_access: false,
                interposition: SyscallInterposition::default(),
            },
        )
    }

    /// All numbers that may be allowed, depending on arguments or on the listener.
    fn allowed_numbers(policy: ConfinementPolicy) -> BTreeSet<u32> {
        let decisions = build_decisions(policy, &LandlockStatus::default(), TRUSTED_PIDS).unwrap();
        let closed = |decision: &FilterDecision| match decision {
            FilterDecision::Allow => false,
            FilterDecision::Notify | FilterDecision::Absent => true,
            FilterDecision::AllowIf(rules) => rules.is_empty(),
        };
        decisions.into_iter().filter(|(_, d)| !closed(d)).map(|(number, _)| number).collect()
    }

    #[test]
    fn each_level_opens_no_call_that_the_level_below_closes() {
        for level in 1..5 {
            for (lower, higher) in policies(level).zip(policies(level + 1)) {
                assert!(allowed_numbers(higher).is_subset(&allowed_numbers(lower)), "{lower:?}");
            }
        }
    }

    #[test]
    fn the_lowest_tier_opens_no_call_that_is_closed_inside_namespaces() {
        for policy in (1..=5).flat_map(policies) {
            let (outside, inside) = (
                ConfinementPolicy { namespaces: false, ..policy },
                ConfinementPolicy { namespaces: true, ..policy },
            );
            assert!(allowed_numbers(outside).is_subset(&allowed_numbers(inside)), "{policy:?}");
        }
    }

    /// The kernel accepts 4096 instructions, but a sandbox starts faster with fewer.
    #[test]
    fn programs_are_short() {
        for policy in (1..=5).flat_map(policies) {
            let decisions =
                build_decisions(policy, &LandlockStatus::default(), TRUSTED_PIDS).unwrap();
            let program = program::compile(decisions);
            assert!(program.len() < 900, "{}", program.len());
        }
    }
}
