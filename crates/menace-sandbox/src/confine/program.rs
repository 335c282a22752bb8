//! Compiles filter decisions into a BPF program.
//!
//! The program is a binary search over ranges of call numbers, to keep it short: when it is
//! installed the kernel runs it once for every call number, to find calls that are always allowed.
//! (A chain of comparisons, as libraries build it, takes four times as long to install.) Conditions
//! on arguments are compiled by `seccompiler`.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompRule, sock_filter};

/// The `AUDIT_ARCH_…` value of this program's own architecture.
#[cfg(target_arch = "x86_64")]
pub(super) const NATIVE_AUDIT_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(super) const NATIVE_AUDIT_ARCH: u32 = 0xc000_00b7;

/// On `x86_64`, numbers from this one on are calls of the x32 ABI.
pub(super) const X32_SYSCALL_BIT: u32 = 0x4000_0000;

const BPF_LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const BPF_JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const BPF_JUMP_IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const BPF_JUMP: u16 = (libc::BPF_JMP | libc::BPF_JA) as u16;
const BPF_RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Offsets of number and architecture in `struct seccomp_data`.
const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;

/// What the filter does with a system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FilterDecision {
    Allow,
    /// The listener decides, see [`super::notify`].
    Notify,
    /// The call fails with `ENOSYS`, as if the kernel did not have it.
    Absent,
    /// Allowed when one of these rules holds; otherwise the listener decides.
    AllowIf(Vec<SeccompRule>),
}

/// Compiles the decisions by call number. Calls without a decision are [`FilterDecision::Absent`];
/// calls of other architectures notify the listener.
pub(super) fn compile(decisions: BTreeMap<u32, FilterDecision>) -> BpfProgram {
    let mut program = vec![
        instruction(BPF_LOAD, ARCHITECTURE_OFFSET),
        sock_filter { code: BPF_JUMP_IF_EQUAL, jt: 1, jf: 0, k: NATIVE_AUDIT_ARCH },
        instruction(BPF_RETURN, libc::SECCOMP_RET_USER_NOTIF),
        instruction(BPF_LOAD, NUMBER_OFFSET),
    ];
    program.extend(compile_search(&build_ranges(decisions)));
    program
}

/// The first number of a range, and the decision for all numbers up to the next range.
type DecisionRange = (u32, FilterDecision);

fn build_ranges(decisions: BTreeMap<u32, FilterDecision>) -> Vec<DecisionRange> {
    let mut ranges: Vec<DecisionRange> = vec![(0, FilterDecision::Absent)];
    let mut start = |from: u32, decision: FilterDecision| {
        ranges.pop_if(|(first, _)| *first == from);
        if ranges.last().is_none_or(|(_, last)| *last != decision) {
            ranges.push((from, decision));
        }
    };
    for (number, decision) in decisions {
        start(number, decision);
        start(number + 1, FilterDecision::Absent);
    }
    start(X32_SYSCALL_BIT, FilterDecision::Notify);
    ranges
}

fn compile_search(ranges: &[DecisionRange]) -> BpfProgram {
    if let [(_, decision)] = ranges {
        return compile_decision(decision);
    }
    let (lower, upper) = ranges.split_at(ranges.len() / 2);
    let (middle, lower, upper) = (upper[0].0, compile_search(lower), compile_search(upper));
    let mut program = match u8::try_from(lower.len()) {
        Ok(over) => vec![sock_filter { code: BPF_JUMP_IF_AT_LEAST, jt: over, jf: 0, k: middle }],
        Err(_) => vec![
            sock_filter { code: BPF_JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: middle },
            instruction(BPF_JUMP, lower.len() as u32),
        ],
    };
    program.extend(lower);
    program.extend(upper);
    program
}

fn compile_decision(decision: &FilterDecision) -> BpfProgram {
    match decision {
        FilterDecision::Allow => vec![instruction(BPF_RETURN, libc::SECCOMP_RET_ALLOW)],
        FilterDecision::Notify => vec![instruction(BPF_RETURN, libc::SECCOMP_RET_USER_NOTIF)],
        FilterDecision::Absent => {
            vec![instruction(BPF_RETURN, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned())]
        }
        FilterDecision::AllowIf(rules) => {
            let mut program = BpfProgram::new();
            for rule in rules {
                // Where a rule does not hold, its code jumps over the next instruction.
                program.extend(BpfProgram::from(rule.clone()));
                program.push(instruction(BPF_RETURN, libc::SECCOMP_RET_ALLOW));
            }
            program.push(instruction(BPF_RETURN, libc::SECCOMP_RET_USER_NOTIF));
            program
        }
    }
}

fn instruction(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interprets the program for a call that it decides by number alone.
    fn run(program: &[sock_filter], architecture: u32, number: u32) -> u32 {
        let (mut at, mut loaded) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            match code {
                BPF_LOAD if k == NUMBER_OFFSET => loaded = number,
                BPF_LOAD => loaded = architecture,
                BPF_JUMP_IF_EQUAL => at += usize::from(if loaded == k { jt } else { jf }),
                BPF_JUMP_IF_AT_LEAST => at += usize::from(if loaded >= k { jt } else { jf }),
                BPF_JUMP => at += k as usize,
                BPF_RETURN => return k,
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn each_number_gets_its_decision_and_unknown_ones_are_absent() {
        let absent = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
        // So many that some jumps do not fit into eight bits.
        let of = |number: u32| match number % 5 {
            0 => FilterDecision::Allow,
            1 => FilterDecision::Notify,
            _ => FilterDecision::Absent,
        };
        let program = compile((0..1000).filter(|n| n % 5 != 4).map(|n| (n, of(n))).collect());
        for number in 0..1100 {
            let expected = match of(number) {
                FilterDecision::Allow if number < 1000 => libc::SECCOMP_RET_ALLOW,
                FilterDecision::Notify if number < 1000 => libc::SECCOMP_RET_USER_NOTIF,
                _ => absent,
            };
            assert_eq!(run(&program, NATIVE_AUDIT_ARCH, number), expected, "{number}");
        }
        assert_eq!(run(&program, NATIVE_AUDIT_ARCH, X32_SYSCALL_BIT), libc::SECCOMP_RET_USER_NOTIF);
        assert_eq!(run(&program, NATIVE_AUDIT_ARCH, u32::MAX), libc::SECCOMP_RET_USER_NOTIF);
        assert_eq!(run(&program, NATIVE_AUDIT_ARCH ^ 1, 0), libc::SECCOMP_RET_USER_NOTIF);
    }

    #[test]
    fn neighbours_with_one_decision_share_a_range() {
        let allow = |number| (number, FilterDecision::Allow);
        let ranges = build_ranges([3, 4, 5, 9].into_iter().map(allow).collect());
        let starts: Vec<_> = ranges.iter().map(|(first, _)| *first).collect();
        assert_eq!(starts, [0, 3, 6, 9, 10, X32_SYSCALL_BIT]);
    }
}
