//! Turns the report of a sandbox into an [`Outcome`].
//!
//! The mailbox was written by the guest: it is read field by field, and fields of the wrong form
//! are left out.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::OnceLock;

use menace_model::{
    Call, CallLimits, CallResult, CallStage, FaultMode, HangLocation, InputIntent, LeakedResources,
    Outcome, PolicyViolation, RaisedException, ReturnedValue, RuntimeMetrics, StackFrame,
    StateChanges, StreamOutput,
};
use nix::unistd::{SysconfVar, sysconf};

use super::verdict::{self, GuestResult};
use super::{conditions_report, fixture_files, hang_location, steps};
use crate::wire::marshal::MarshalValue;
use crate::wire::messages::{
    CapturedStream, FORGED_REPORT, InitReport, KillReason, PATCHED_HARNESS, ReportState,
};
use crate::wire::values;

/// The longest chain of causes, and the deepest nesting of exception groups.
const MAX_EXCEPTION_DEPTH: usize = 8;
const MAX_NOTES: usize = 32;
/// If init measured so much more processor time than the harness reports, other processes used it.
const CHILD_CPU_TOLERANCE_NS: u64 = 20_000_000;

/// The call and the paths that are needed to interpret a report.
#[derive(Debug)]
pub(crate) struct ReportContext<'a> {
    /// The repository as the guest sees it.
    repo_inside: &'a str,
    /// The repository on the host.
    repo: &'a Path,
    pub(super) call: &'a Call,
    pub(crate) during_import: bool,
    /// The limit on processes that applied.
    pub(crate) process_limit: u64,
}

impl<'a> ReportContext<'a> {
    pub(crate) fn new(repo_inside: &'a str, repo: &'a Path, call: &'a Call) -> Self {
        let process_limit = call.limits.processes;
        Self { repo_inside, repo, call, during_import: false, process_limit }
    }

    /// Adapts the context to an import, which had limits of its own.
    pub(crate) fn for_import(self, limits: &CallLimits) -> Self {
        Self { during_import: true, process_limit: limits.processes, ..self }
    }
}

pub(crate) fn build_outcome(report: &InitReport, context: &ReportContext<'_>) -> Outcome {
    let mut notes = report.notes.clone();
    let has_claim = report.report_state >= ReportState::ShortReport;
    let has_forged_end = has_forged_end(report, context);
    let lies = [FORGED_REPORT, PATCHED_HARNESS];
    let is_lie = has_forged_end || lies.iter().any(|kind| report.has_violation(kind));
    // The end of a process is a fact, and what it reported before is not.
    let guest_report = if has_claim && !is_lie && !report.ended_irregularly {
        MarshalValue::parse(&report.mailbox)
            .inspect_err(|error| {
                notes.push(format!("the guest corrupted its own report: {error}"));
            })
            .unwrap_or(MarshalValue::None)
    } else {
        MarshalValue::None
    };
    let exception = guest_report.get("exception").and_then(|item| read_exception(item, context, 0));
    let value = guest_report.get("value").and_then(|item| read_returned(item, &guest_report));
    let stage = read_stage(&guest_report, context);
    let result = read_guest_result(
        &guest_report,
        exception.as_ref(),
        stage,
        context.call.intent,
        report,
        context,
    );
    // An import that made its sandbox unusable has failed, whatever it reports.
    let is_unusable = context.during_import
        && report.unusable_reason.is_some()
        && result == GuestResult::Returned;
    let result = if is_unusable { GuestResult::NoReport } else { result };
    let mut violations = collect_violations(report, &guest_report, context);
    if has_forged_end {
        if !violations.iter().any(|violation| violation.kind == FORGED_REPORT) {
            violations.push(PolicyViolation {
                kind: FORGED_REPORT.to_owned(),
                detail: "the report of a regular end, of a process that had none".to_owned(),
            });
        }
    } else if has_claim && report.ended_irregularly && !context.during_import {
        notes.push("its process ended while its result was being described".to_owned());
    }
    let (verdict, mut reason) = verdict::decide_verdict(report, result, &violations);
    if let (GuestResult::Unreachable, Some(exception)) = (result, &exception) {
        reason = Some(exception.message.clone());
    }
    let exit = verdict::parse_wait_status(report.status);
    if report.unlisted_violations > 0 {
        let unlisted = report.unlisted_violations;
        notes.push(format!("{unlisted} more forbidden attempts are not listed"));
    }
    if !report.pretended_syscalls.is_empty() {
        notes.push(format!(
            "it could not change modes, owners, times or attributes of files, though the system \
             calls succeeded: {}",
            report.pretended_syscalls.join(", ")
        ));
    }
    notes.extend(guest_report.get("notes").map(MarshalValue::texts).unwrap_or_default());
    notes.truncate(MAX_NOTES);
    let hang_location = match result {
        GuestResult::NoReport => hang_location::locate_hang(&report.stack_dumps, context),
        // An endless generator, of which the harness took a bounded number of items.
        GuestResult::Returned => guest_report
            .get("stopped_at")
            .and_then(|item| conditions_report::read_frame(item, context))
            .map(|frame| HangLocation { frames: vec![frame], loop_frames: Vec::new() }),
        _ => None,
    };
    let mut files = report.files.clone();
    fixture_files::remove_fixture_changes(&mut files, &guest_report, context.call);
    let mut outcome = Outcome {
        exit,
        stdout: build_output(&report.stdout),
        stderr: build_output(&report.stderr),
        runtime_metrics: build_metrics(report, &guest_report),
        files,
        leaked: read_leaked(report, &guest_report),
        state_changes: read_state_changes(&guest_report, context),
        violations,
        enforced_by: report.enforced_by.clone(),
        unenforced: report.unenforced.clone(),
        fault_stats: report.fault_stats.clone(),
        hang_location,
        notes,
        ..Outcome::of_result(CallResult {
            reason,
            value,
            exception,
            ..CallResult::new(verdict, stage)
        })
    };
    if !context.during_import {
        conditions_report::add_conditions(&mut outcome, &guest_report, context);
        if !is_lie {
            steps::add_step_reports(&mut outcome, report, context);
        }
    }
    outcome
}

