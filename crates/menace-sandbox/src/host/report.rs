//! Turns what came out of a sandbox into an [`Outcome`].
//!
//! The mailbox is the guest's: it is read field by field, anything that does not fit is left out.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::OnceLock;

use menace_model::{
    Call, Changed, FaultMode, Frame, Intent, Left, Limits, Outcome, Output, Raised, Returned,
    RuntimeMetrics, Stage, Stood, Violation,
};
use nix::unistd::{SysconfVar, sysconf};

use super::verdict::{self, Said};
use super::{planted, steps, told, whereabouts};
use crate::wire::marshal::Item;
use crate::wire::messages::{Captured, Report};
use crate::wire::values;

/// Longest chain of causes, deepest group of exceptions.
const CHAIN: usize = 8;
const MOST_NOTES: usize = 32;
/// When so much more processor time was seen than the harness says, other processes took it.
const PROCESSES_OF_ITS_OWN: u64 = 20_000_000;

/// What is needed to understand a report.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// The repository as the guest sees it.
    repo_inside: &'a str,
    /// The repository on the host.
    repo: &'a Path,
    pub(super) call: &'a Call,
    pub(crate) during_import: bool,
    /// How many were allowed.
    pub(crate) processes: u64,
}

impl<'a> Context<'a> {
    pub(crate) fn new(repo_inside: &'a str, repo: &'a Path, call: &'a Call) -> Self {
        let processes = call.limits.processes;
        Self { repo_inside, repo, call, during_import: false, processes }
    }

    /// For the report of an import that was held to limits of its own.
    pub(crate) fn of_import(self, limits: &Limits) -> Self {
        Self { during_import: true, processes: limits.processes, ..self }
    }
}

pub(crate) fn outcome(report: &Report, context: &Context<'_>) -> Outcome {
    let mut notes = Vec::new();
    let said = if report.phase >= 2 {
        Item::read(&report.mailbox)
            .inspect_err(|error| {
                notes.push(format!("the guest spoilt its own report: {error}"));
            })
            .unwrap_or(Item::None)
    } else {
        Item::None
    };
    let exception = said.get("exception").and_then(|item| raised(item, context, 0));
    let value = said.get("value").and_then(|item| returned(item, &said));
    let stage = stage(&said, context);
    let what = what(&said, exception.as_ref(), stage, context.call.intent, report, context);
    // An import that spoilt its sandbox did not work, whatever it says of itself.
    let spoilt = context.during_import && report.spent.is_some() && what == Said::Returned;
    let what = if spoilt { Said::Nothing } else { what };
    let violations = violations(report, &said, context);
    let (verdict, mut reason) = verdict::judge(report, what, violations.len());
    if let (Said::Unreachable, Some(exception)) = (what, &exception) {
        reason = Some(exception.message.clone());
    }
    let exit = verdict::exit_of(report.status);
    // Some are told off for what they did once they have ended by themselves.
    if report.killed.is_some() && exit.signal.is_some() && what != Said::Nothing {
        notes.push("it was stopped while its result was being described".to_owned());
    }
    if !report.pretended.is_empty() {
        notes.push(format!(
            "it could not change modes, owners, times or attributes of files, though it was told \
             that it did: {}",
            report.pretended.join(", ")
        ));
    }
    notes.extend(said.get("notes").map(Item::texts).unwrap_or_default());
    notes.truncate(MOST_NOTES);
    let stood = match what {
        Said::Nothing => whereabouts::stood(&report.whereabouts, context),
        // A generator that has no end.
        Said::Returned => said
            .get("paused_at")
            .and_then(|item| told::place(item, context))
            .map(|frame| Stood { frames: vec![frame], among: Vec::new() }),
        _ => None,
    };
    let mut files = report.files.clone();
    planted::settle(&mut files, &said, context.call);
    let mut outcome = Outcome {
        reason,
        value,
        exception,
        exit,
        stdout: output(&report.stdout),
        stderr: output(&report.stderr),
        runtime_metrics: metrics(report, &said),
        files,
        left: left(report, &said),
        changed: changed(&said, context),
        violations,
        enforced_by: report.enforced_by.clone(),
        unenforced: report.unenforced.clone(),
        felt: report.felt.clone(),
        stood,
        notes,
        ..Outcome::of(verdict, stage)
    };
    if !context.during_import {
        told::add(&mut outcome, &said, context);
        steps::add(&mut outcome, report, context);
    }
    outcome
}

