//! From what the init saw and what the harness said to one word.
//!
//! The most alarming wins: a violation over a limit, a limit over a crash, a crash over what the
//! guest itself reports.

use menace_model::{Exit, Raised, Verdict};

use crate::wire::messages::{Killed, Report};

/// What the guest's own report amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// No report: the process was gone before.
    Nothing,
    Returned,
    Raised {
        memory: bool,
        disk: bool,
        /// On purpose, and fit for an input that was bad on purpose.
        refused: bool,
    },
    /// `SystemExit`.
    Exited,
    Unreachable,
}

pub(crate) fn exit_of(status: Option<i32>) -> Exit {
    match status {
        Some(status) if libc::WIFEXITED(status) => {
            Exit { code: Some(libc::WEXITSTATUS(status)), signal: None }
        }
        Some(status) => Exit { code: None, signal: Some(libc::WTERMSIG(status)) },
        None => Exit::default(),
    }
}

/// What Python itself has for an argument that cannot be dealt with.
const FOR_BAD_ARGUMENTS: [&str; 6] =
    ["ValueError", "TypeError", "LookupError", "ArithmeticError", "OSError", "NotImplementedError"];

/// Whether somebody who gets an argument that they cannot deal with would raise this; a repository
/// that has classes of its own may use whichever it likes.
pub(crate) fn is_fit_for_bad_argument(exception: &Raised, own_class: bool) -> bool {
    let mut classes = exception.bases.iter().chain([&exception.kind]);
    classes.any(|class| FOR_BAD_ARGUMENTS.contains(&class.as_str()))
        || own_class && exception.bases.iter().any(|base| base == "Exception")
}

/// The word, and a sentence when the word is not enough.
pub(crate) fn judge(report: &Report, said: Said, violations: usize) -> (Verdict, Option<String>) {
    let told = |verdict, reason: &str| (verdict, Some(reason.to_owned()));
    if violations > 0 {
        return told(Verdict::Violated, "it tried what the policy forbids");
    }
    match report.killed {
        Some(Killed::Cpu) => return told(Verdict::TimedOut, "it used up its processor time"),
        Some(Killed::Memory) => return told(Verdict::OutOfMemory, "it used up its memory"),
        Some(Killed::Disk) => return told(Verdict::OutOfDisk, "it wrote more than it may"),
        Some(Killed::Early) => return told(Verdict::TimedOut, "it was stopped early, as asked"),
        Some(Killed::Deadline) if said == Said::Nothing => {
            return told(Verdict::TimedOut, "it did not end in time");
        }
        Some(Killed::Deadline) | None => {}
    }
    if report.oom_kills > 0 && said == Said::Nothing {
        return told(Verdict::OutOfMemory, "the kernel killed it for its memory");
    }
    match exit_of(report.status).signal {
        Some(libc::SIGXCPU) => return told(Verdict::TimedOut, "it used up its processor time"),
        Some(libc::SIGXFSZ) => return told(Verdict::OutOfDisk, "a file grew beyond its limit"),
        _ => {}
    }
    if report.disk_full {
        return told(Verdict::OutOfDisk, "it filled its disk");
    }
    match by_itself(said) {
        Some(verdict) => verdict,
        None => (Verdict::Crashed, Some(death(report))),
    }
}

/// What the section made of it, when nothing from outside ended it; nothing when it said nothing.
pub(crate) fn by_itself(said: Said) -> Option<(Verdict, Option<String>)> {
    let told = |verdict, reason: &str| (verdict, Some(reason.to_owned()));
    Some(match said {
        Said::Returned => (Verdict::Returned, None),
        Said::Raised { memory: true, .. } => told(Verdict::OutOfMemory, "an allocation failed"),
        Said::Raised { disk: true, .. } => told(Verdict::OutOfDisk, "a write failed"),
        Said::Raised { refused: true, .. } => (Verdict::Refused, None),
        Said::Raised { .. } => (Verdict::Raised, None),
        Said::Exited => told(Verdict::Crashed, "it asked Python to exit"),
        Said::Unreachable => (Verdict::Unreachable, None),
        Said::Nothing => return None,
    })
}