/// Whether there is a report that the harness writes as the last thing before a regular end, of a
/// process that is known to have ended otherwise, and not by a limit. An import goes on after its
/// report.
fn has_forged_end(report: &InitReport, context: &ReportContext<'_>) -> bool {
    let is_known = report.killed.map_or(report.status.is_some(), |why| why == KillReason::Deadline);
    !context.during_import
        && report.ended_irregularly
        && report.report_state >= ReportState::FullReport
        && report.oom_kills == 0
        && is_known
}

/// The kind of result that the guest reports, before init's observations are considered.
pub(super) fn read_guest_result(
    guest_report: &MarshalValue,
    exception: Option<&RaisedException>,
    stage: CallStage,
    intent: InputIntent,
    report: &InitReport,
    context: &ReportContext<'_>,
) -> GuestResult {
    let limits = &context.call.limits;
    let word = guest_report.get("kind").and_then(MarshalValue::as_text).unwrap_or_default();
    match word.as_str() {
        "returned" => GuestResult::Returned,
        "raised" => GuestResult::Raised {
            memory: limits.memory_bytes.is_some()
                && !was_injected(report, FaultMode::Memory)
                && any_in_chain(exception, is_memory_error),
            disk: limits.disk_bytes.is_some()
                && !was_injected(report, FaultMode::Disk)
                && any_in_chain(exception, is_disk_error),
            refused: exception
                .is_some_and(|exception| is_refusal(exception, guest_report, stage, intent)),
        },
        "exited" => GuestResult::AskedToExit,
        "unreachable" => GuestResult::Unreachable,
        _ => GuestResult::NoReport,
    }
}

pub(super) fn read_stage(guest_report: &MarshalValue, context: &ReportContext<'_>) -> CallStage {
    match guest_report.get("stage").and_then(MarshalValue::as_text).as_deref() {
        _ if context.during_import => CallStage::Import,
        Some("import") => CallStage::Import,
        Some("resolve") => CallStage::Resolve,
        Some("construct") => CallStage::Construct,
        Some("arguments") => CallStage::Arguments,
        Some("consume") => CallStage::Consume,
        _ => CallStage::Call,
    }
}

/// Whether the section rejected an intentionally bad input with an exception meant for that.
fn is_refusal(
    exception: &RaisedException,
    guest_report: &MarshalValue,
    stage: CallStage,
    intent: InputIntent,
) -> bool {
    let in_repository = guest_report
        .get("exception")
        .and_then(|item| item.get("in_repository"))
        .and_then(MarshalValue::as_bool)
        .unwrap_or(false);
    intent.may_be_refused()
        && matches!(stage, CallStage::Call | CallStage::Consume)
        && exception.explicit
        && verdict::is_bad_argument_exception(exception, in_repository)
}