/// What the guest says of itself amounts to.
pub(super) fn what(
    said: &Item,
    exception: Option<&Raised>,
    stage: Stage,
    intent: Intent,
    report: &Report,
    context: &Context<'_>,
) -> Said {
    let limits = &context.call.limits;
    let word = said.get("kind").and_then(Item::as_text).unwrap_or_default();
    match word.as_str() {
        "returned" => Said::Returned,
        "raised" => Said::Raised {
            memory: limits.memory_bytes.is_some()
                && !injected(report, FaultMode::Memory)
                && holds(exception, is_memory),
            disk: limits.disk_bytes.is_some()
                && !injected(report, FaultMode::Disk)
                && holds(exception, is_disk),
            refused: exception.is_some_and(|exception| is_refusal(exception, said, stage, intent)),
        },
        "exited" => Said::Exited,
        "unreachable" => Said::Unreachable,
        _ => Said::Nothing,
    }
}

pub(super) fn stage(said: &Item, context: &Context<'_>) -> Stage {
    match said.get("stage").and_then(Item::as_text).as_deref() {
        _ if context.during_import => Stage::Import,
        Some("import") => Stage::Import,
        Some("resolve") => Stage::Resolve,
        Some("construct") => Stage::Construct,
        Some("arguments") => Stage::Arguments,
        Some("consume") => Stage::Consume,
        _ => Stage::Call,
    }
}

/// The section said no to an input that was bad on purpose, and meant it.
fn is_refusal(exception: &Raised, said: &Item, stage: Stage, intent: Intent) -> bool {
    let own_class = said
        .get("exception")
        .and_then(|item| item.get("own_class"))
        .and_then(Item::as_bool)
        .unwrap_or(false);
    intent.is_bad_on_purpose()
        && matches!(stage, Stage::Call | Stage::Consume)
        && exception.explicit
        && verdict::is_fit_for_bad_argument(exception, own_class)
}

