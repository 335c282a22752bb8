//! Derives the verdict of a call from the reports of init and harness.
//!
//! The most severe one wins: a violation over a limit, a limit over a crash, a crash over what the
//! guest itself reports.

use menace_model::{PolicyViolation, ProcessExit, RaisedException, Verdict};

use crate::wire::messages::{FORGED_REPORT, InitReport, KillReason, PATCHED_HARNESS};

/// The kind of result that the guest itself reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuestResult {
    /// No report: the process ended before it wrote one.
    NoReport,
    Returned,
    Raised {
        memory: bool,
        disk: bool,
        /// Raised explicitly, with a class meant for bad arguments, for an intentionally bad input.
        refused: bool,
    },
    /// `SystemExit` was raised.
    AskedToExit,
    Unreachable,
}

pub(crate) fn parse_wait_status(status: Option<i32>) -> ProcessExit {
    match status {
        Some(status) if libc::WIFEXITED(status) => {
            ProcessExit { code: Some(libc::WEXITSTATUS(status)), signal: None }
        }
        Some(status) => ProcessExit { code: None, signal: Some(libc::WTERMSIG(status)) },
        None => ProcessExit::default(),
    }
}

/// Exceptions with which Python itself rejects arguments.
const BAD_ARGUMENT_EXCEPTIONS: [&str; 6] =
    ["ValueError", "TypeError", "LookupError", "ArithmeticError", "OSError", "NotImplementedError"];

/// Whether this exception rejects an argument: Python's own classes for that, or any class that the
/// repository defines.
pub(crate) fn is_bad_argument_exception(exception: &RaisedException, in_repository: bool) -> bool {
    let mut classes = exception.bases.iter().chain([&exception.kind]);
    classes.any(|class| BAD_ARGUMENT_EXCEPTIONS.contains(&class.as_str()))
        || in_repository && exception.bases.iter().any(|base| base == "Exception")
}

/// The verdict, and a sentence where the verdict alone is not clear.
pub(crate) fn decide_verdict(
    report: &InitReport,
    result: GuestResult,
    violations: &[PolicyViolation],
) -> (Verdict, Option<String>) {
    let with_reason = |verdict, reason: &str| (verdict, Some(reason.to_owned()));
    if !violations.is_empty() {
        let has = |kind| violations.iter().any(|violation| violation.kind == kind);
        let reason = if has(PATCHED_HARNESS) {
            "its import changed the harness"
        } else if has(FORGED_REPORT) {
            "the guest forged its report"
        } else {
            "it tried what the policy forbids"
        };
        return with_reason(Verdict::Violated, reason);
    }
    match report.killed {
        Some(KillReason::Cpu) => {
            return with_reason(Verdict::TimedOut, "it used up its processor time");
        }
        Some(KillReason::Memory) => {
            return with_reason(Verdict::OutOfMemory, "it used up its memory");
        }
        Some(KillReason::Disk) => {
            return with_reason(Verdict::OutOfDisk, "it wrote more than it may");
        }
        Some(KillReason::EarlyKill) => {
            return with_reason(Verdict::TimedOut, "it was stopped early, as asked");
        }
        Some(KillReason::Deadline) if result == GuestResult::NoReport => {
            return with_reason(Verdict::TimedOut, "it did not end in time");
        }
        Some(KillReason::Deadline) | None => {}
    }
    if report.oom_kills > 0 && result == GuestResult::NoReport {
        return with_reason(Verdict::OutOfMemory, "the kernel killed it for its memory");
    }
    match parse_wait_status(report.status).signal {
        Some(libc::SIGXCPU) => {
            return with_reason(Verdict::TimedOut, "it used up its processor time");
        }
        Some(libc::SIGXFSZ) => {
            return with_reason(Verdict::OutOfDisk, "a file grew beyond its limit");
        }
        _ => {}
    }
    if report.disk_full {
        return with_reason(Verdict::OutOfDisk, "it filled its disk");
    }
    match verdict_of_result(result) {
        Some(verdict) => verdict,
        None => (Verdict::Crashed, Some(describe_death(report))),
    }
}

/// The verdict from the guest's report, if nothing else ended the call; `None` without a report.
pub(crate) fn verdict_of_result(result: GuestResult) -> Option<(Verdict, Option<String>)> {
    let with_reason = |verdict, reason: &str| (verdict, Some(reason.to_owned()));
    Some(match result {
        GuestResult::Returned => (Verdict::Returned, None),
        GuestResult::Raised { memory: true, .. } => {
            with_reason(Verdict::OutOfMemory, "an allocation failed")
        }
        GuestResult::Raised { disk: true, .. } => with_reason(Verdict::OutOfDisk, "a write failed"),
        GuestResult::Raised { refused: true, .. } => (Verdict::Refused, None),
        GuestResult::Raised { .. } => (Verdict::Raised, None),
        GuestResult::AskedToExit => with_reason(Verdict::Crashed, "it asked Python to exit"),
        GuestResult::Unreachable => (Verdict::Unreachable, None),
        GuestResult::NoReport => return None,
    })
}

