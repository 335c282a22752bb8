//! Turns decisions into a BPF program.
//!
//! A binary search over ranges of call numbers, so that the program stays short: the kernel runs it
//! once for each call there is when it is installed, to find those that never need it again. (A chain
//! of comparisons, as libraries build it, takes four times as long to install.) Conditions on arguments
//! are compiled by `seccompiler`.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompRule, sock_filter};

/// `AUDIT_ARCH_…` of this program's calls.
#[cfg(target_arch = "x86_64")]
pub(super) const NATIVE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(super) const NATIVE: u32 = 0xc000_00b7;

/// From here on numbers are those of `x86_64`'s x32 calls.
pub(super) const X32: u32 = 0x4000_0000;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const SKIP: u16 = (libc::BPF_JMP | libc::BPF_JA) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Where `struct seccomp_data` has the number and the architecture of a call.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    Allow,
    /// The listener decides.
    Ask,
    /// As if the kernel had no such call.
    Absent,
    /// Allowed when one of these rules holds; else the listener decides.
    When(Vec<SeccompRule>),
}

/// The program for these decisions. Calls that are not named are absent, calls of other architectures
/// are asked about.
pub(super) fn compile(decisions: BTreeMap<u32, Decision>) -> BpfProgram {
    let mut program = vec![
        line(LOAD, ARCHITECTURE),
        sock_filter { code: IF_EQUAL, jt: 1, jf: 0, k: NATIVE },
        line(RETURN, libc::SECCOMP_RET_USER_NOTIF),
        line(LOAD, NUMBER),
    ];
    program.extend(search(&ranges(decisions)));
    program
}

/// A range's first number, and the decision up to the next range.
type Range = (u32, Decision);

fn ranges(decisions: BTreeMap<u32, Decision>) -> Vec<Range> {
    let mut ranges: Vec<Range> = vec![(0, Decision::Absent)];
    let mut start = |from: u32, decision: Decision| {
        ranges.pop_if(|(first, _)| *first == from);
        if ranges.last().is_none_or(|(_, last)| *last != decision) {
            ranges.push((from, decision));
        }
    };
    for (number, decision) in decisions {
        start(number, decision);
        start(number + 1, Decision::Absent);
    }
    start(X32, Decision::Ask);
    ranges
}

fn search(ranges: &[Range]) -> BpfProgram {
    if let [(_, decision)] = ranges {
        return leaf(decision);
    }
    let (lower, upper) = ranges.split_at(ranges.len() / 2);
    let (middle, lower, upper) = (upper[0].0, search(lower), search(upper));
    let mut program = match u8::try_from(lower.len()) {
        Ok(over) => vec![sock_filter { code: IF_AT_LEAST, jt: over, jf: 0, k: middle }],
        Err(_) => vec![
            sock_filter { code: IF_AT_LEAST, jt: 0, jf: 1, k: middle },
            line(SKIP, lower.len() as u32),
        ],
    };
    program.extend(lower);
    program.extend(upper);
    program
}

fn leaf(decision: &Decision) -> BpfProgram {
    match decision {
        Decision::Allow => vec![line(RETURN, libc::SECCOMP_RET_ALLOW)],
        Decision::Ask => vec![line(RETURN, libc::SECCOMP_RET_USER_NOTIF)],
        Decision::Absent => {
            vec![line(RETURN, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned())]
        }
        Decision::When(rules) => {
            let mut program = BpfProgram::new();
            for rule in rules {
                // A rule that does not hold jumps over the line after it.
                program.extend(BpfProgram::from(rule.clone()));
                program.push(line(RETURN, libc::SECCOMP_RET_ALLOW));
            }
            program.push(line(RETURN, libc::SECCOMP_RET_USER_NOTIF));
            program
        }
    }
}

fn line(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows the program for a call that it decides by number alone.
    fn run(program: &[sock_filter], architecture: u32, number: u32) -> u32 {
        let (mut at, mut loaded) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            match code {
                LOAD if k == NUMBER => loaded = number,
                LOAD => loaded = architecture,
                IF_EQUAL => at += usize::from(if loaded == k { jt } else { jf }),
                IF_AT_LEAST => at += usize::from(if loaded >= k { jt } else { jf }),
                SKIP => at += k as usize,
                RETURN => return k,
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn each_number_gets_its_decision_and_unknown_ones_are_absent() {
        let absent = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
        // Enough of them for jumps that do not fit into eight bits.
        let of = |number: u32| match number % 5 {
            0 => Decision::Allow,
            1 => Decision::Ask,
            _ => Decision::Absent,
        };
        let program = compile((0..1000).filter(|n| n % 5 != 4).map(|n| (n, of(n))).collect());
        for number in 0..1100 {
            let expected = match of(number) {
                Decision::Allow if number < 1000 => libc::SECCOMP_RET_ALLOW,
                Decision::Ask if number < 1000 => libc::SECCOMP_RET_USER_NOTIF,
                _ => absent,
            };
            assert_eq!(run(&program, NATIVE, number), expected, "{number}");
        }
        assert_eq!(run(&program, NATIVE, X32), libc::SECCOMP_RET_USER_NOTIF);
        assert_eq!(run(&program, NATIVE, u32::MAX), libc::SECCOMP_RET_USER_NOTIF);
        assert_eq!(run(&program, NATIVE ^ 1, 0), libc::SECCOMP_RET_USER_NOTIF);
    }

    #[test]
    fn neighbours_with_one_decision_share_a_range() {
        let allow = |number| (number, Decision::Allow);
        let ranges = ranges([3, 4, 5, 9].into_iter().map(allow).collect());
        let starts: Vec<_> = ranges.iter().map(|(first, _)| *first).collect();
        assert_eq!(starts, [0, 3, 6, 9, 10, X32]);
    }
}