fn metrics(report: &Report, said: &Item) -> RuntimeMetrics {
    let told = |key: &str| {
        said.get(key).and_then(Item::as_int).and_then(|value| u64::try_from(value).ok())
    };
    let millis = |nanos: u64| nanos as f64 / 1e6;
    // The guest cannot have taken longer than the whole call did.
    let wall = told("wall_ns").map_or(report.total_ns, |wall| wall.min(report.total_ns));
    let (user, system) = processor_time(report, told("user_ns").zip(told("system_ns")));
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
/// What was seen from outside covers all processes and all that they did; the harness knows what the
/// call alone took, but `told` is the guest's word, and counts only where it can be true.
fn processor_time(report: &Report, told: Option<(u64, u64)>) -> (u64, u64) {
    let most = report.total_ns.saturating_mul(processors());
    let seen = report.user_ns.saturating_add(report.system_ns);
    // Of an import nothing was seen where there is no control group.
    let bound = if seen == 0 { most } else { seen.min(most) };
    let fits = |(user, system): &(u64, u64)| {
        let own = user.saturating_add(*system);
        own <= bound && seen <= own.saturating_mul(2).saturating_add(PROCESSES_OF_ITS_OWN)
    };
    told.filter(fits).unwrap_or((report.user_ns.min(most), report.system_ns.min(most)))
}

/// How many processors can be busy at once.
pub(super) fn processors() -> u64 {
    static COUNT: OnceLock<u64> = OnceLock::new();
    *COUNT.get_or_init(|| {
        let configured = sysconf(SysconfVar::_NPROCESSORS_CONF).ok().flatten();
        configured.and_then(|count| u64::try_from(count).ok()).unwrap_or(1)
    })
}

fn output(captured: &Captured) -> Output {
    Output {
        text: String::from_utf8_lossy(&captured.bytes).into_owned(),
        bytes: captured.total,
        truncated: captured.total > captured.bytes.len() as u64,
    }
}

fn left(report: &Report, said: &Item) -> Left {
    let descriptors = said.get("descriptors_left").map(Item::items).unwrap_or_default();
    let described = descriptors.iter().filter_map(|item| match item.items() {
        [number, what] => Some(format!("{} {}", number.as_int()?, what.as_text()?)),
        _ => None,
    });
    Left {
        threads: said.get("threads_left").map(Item::texts).unwrap_or_default(),
        processes: report.processes_left.clone(),
        descriptors: described.collect(),
    }
}

fn changed(said: &Item, context: &Context<'_>) -> Changed {
    let Some(changed) = said.get("changed") else { return Changed::default() };
    let numbers = |key: &str| -> Vec<i64> {
        changed
            .get(key)
            .map(Item::items)
            .unwrap_or_default()
            .iter()
            .filter_map(Item::as_int)
            .collect()
    };
    Changed {
        environment: changed.get("environ").map(Item::texts).unwrap_or_default(),
        working_directory: changed
            .get("cwd")
            .and_then(Item::as_text)
            .map(|path| shown(&path, context).0),
        modules_loaded: changed
            .get("modules")
            .and_then(Item::as_int)
            .and_then(|count| u64::try_from(count).ok())
            .unwrap_or(0),
        signals: numbers("signals").into_iter().filter_map(|n| i32::try_from(n).ok()).collect(),
        recursion_limit: changed.get("recursion_limit").and_then(Item::as_int),
        defaults: changed.get("defaults").map(Item::texts).unwrap_or_default(),
    }
}

pub(super) fn returned(item: &Item, said: &Item) -> Option<Returned> {
    let count = |item: Option<&Item>| {
        item.and_then(Item::as_int).and_then(|count| u64::try_from(count).ok())
    };
    Some(Returned {
        kind: item.get("type")?.as_text()?,
        repr: item.get("repr").and_then(Item::as_text).unwrap_or_default(),
        truncated: item.get("truncated").and_then(Item::as_bool).unwrap_or(false),
        length: count(item.get("length")),
        hash: item.get("hash").and_then(Item::as_text),
        value: item
            .get("value")
            .filter(|value| **value != Item::None || is_none(item))
            .and_then(values::read),
        items: count(said.get("items")),
        more: said.get("more").and_then(Item::as_bool).unwrap_or(false),
    })
}

/// `None` as a value, and not for want of one.
fn is_none(item: &Item) -> bool {
    item.get("type").and_then(Item::as_text).as_deref() == Some("NoneType")
}

pub(super) fn raised(item: &Item, context: &Context<'_>, depth: usize) -> Option<Raised> {
    if depth > CHAIN {
        return None;
    }
    let kind = item.get("type")?.as_text()?;
    let cause = [item.get("cause"), item.get("context")]
        .into_iter()
        .flatten()
        .find_map(|cause| raised(cause, context, depth + 1));
    let group = item.get("group").map(Item::items).unwrap_or_default();
    let frames = item.get("frames").map(Item::items).unwrap_or_default().iter();
    let frames: Vec<Frame> = frames.filter_map(|item| frame(item, context)).collect();
    let by_statement = item.get("explicit").and_then(Item::as_bool).unwrap_or(false);
    Some(Raised {
        kind,
        message: item.get("message").and_then(Item::as_text).unwrap_or_default(),
        bases: item.get("bases").map(Item::texts).unwrap_or_default(),
        // What a library raises, the section has only stumbled over.
        explicit: by_statement && frames.last().is_some_and(|frame| frame.own),
        frames,
        errno: item.get("errno").and_then(Item::as_int).and_then(|errno| i32::try_from(errno).ok()),
        cause: cause.map(Box::new),
        group: group.iter().filter_map(|item| raised(item, context, depth + 1)).collect(),
        notes: item.get("notes").map(Item::texts).unwrap_or_default(),
    })
}

fn frame(item: &Item, context: &Context<'_>) -> Option<Frame> {
    let (file, own) = shown(&item.get("file")?.as_text()?, context);
    Some(Frame {
        file,
        line: u32::try_from(item.get("line")?.as_int()?).ok()?,
        function: item.get("function")?.as_text()?,
        own,
    })
}

/// A path for people: relative when it is the repository's.
pub(super) fn shown(path: &str, context: &Context<'_>) -> (String, bool) {
    let inside = [Path::new(context.repo_inside), context.repo]
        .into_iter()
        .find_map(|repo| Path::new(path).strip_prefix(repo).ok());
    match inside {
        Some(inner) => (inner.to_string_lossy().into_owned(), true),
        None => (path.to_owned(), false),
    }
}

/// Looks through an exception and its causes.
fn holds(exception: Option<&Raised>, is: fn(&Raised) -> bool) -> bool {
    let mut next = exception;
    while let Some(exception) = next {
        if is(exception) {
            return true;
        }
        next = exception.cause.as_deref();
    }
    false
}

/// What a fault made fail is no limit that was hit.
fn injected(report: &Report, mode: FaultMode) -> bool {
    report.felt.iter().any(|felt| felt.mode == mode && felt.struck > 0)
}

fn is_memory(exception: &Raised) -> bool {
    exception.kind == "MemoryError" || exception.errno == Some(libc::ENOMEM)
}

fn is_disk(exception: &Raised) -> bool {
    matches!(exception.errno, Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG))
}