fn describe_death(report: &InitReport) -> String {
    if let Some(errno) = report.fork_errno {
        let error = std::io::Error::from_raw_os_error(errno);
        return format!("no process could be made for it: {error}");
    }
    match parse_wait_status(report.status) {
        ProcessExit { signal: Some(signal), .. } => {
            let name = nix::sys::signal::Signal::try_from(signal)
                .map_or_else(|_| signal.to_string(), |signal| signal.to_string());
            format!("its process was killed by {name}")
        }
        ProcessExit { code: Some(code), .. } => {
            format!("its process left with code {code} before the section was done")
        }
        ProcessExit { .. } => {
            report.unusable_reason.clone().unwrap_or_else(|| "its process vanished".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGFAULT: i32 = libc::SIGSEGV;

    fn report() -> InitReport {
        InitReport::default()
    }

    fn violations(kind: &str) -> Vec<PolicyViolation> {
        vec![PolicyViolation { kind: kind.to_owned(), detail: String::new() }]
    }

    #[test]
    fn a_lie_is_called_one() {
        for (kind, word) in [(FORGED_REPORT, "forged"), (PATCHED_HARNESS, "harness")] {
            let (verdict, reason) =
                decide_verdict(&report(), GuestResult::Returned, &violations(kind));
            assert_eq!((verdict, reason.unwrap().contains(word)), (Verdict::Violated, true));
        }
    }

    #[test]
    fn a_violation_counts_more_than_anything_else() {
        let report = InitReport { killed: Some(KillReason::Deadline), oom_kills: 1, ..report() };
        assert_eq!(
            decide_verdict(&report, GuestResult::NoReport, &violations("file")).0,
            Verdict::Violated
        );
    }

    #[test]
    fn a_hanging_repr_after_the_call_is_no_timeout() {
        let report = InitReport { killed: Some(KillReason::Deadline), ..report() };
        assert_eq!(decide_verdict(&report, GuestResult::Returned, &[]).0, Verdict::Returned);
        assert_eq!(decide_verdict(&report, GuestResult::NoReport, &[]).0, Verdict::TimedOut);
    }

    #[test]
    fn a_silent_end_is_a_crash_even_with_code_zero() {
        let (verdict, reason) =
            decide_verdict(&InitReport { status: Some(0), ..report() }, GuestResult::NoReport, &[]);
        assert_eq!(verdict, Verdict::Crashed);
        assert!(reason.unwrap().contains("code 0"));
    }

    #[test]
    fn a_signal_is_named() {
        let (verdict, reason) = decide_verdict(
            &InitReport { status: Some(SEGFAULT), ..report() },
            GuestResult::NoReport,
            &[],
        );
        assert_eq!((verdict, reason.unwrap().contains("SIGSEGV")), (Verdict::Crashed, true));
    }

    #[test]
    fn limits_have_verdicts_of_their_own() {
        let said = GuestResult::Raised { memory: true, disk: false, refused: true };
        assert_eq!(decide_verdict(&report(), said, &[]).0, Verdict::OutOfMemory);
        let said = GuestResult::Raised { memory: false, disk: true, refused: true };
        assert_eq!(decide_verdict(&report(), said, &[]).0, Verdict::OutOfDisk);
        let full = InitReport { disk_full: true, ..report() };
        assert_eq!(decide_verdict(&full, GuestResult::Returned, &[]).0, Verdict::OutOfDisk);
        let cpu = InitReport { status: Some(libc::SIGXCPU), ..report() };
        assert_eq!(decide_verdict(&cpu, GuestResult::NoReport, &[]).0, Verdict::TimedOut);
    }

    #[test]
    fn a_refusal_is_neither_a_mere_exception_nor_stronger_than_a_violation() {
        let said = GuestResult::Raised { memory: false, disk: false, refused: true };
        assert_eq!(decide_verdict(&report(), said, &[]).0, Verdict::Refused);
        assert_eq!(decide_verdict(&report(), said, &violations("file")).0, Verdict::Violated);
    }

    #[test]
    fn some_exceptions_are_fit_for_a_bad_argument() {
        let raised = |kind: &str, bases: &[&str]| RaisedException {
            kind: kind.to_owned(),
            message: String::new(),
            bases: bases.iter().map(|base| (*base).to_owned()).collect(),
            explicit: true,
            frames: Vec::new(),
            errno: None,
            cause: None,
            group: Vec::new(),
            notes: Vec::new(),
        };
        let value = raised("ValueError", &["Exception", "BaseException"]);
        let key = raised("KeyError", &["LookupError", "Exception", "BaseException"]);
        assert!(is_bad_argument_exception(&value, false) && is_bad_argument_exception(&key, false));
        let runtime = raised("RuntimeError", &["Exception", "BaseException"]);
        assert!(!is_bad_argument_exception(&runtime, false));
        let own = raised("shop.Sold", &["Exception", "BaseException"]);
        assert!(is_bad_argument_exception(&own, true) && !is_bad_argument_exception(&own, false));
        let exit = raised("shop.Leave", &["BaseException"]);
        assert!(!is_bad_argument_exception(&exit, true));
    }
}
