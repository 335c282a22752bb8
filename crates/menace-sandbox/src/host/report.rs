//! Turns what came out of a sandbox into an [`Outcome`].
//!
//! The mailbox is the guest's: it is read field by field, anything that does not fit is left out.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use menace_model::{
    Call, Changed, Frame, Left, Outcome, Output, Raised, Returned, RuntimeMetrics, Stage, Violation,
};

use super::verdict::{self, Said};
use super::{planted, told};
use crate::wire::marshal::Item;
use crate::wire::messages::{Captured, Report};
use crate::wire::values;

/// Longest chain of causes, deepest group of exceptions.
const CHAIN: usize = 8;
const MOST_NOTES: usize = 32;

/// What is needed to understand a report.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// The repository as the guest sees it.
    repo_inside: &'a str,
    /// The repository on the host.
    repo: &'a Path,
    call: &'a Call,
    pub(crate) during_import: bool,
}

impl<'a> Context<'a> {
    pub(crate) fn new(repo_inside: &'a str, repo: &'a Path, call: &'a Call) -> Self {
        Self { repo_inside, repo, call, during_import: false }
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
    let word = said.get("kind").and_then(Item::as_text).unwrap_or_default();
    let stage = stage(&said, context);
    let limits = &context.call.limits;
    let what = match word.as_str() {
        "returned" => Said::Returned,
        "raised" => Said::Raised {
            memory: limits.memory_bytes.is_some() && holds(exception.as_ref(), is_memory),
            disk: limits.disk_bytes.is_some() && holds(exception.as_ref(), is_disk),
            refused: exception
                .as_ref()
                .is_some_and(|exception| is_refusal(exception, &said, stage, context)),
        },
        "exited" => Said::Exited,
        "unreachable" => Said::Unreachable,
        _ => Said::Nothing,
    };
    // An import that spoilt its sandbox did not work, whatever it says of itself.
    let spoilt = context.during_import && report.spent.is_some() && what == Said::Returned;
    let what = if spoilt { Said::Nothing } else { what };
    let violations = violations(report, &said, context);
    let (verdict, mut reason) = verdict::judge(report, what, violations.len());
    if let (Said::Unreachable, Some(exception)) = (what, &exception) {
        reason = Some(exception.message.clone());
    }
    if report.killed.is_some() && what != Said::Nothing {
        notes.push("it was stopped while its result was being described".to_owned());
    }
    notes.extend(said.get("notes").map(Item::texts).unwrap_or_default());
    notes.truncate(MOST_NOTES);
    let mut files = report.files.clone();
    planted::settle(&mut files, &said, context.call);
    let mut outcome = Outcome {
        reason,
        value,
        exception,
        exit: verdict::exit_of(report.status),
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
        notes,
        ..Outcome::of(verdict, stage)
    };
    if !context.during_import {
        told::add(&mut outcome, &said, context.call);
    }
    outcome
}

fn stage(said: &Item, context: &Context<'_>) -> Stage {
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
fn is_refusal(exception: &Raised, said: &Item, stage: Stage, context: &Context<'_>) -> bool {
    let own_class = said
        .get("exception")
        .and_then(|item| item.get("own_class"))
        .and_then(Item::as_bool)
        .unwrap_or(false);
    context.call.intent.is_bad_on_purpose()
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
    // The control group knows all processes but counts in ticks; the harness is exact on its own.
    let own = told("user_ns").unwrap_or(0) + told("system_ns").unwrap_or(0);
    let (user, system) = if report.user_ns + report.system_ns > own.saturating_mul(2) + 20_000_000 {
        (report.user_ns, report.system_ns)
    } else {
        (told("user_ns").unwrap_or(report.user_ns), told("system_ns").unwrap_or(report.system_ns))
    };
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

fn returned(item: &Item, said: &Item) -> Option<Returned> {
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

fn raised(item: &Item, context: &Context<'_>, depth: usize) -> Option<Raised> {
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
fn shown(path: &str, context: &Context<'_>) -> (String, bool) {
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
            detail: format!("more than {} processes", context.call.limits.processes),
        });
    }
    for attempt in said.get("attempts").map(Item::items).unwrap_or_default() {
        if let [what, detail] = attempt.items()
            && let (Some(what), Some(detail)) = (what.as_text(), detail.as_text())
            && is_outside(&what, &detail)
        {
            violations
                .push(Violation { what: "file".to_owned(), detail: format!("{what} {detail}") });
        }
    }
    violations.sort();
    violations.dedup();
    violations
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