fn build_metrics(report: &InitReport, guest_report: &MarshalValue) -> RuntimeMetrics {
    let reported = |key: &str| {
        guest_report
            .get(key)
            .and_then(MarshalValue::as_int)
            .and_then(|value| u64::try_from(value).ok())
    };
    let millis = |nanos: u64| nanos as f64 / 1e6;
    // The reported time cannot exceed the duration of the whole call.
    let wall = reported("wall_ns").map_or(report.total_ns, |wall| wall.min(report.total_ns));
    let (user, system) = processor_time(report, reported("user_ns").zip(reported("system_ns")));
    RuntimeMetrics {
        wall_ms: millis(wall),
        user_cpu_ms: millis(user),
        system_cpu_ms: millis(system),
        total_ms: millis(report.total_ns),
        peak_memory_bytes: report.peak_memory_bytes,
        bytes_read: report.bytes_read,
        bytes_written: report.bytes_written,
    }
}

/// User and system time in nanoseconds.
///
/// Init's measurement covers all processes and everything they did. The harness knows what the call
/// alone used, but `reported` is untrusted and is taken only where it is plausible.
fn processor_time(report: &InitReport, reported: Option<(u64, u64)>) -> (u64, u64) {
    let most = report.total_ns.saturating_mul(count_processors());
    let measured = report.user_ns.saturating_add(report.system_ns);
    // Without a control group nothing was measured for an import.
    let bound = if measured == 0 { most } else { measured.min(most) };
    let fits = |(user, system): &(u64, u64)| {
        let own = user.saturating_add(*system);
        own <= bound && measured <= own.saturating_mul(2).saturating_add(CHILD_CPU_TOLERANCE_NS)
    };
    reported.filter(fits).unwrap_or((report.user_ns.min(most), report.system_ns.min(most)))
}

/// How many processors can be busy at once.
pub(super) fn count_processors() -> u64 {
    static PROCESSOR_COUNT: OnceLock<u64> = OnceLock::new();
    *PROCESSOR_COUNT.get_or_init(|| {
        let configured = sysconf(SysconfVar::_NPROCESSORS_CONF).ok().flatten();
        configured.and_then(|count| u64::try_from(count).ok()).unwrap_or(1)
    })
}

fn build_output(captured: &CapturedStream) -> StreamOutput {
    StreamOutput {
        text: String::from_utf8_lossy(&captured.bytes).into_owned(),
        bytes: captured.total_bytes,
        truncated: captured.total_bytes > captured.bytes.len() as u64,
    }
}

fn read_leaked(report: &InitReport, guest_report: &MarshalValue) -> LeakedResources {
    let descriptors =
        guest_report.get("leaked_descriptors").map(MarshalValue::items).unwrap_or_default();
    let described = descriptors.iter().filter_map(|item| match item.items() {
        [number, what] => Some(format!("{} {}", number.as_int()?, what.as_text()?)),
        _ => None,
    });
    LeakedResources {
        threads: guest_report.get("leaked_threads").map(MarshalValue::texts).unwrap_or_default(),
        processes: report.leaked_processes.clone(),
        descriptors: described.collect(),
    }
}

fn read_state_changes(guest_report: &MarshalValue, context: &ReportContext<'_>) -> StateChanges {
    let Some(changed) = guest_report.get("state_changes") else { return StateChanges::default() };
    let numbers = |key: &str| -> Vec<i64> {
        changed
            .get(key)
            .map(MarshalValue::items)
            .unwrap_or_default()
            .iter()
            .filter_map(MarshalValue::as_int)
            .collect()
    };
    StateChanges {
        environment: changed.get("environ").map(MarshalValue::texts).unwrap_or_default(),
        working_directory: changed
            .get("cwd")
            .and_then(MarshalValue::as_text)
            .map(|path| display_path(&path, context).0),
        modules_loaded: changed
            .get("modules")
            .and_then(MarshalValue::as_int)
            .and_then(|count| u64::try_from(count).ok())
            .unwrap_or(0),
        signals: numbers("signals").into_iter().filter_map(|n| i32::try_from(n).ok()).collect(),
        recursion_limit: changed.get("recursion_limit").and_then(MarshalValue::as_int),
        defaults: changed.get("defaults").map(MarshalValue::texts).unwrap_or_default(),
    }
}