/// What the kernel stopped, and what the guest's own interpreter saw it try.
fn violations(report: &Report, said: &Item, context: &Context<'_>) -> Vec<Violation> {
    let mut violations = report.attempts.clone();
    if report.process_limit_hits > 0 {
        violations.push(Violation {
            what: "processes".to_owned(),
            detail: format!("more than {} processes", context.processes),
        });
    }
    let told: Vec<Item> =
        report.told_attempts.iter().filter_map(|told| Item::read(told).ok()).collect();
    let reported = said.get("attempts").map(Item::items).unwrap_or_default();
    for attempt in reported.iter().chain(&told) {
        if let [what, detail] = attempt.items()
            && let (Some(what), Some(detail)) = (what.as_text(), detail.as_text())
            && is_outside(&what, &detail)
        {
            violations
                .push(Violation { what: "file".to_owned(), detail: format!("{what} {detail}") });
        }
    }
    for (what, path) in &report.reached {
        if is_outside(what, path) && !is_ordinary(what, Path::new(path)) {
            violations
                .push(Violation { what: "file".to_owned(), detail: format!("{what} {path}") });
        }
    }
    violations.sort();
    violations.dedup();
    violations
}

/// Where the system keeps what programs go by.
const OF_THE_SYSTEM: [&str; 5] = ["/etc", "/sys", "/dev", "/run", "/var"];

/// What nobody reads of the first process who only wants to know which there are.
const SECRET: [&str; 9] =
    ["environ", "mem", "maps", "smaps", "map_files", "root", "cwd", "fd", "task"];

/// What the C library and other programs do on their own account, whatever they are used for: read what
/// everybody may know of the machine, walk through directories, open the terminal, keep what they compiled.
fn is_ordinary(what: &str, path: &Path) -> bool {
    if path.parent().is_some_and(|parent| parent.ends_with("__pycache__")) {
        return true;
    }
    if let Ok(rest) = path.strip_prefix("/proc/1") {
        return !SECRET.iter().any(|secret| rest.starts_with(secret));
    }
    let Ok(found) = path.metadata() else { return false };
    let of_the_system = || OF_THE_SYSTEM.iter().any(|place| path.starts_with(place));
    match what {
        "read" => found.is_dir() || found.mode() & 0o004 != 0 && of_the_system(),
        "write" => found.mode() & 0o002 != 0 && found.file_type().is_char_device(),
        _ => false,
    }
}

/// What anybody may know about the first process, and many programs ask.
const PUBLIC: [&str; 8] =
    ["stat", "statm", "status", "cmdline", "comm", "cgroup", "mounts", "mountinfo"];

/// Reading what does not exist outside either is a mistake, not an attempt to get out.
fn is_outside(what: &str, path: &str) -> bool {
    match what {
        // Whether there is a network is the kernel's to decide, and it tells the init.
        "connect" | "sendto" => return false,
        _ => {}
    }
    if path == "/proc" {
        return false;
    }
    if let Some(rest) = path.strip_prefix("/proc/") {
        let secret = |rest: &str| !PUBLIC.contains(&rest);
        return rest.strip_prefix("1/").is_some_and(secret);
    }
    let path = Path::new(path);
    match path.metadata() {
        // Every program looks for this and that in /etc.
        Ok(found) if path.starts_with("/etc") => what != "read" || found.mode() & 0o004 == 0,
        Ok(_) => true,
        Err(_) => what != "read" || path.symlink_metadata().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn seen(user_ns: u64, system_ns: u64) -> Report {
        Report { total_ns: SECOND, user_ns, system_ns, ..Report::default() }
    }

    #[test]
    fn the_harness_knows_best_what_the_call_alone_took() {
        assert_eq!(processor_time(&seen(900_000, 300_000), Some((500, 20))), (500, 20));
    }

    #[test]
    fn nobody_takes_more_processor_time_than_was_seen() {
        let forged = Some((i64::MAX.unsigned_abs(), i64::MAX.unsigned_abs()));
        assert_eq!(processor_time(&seen(900_000, 300_000), forged), (900_000, 300_000));
        assert_eq!(processor_time(&seen(0, 0), forged), (0, 0));
        assert_eq!(
            processor_time(&seen(900_000, 300_000), Some((u64::MAX, 1))),
            (900_000, 300_000)
        );
    }

    /// Without a control group, what was seen is the interpreter's word.
    #[test]
    fn nobody_takes_more_processor_time_than_there_was() {
        let most = SECOND * processors();
        assert_eq!(processor_time(&seen(1 << 60, u64::MAX), None), (most, most));
        assert_eq!(processor_time(&seen(1 << 60, 0), Some((1 << 59, 0))), (most, 0));
    }

    #[test]
    fn the_time_of_other_processes_counts() {
        let of_children = seen(SECOND / 2, 0);
        assert_eq!(processor_time(&of_children, Some((500, 20))), (SECOND / 2, 0));
    }

    #[test]
    fn without_a_control_group_an_import_tells_of_itself() {
        assert_eq!(processor_time(&seen(0, 0), Some((700_000, 20))), (700_000, 20));
    }
}