fn death(report: &Report) -> String {
    if let Some(errno) = report.fork_errno {
        let error = std::io::Error::from_raw_os_error(errno);
        return format!("no process could be made for it: {error}");
    }
    match exit_of(report.status) {
        Exit { signal: Some(signal), .. } => {
            let name = nix::sys::signal::Signal::try_from(signal)
                .map_or_else(|_| signal.to_string(), |signal| signal.to_string());
            format!("its process was killed by {name}")
        }
        Exit { code: Some(code), .. } => {
            format!("its process left with code {code} before the section was done")
        }
        Exit { .. } => report.spent.clone().unwrap_or_else(|| "its process vanished".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGFAULT: i32 = libc::SIGSEGV;

    fn report() -> Report {
        Report::default()
    }

    #[test]
    fn a_violation_counts_more_than_anything_else() {
        let report = Report { killed: Some(Killed::Deadline), oom_kills: 1, ..report() };
        assert_eq!(judge(&report, Said::Nothing, 1).0, Verdict::Violated);
    }

    #[test]
    fn a_hanging_repr_after_the_call_is_no_timeout() {
        let report = Report { killed: Some(Killed::Deadline), ..report() };
        assert_eq!(judge(&report, Said::Returned, 0).0, Verdict::Returned);
        assert_eq!(judge(&report, Said::Nothing, 0).0, Verdict::TimedOut);
    }

    #[test]
    fn a_silent_end_is_a_crash_even_with_code_zero() {
        let (verdict, reason) = judge(&Report { status: Some(0), ..report() }, Said::Nothing, 0);
        assert_eq!(verdict, Verdict::Crashed);
        assert!(reason.unwrap().contains("code 0"));
    }

    #[test]
    fn a_signal_is_named() {
        let (verdict, reason) =
            judge(&Report { status: Some(SEGFAULT), ..report() }, Said::Nothing, 0);
        assert_eq!((verdict, reason.unwrap().contains("SIGSEGV")), (Verdict::Crashed, true));
    }

    #[test]
    fn limits_have_verdicts_of_their_own() {
        let said = Said::Raised { memory: true, disk: false, refused: true };
        assert_eq!(judge(&report(), said, 0).0, Verdict::OutOfMemory);
        let said = Said::Raised { memory: false, disk: true, refused: true };
        assert_eq!(judge(&report(), said, 0).0, Verdict::OutOfDisk);
        let full = Report { disk_full: true, ..report() };
        assert_eq!(judge(&full, Said::Returned, 0).0, Verdict::OutOfDisk);
        let cpu = Report { status: Some(libc::SIGXCPU), ..report() };
        assert_eq!(judge(&cpu, Said::Nothing, 0).0, Verdict::TimedOut);
    }

    #[test]
    fn a_refusal_is_neither_a_mere_exception_nor_stronger_than_a_violation() {
        let said = Said::Raised { memory: false, disk: false, refused: true };
        assert_eq!(judge(&report(), said, 0).0, Verdict::Refused);
        assert_eq!(judge(&report(), said, 1).0, Verdict::Violated);
    }

    #[test]
    fn some_exceptions_are_fit_for_a_bad_argument() {
        let raised = |kind: &str, bases: &[&str]| Raised {
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
        assert!(is_fit_for_bad_argument(&value, false) && is_fit_for_bad_argument(&key, false));
        let runtime = raised("RuntimeError", &["Exception", "BaseException"]);
        assert!(!is_fit_for_bad_argument(&runtime, false));
        let own = raised("shop.Sold", &["Exception", "BaseException"]);
        assert!(is_fit_for_bad_argument(&own, true) && !is_fit_for_bad_argument(&own, false));
        let exit = raised("shop.Leave", &["BaseException"]);
        assert!(!is_fit_for_bad_argument(&exit, true));
    }
}