pub(super) fn read_returned(
    item: &MarshalValue,
    guest_report: &MarshalValue,
) -> Option<ReturnedValue> {
    let count = |item: Option<&MarshalValue>| {
        item.and_then(MarshalValue::as_int).and_then(|count| u64::try_from(count).ok())
    };
    Some(ReturnedValue {
        kind: item.get("type")?.as_text()?,
        repr: item.get("repr").and_then(MarshalValue::as_text).unwrap_or_default(),
        truncated: item.get("truncated").and_then(MarshalValue::as_bool).unwrap_or(false),
        length: count(item.get("length")),
        hash: item.get("hash").and_then(MarshalValue::as_text),
        value: item
            .get("value")
            .filter(|value| **value != MarshalValue::None || is_none_value(item))
            .and_then(values::parse_value),
        items: count(guest_report.get("items")),
        more: guest_report.get("more").and_then(MarshalValue::as_bool).unwrap_or(false),
    })
}

/// Whether the described value is `None`.
fn is_none_value(item: &MarshalValue) -> bool {
    item.get("type").and_then(MarshalValue::as_text).as_deref() == Some("NoneType")
}

pub(super) fn read_exception(
    item: &MarshalValue,
    context: &ReportContext<'_>,
    depth: usize,
) -> Option<RaisedException> {
    if depth > MAX_EXCEPTION_DEPTH {
        return None;
    }
    let kind = item.get("type")?.as_text()?;
    let cause = [item.get("cause"), item.get("context")]
        .into_iter()
        .flatten()
        .find_map(|cause| read_exception(cause, context, depth + 1));
    let group = item.get("group").map(MarshalValue::items).unwrap_or_default();
    let frames = item.get("frames").map(MarshalValue::items).unwrap_or_default().iter();
    let frames: Vec<StackFrame> = frames.filter_map(|item| read_frame(item, context)).collect();
    let by_statement = item.get("explicit").and_then(MarshalValue::as_bool).unwrap_or(false);
    Some(RaisedException {
        kind,
        message: item.get("message").and_then(MarshalValue::as_text).unwrap_or_default(),
        bases: item.get("bases").map(MarshalValue::texts).unwrap_or_default(),
        // Raised by a `raise` statement in the repository; exceptions from a library are not
        // explicit.
        explicit: by_statement && frames.last().is_some_and(|frame| frame.in_repository),
        frames,
        errno: item
            .get("errno")
            .and_then(MarshalValue::as_int)
            .and_then(|errno| i32::try_from(errno).ok()),
        cause: cause.map(Box::new),
        group: group.iter().filter_map(|item| read_exception(item, context, depth + 1)).collect(),
        notes: item.get("notes").map(MarshalValue::texts).unwrap_or_default(),
    })
}

fn read_frame(item: &MarshalValue, context: &ReportContext<'_>) -> Option<StackFrame> {
    let (file, own) = display_path(&item.get("file")?.as_text()?, context);
    Some(StackFrame {
        file,
        line: u32::try_from(item.get("line")?.as_int()?).ok()?,
        function: item.get("function")?.as_text()?,
        in_repository: own,
    })
}

/// A path for display: relative if it is in the repository. Also whether it is.
pub(super) fn display_path(path: &str, context: &ReportContext<'_>) -> (String, bool) {
    let inside = [Path::new(context.repo_inside), context.repo]
        .into_iter()
        .find_map(|repo| Path::new(path).strip_prefix(repo).ok());
    match inside {
        Some(inner) => (inner.to_string_lossy().into_owned(), true),
        None => (path.to_owned(), false),
    }
}

/// Whether the predicate holds for an exception or one of its causes.
fn any_in_chain(exception: Option<&RaisedException>, is: fn(&RaisedException) -> bool) -> bool {
    let mut next = exception;
    while let Some(exception) = next {
        if is(exception) {
            return true;
        }
        next = exception.cause.as_deref();
    }
    false
}

/// Whether this fault was injected: then an error of its kind is no exceeded limit.
fn was_injected(report: &InitReport, mode: FaultMode) -> bool {
    report.fault_stats.iter().any(|stats| stats.mode == mode && stats.injected > 0)
}

