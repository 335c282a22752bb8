//! What a call leaves behind or changes for those who come after it.

use std::collections::BTreeSet;

use menace_model::{FileChange, Outcome, Verdict};

use super::{Weakness, WeaknessKind, Witness};

/// Words in the name of a section that is meant to leave something running or open.
const LEAVES: [&str; 16] = [
    "start", "open", "connect", "listen", "serve", "launch", "spawn", "acquire", "enter", "begin",
    "run", "submit", "schedule", "create", "get", "init",
];
/// Words in the name of a section that is meant to change how things are.
const CHANGES: [&str; 9] =
    ["set", "configure", "chdir", "cd", "install", "register", "setup", "init", "load"];

/// Words in the name of a section that is meant to keep what it is given.
const KEEPS: [&str; 20] = [
    "add",
    "append",
    "push",
    "put",
    "insert",
    "enqueue",
    "record",
    "log",
    "track",
    "store",
    "save",
    "remember",
    "cache",
    "cached",
    "memoize",
    "learn",
    "subscribe",
    "collect",
    "emit",
    "publish",
];
/// What a call keeps is worth a word from so many bytes on.
const NOTICED_BYTES: u64 = 256;
/// Steps that have to be seen.
const ENOUGH: usize = 6;

pub(super) fn shared_state(witness: &Witness<'_>) -> Option<Weakness> {
    let changed = &witness.outcome.changed;
    if !has_ended(witness.outcome) {
        return None;
    }
    let blame = |what: String| Some(Weakness::new(WeaknessKind::SharedState, what));
    if let Some(parameter) = changed.defaults.first() {
        return blame(format!("the default of `{parameter}` is not what it was before the call"));
    }
    if says(witness.section, &CHANGES) {
        return None;
    }
    if let Some(directory) = &changed.working_directory {
        return blame(format!("the working directory is `{directory}` after the call"));
    }
    if let Some(limit) = changed.recursion_limit {
        return blame(format!("the recursion limit is {limit} after the call"));
    }
    let variable = changed.environment.first()?;
    blame(format!("the environment variable `{variable}` was changed"))
}

pub(super) fn leak(witness: &Witness<'_>) -> Option<Weakness> {
    let Outcome { left, value, .. } = witness.outcome;
    // What is returned may hold what is open, and then it is the caller's.
    let nothing_to_hold = value.as_ref().is_none_or(|value| value.value.is_some());
    if !has_ended(witness.outcome) || !nothing_to_hold || says(witness.section, &LEAVES) {
        return None;
    }
    // An exception about an answer holds the connection that it came from.
    let holds = witness.outcome.verdict != Verdict::Returned && witness.outcome.upstream.is_some();
    if holds {
        return None;
    }
    let threads = left.threads.iter().map(|name| format!("the thread `{name}`"));
    let processes = left.processes.iter().map(|name| format!("the process {name}"));
    // A session keeps the connection to who has answered for its next question. Whoever makes a new one each
    // time, and keeps it, is found out by what that weighs.
    let upstream = witness.outcome.upstream.as_ref();
    let may_keep = upstream.is_some_and(|asked| !asked.requests.is_empty());
    let is_anothers = |name: &str| is_journal(name, witness.outcome) || may_keep && is_socket(name);
    let descriptors = left.descriptors.iter().filter(|name| !is_anothers(name));
    let descriptors = descriptors.map(|name| format!("the descriptor {name}"));
    let what = threads.chain(processes).chain(descriptors).next()?;
    Some(Weakness::new(WeaknessKind::Leak, format!("{what} was left")))
}

/// `3 socket`.
fn is_socket(descriptor: &str) -> bool {
    descriptor.split_once(' ').is_some_and(|(_, what)| what == "socket")
}

/// `6 /sandbox/repo/shop.db-journal`: whoever holds the database has it open until the end of the
/// transaction. Where that is left behind, the database itself is.
fn is_journal(descriptor: &str, outcome: &Outcome) -> bool {
    let ends = ["-journal", "-wal", "-shm"];
    let Some(base) = ends.iter().find_map(|end| descriptor.strip_suffix(end)) else { return false };
    let is_touched = outcome.files.touched.iter().any(|file| base.ends_with(&file.path));
    is_touched || [".db", ".sqlite", ".sqlite3"].iter().any(|kind| base.ends_with(kind))
}

/// Memory that every one of many equal calls keeps, or a temporary file that each of them leaves.
pub(super) fn kept(witness: &Witness<'_>) -> Option<Weakness> {
    let Outcome { steps, .. } = witness.outcome;
    if witness.call.again == 0 || says(witness.section, &KEEPS) || says(witness.section, &CHANGES) {
        return None;
    }
    if let Some(left) = littered(witness) {
        return Some(left);
    }
    // Whoever fills something that was given a size has filled it by the middle.
    let late = steps.get(steps.len() / 2..)?;
    let held: Vec<u64> = late.iter().map(|step| step.held_bytes).collect::<Option<_>>()?;
    let (first, last) = (*held.first()?, *held.last()?);
    let grown = held.windows(2).filter(|two| two[1] > two[0]).count();
    let between = held.len() - 1;
    let each = last.checked_sub(first)? / (between.max(1) as u64);
    let is_steady = between >= ENOUGH && 2 * grown > between;
    let all_returned = steps.iter().all(|step| step.verdict == Verdict::Returned);
    (is_steady && all_returned && each >= NOTICED_BYTES).then(|| {
        let what = format!("each of {} equal calls keeps about {each} bytes", steps.len());
        Weakness::new(WeaknessKind::Leak, what)
    })
}

/// Files below the temporary directory, one for each call at least: what a process has for all of its calls
/// is removed when it ends. Whoever is told of them, or has named them, may still do it.
fn littered(witness: &Witness<'_>) -> Option<Weakness> {
    let Outcome { steps, files, .. } = witness.outcome;
    if witness.call.receiver.is_some() || says(witness.section, &LEAVES) {
        return None;
    }
    let ended = steps.iter().filter(|step| has_come_to_an_end(step.verdict)).count();
    let results: Vec<&str> =
        steps.iter().filter_map(|step| Some(step.value.as_ref()?.repr.as_str())).collect();
    let given = format!("{:?} {:?}", witness.call.args, witness.call.kwargs);
    let created = files.touched.iter().filter(|file| file.what == FileChange::Created);
    let entries: BTreeSet<&str> = created.filter_map(|file| temporary(&file.path)).collect();
    let is_known =
        |entry: &&str| given.contains(*entry) || results.iter().any(|told| told.contains(*entry));
    let left: Vec<&str> = entries.into_iter().filter(|entry| !is_known(entry)).collect();
    let is_steady = ended == steps.len() && ended > ENOUGH && left.len() >= ended;
    is_steady.then(|| {
        let what = format!(
            "each of {ended} equal calls leaves a file in the temporary directory, like `{}`",
            left[0]
        );
        Weakness::new(WeaknessKind::Leak, what)
    })
}

/// The file or directory right below the temporary directory that a path leads to.
fn temporary(path: &str) -> Option<&str> {
    let (_, below) = path
        .strip_prefix('/')?
        .split_once("tmp/")
        .filter(|(before, _)| before.is_empty() || before.ends_with('/'))?;
    below.split('/').next().filter(|entry| !entry.is_empty())
}

fn has_ended(outcome: &Outcome) -> bool {
    has_come_to_an_end(outcome.verdict)
}

fn has_come_to_an_end(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Returned | Verdict::Refused | Verdict::Raised)
}

/// Is one of the words a part of the last name?
pub(super) fn says(section: &str, words: &[&str]) -> bool {
    let last = section.rsplit('.').next().unwrap_or(section).to_ascii_lowercase();
    last.split('_').any(|part| words.contains(&part))
}