fn is_memory_error(exception: &RaisedException) -> bool {
    exception.kind == "MemoryError" || exception.errno == Some(libc::ENOMEM)
}

fn is_disk_error(exception: &RaisedException) -> bool {
    matches!(exception.errno, Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG))
}

/// Violations that the kernel stopped, and those that the guest's audit hook reported.
fn collect_violations(
    report: &InitReport,
    guest_report: &MarshalValue,
    context: &ReportContext<'_>,
) -> Vec<PolicyViolation> {
    let mut violations = report.violations.clone();
    let of_file = |what: &str, path: &str| PolicyViolation {
        kind: "file".to_owned(),
        detail: format!("{what} {path}"),
    };
    if report.process_limit_hits > 0 {
        violations.push(PolicyViolation {
            kind: "processes".to_owned(),
            detail: format!("more than {} processes", context.process_limit),
        });
    }
    let reported = guest_report.get("violations").map(MarshalValue::items).unwrap_or_default();
    let reported = reported.iter().filter_map(|item| match item.items() {
        [what, detail] => Some((what.as_text()?, detail.as_text()?)),
        _ => None,
    });
    for (what, detail) in reported.chain(report.parse_reported_violations()) {
        if what == PATCHED_HARNESS {
            violations.push(PolicyViolation { kind: what, detail });
        } else if is_outside_access(&what, &detail) {
            violations.push(of_file(&what, &detail));
        }
    }
    // Beyond what an honest guest looks for in vain, any of them may have been there.
    let unlisted = report.unlisted_accesses + report.unlisted_reported_violations;
    if unlisted > 0 {
        let detail = format!("{unlisted} more attempts outside than are listed");
        violations.push(PolicyViolation { kind: "file".to_owned(), detail });
    }
    for (what, path) in &report.outside_accesses {
        if is_outside_access(what, path) && !is_ordinary_access(what, Path::new(path)) {
            violations.push(of_file(what, path));
        }
    }
    violations.sort();
    violations.dedup();
    violations
}

/// Directories of the system's configuration and state, which programs read.
const SYSTEM_DIRS: [&str; 5] = ["/etc", "/sys", "/dev", "/run", "/var"];

/// Files of `/proc/1` that a program which only lists processes does not read.
const PRIVATE_PROC_FILES: [&str; 9] =
    ["environ", "mem", "maps", "smaps", "map_files", "root", "cwd", "fd", "task"];

/// Accesses that the C library and ordinary programs make by themselves: reading public files of
/// the machine, opening directories, opening the terminal, writing compiled files.
#[expect(clippy::disallowed_methods, reason = "a file of the host is looked at, and not opened")]
fn is_ordinary_access(what: &str, path: &Path) -> bool {
    if path.parent().is_some_and(|parent| parent.ends_with("__pycache__")) {
        return true;
    }
    if let Ok(rest) = path.strip_prefix("/proc/1") {
        return !PRIVATE_PROC_FILES.iter().any(|secret| rest.starts_with(secret));
    }
    let Ok(found) = path.metadata() else { return false };
    let of_the_system = || SYSTEM_DIRS.iter().any(|place| path.starts_with(place));
    match what {
        "read" => found.is_dir() || found.mode() & 0o004 != 0 && of_the_system(),
        "write" => found.mode() & 0o002 != 0 && found.file_type().is_char_device(),
        _ => false,
    }
}

/// Files of `/proc/1` that every user may read, and many programs do.
const PUBLIC_PROC_FILES: [&str; 8] =
    ["stat", "statm", "status", "cmdline", "comm", "cgroup", "mounts", "mountinfo"];

/// Whether an access is a violation. Reading a file that does not exist on the host either is a
/// mistake of the guest, not a violation.
#[expect(clippy::disallowed_methods, reason = "a file of the host is looked at, and not opened")]
fn is_outside_access(what: &str, path: &str) -> bool {
    match what {
        // The filters decide about connections, and report violations to init.
        "connect" | "sendto" => return false,
        _ => {}
    }
    if path == "/proc" {
        return false;
    }
    if let Some(rest) = path.strip_prefix("/proc/") {
        let secret = |rest: &str| !PUBLIC_PROC_FILES.contains(&rest);
        return rest.strip_prefix("1/").is_some_and(secret);
    }
    let path = Path::new(path);
    match path.metadata() {
        // Programs search for files in /etc; only those that are not public count.
        Ok(found) if path.starts_with("/etc") => what != "read" || found.mode() & 0o004 == 0,
        Ok(_) => true,
        Err(_) => what != "read" || path.symlink_metadata().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use menace_model::{CallTarget, ModuleRef, TargetKind, Verdict};

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn report_with_cpu(user_ns: u64, system_ns: u64) -> InitReport {
        InitReport { total_ns: SECOND_NS, user_ns, system_ns, ..InitReport::default() }
    }

    fn build_reported_violation(kind: &str) -> Vec<u8> {
        let mut out = crate::wire::marshal::MarshalWriter::default();
        out.open_list(2);
        out.write_str(kind);
        out.write_str("in the words of the guest");
        out.0
    }

    #[test]
    fn a_full_report_is_forged_when_the_process_is_known_to_have_ended_otherwise() {
        let module = ModuleRef { name: "m".to_owned(), path: None };
        let (qualname, kind) = ("f".to_owned(), TargetKind::Function);
        let call = Call::new(CallTarget { module, qualname, kind });
        let context = || ReportContext::new("/repo", Path::new("/repo"), &call);
        for (status, killed, oom_kills, is_forged) in [
            (Some(libc::SIGSEGV), None, 0, true),
            (Some(3 << 8), None, 0, true),
            (Some(libc::SIGKILL), Some(KillReason::Deadline), 0, true),
            (Some(libc::SIGKILL), Some(KillReason::Memory), 0, false),
            (Some(libc::SIGKILL), None, 1, false),
            (None, None, 0, false),
        ] {
            let report = InitReport {
                report_state: ReportState::FullReport,
                ended_irregularly: true,
                status,
                killed,
                oom_kills,
                ..InitReport::default()
            };
            let outcome = build_outcome(&report, &context());
            assert_eq!(outcome.verdict == Verdict::Violated, is_forged, "{report:?}");
            assert_eq!(outcome.violations.len(), usize::from(is_forged));
            assert_ne!(outcome.verdict, Verdict::Returned);
            // What the guest says of a forgery makes none of it undone.
            let reported_violations = vec![build_reported_violation(FORGED_REPORT)];
            let confessed = InitReport { reported_violations, ..report.clone() };
            let outcome = build_outcome(&confessed, &context());
            let is_named = outcome.violations.iter().any(|it| it.kind == FORGED_REPORT);
            assert_eq!(is_named, is_forged, "{confessed:?}");
            // An import goes on after its report, and may be stopped then.
            let import = build_outcome(&report, &context().for_import(&call.limits));
            assert!(!matches!(import.verdict, Verdict::Returned | Verdict::Violated), "{report:?}");
        }
    }

    #[test]
    fn the_harness_knows_best_what_the_call_alone_took() {
        assert_eq!(processor_time(&report_with_cpu(900_000, 300_000), Some((500, 20))), (500, 20));
    }

    #[test]
    fn reported_processor_time_is_at_most_what_was_measured() {
        let forged = Some((i64::MAX.unsigned_abs(), i64::MAX.unsigned_abs()));
        assert_eq!(processor_time(&report_with_cpu(900_000, 300_000), forged), (900_000, 300_000));
        assert_eq!(processor_time(&report_with_cpu(0, 0), forged), (0, 0));
        assert_eq!(
            processor_time(&report_with_cpu(900_000, 300_000), Some((u64::MAX, 1))),
            (900_000, 300_000)
        );
    }

    /// Without a control group, measured time comes from the interpreter.
    #[test]
    fn processor_time_is_at_most_wall_time_on_all_processors() {
        let most = SECOND_NS * count_processors();
        assert_eq!(processor_time(&report_with_cpu(1 << 60, u64::MAX), None), (most, most));
        assert_eq!(processor_time(&report_with_cpu(1 << 60, 0), Some((1 << 59, 0))), (most, 0));
    }

    #[test]
    fn the_time_of_other_processes_counts() {
        let of_children = report_with_cpu(SECOND_NS / 2, 0);
        assert_eq!(processor_time(&of_children, Some((500, 20))), (SECOND_NS / 2, 0));
    }

    #[test]
    fn without_a_control_group_an_import_reports_its_own_time() {
        assert_eq!(processor_time(&report_with_cpu(0, 0), Some((700_000, 20))), (700_000, 20));
    }
}
