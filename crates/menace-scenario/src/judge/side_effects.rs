//! Oracles for leaked resources and changed shared state.

use std::collections::BTreeSet;

use menace_model::{FileChangeKind, Outcome, Verdict};

use super::{JudgeInput, SectionWeakness, WeaknessKind};

/// Words in the names of sections that leave resources open by design.
const RESOURCE_OPENING_WORDS: [&str; 16] = [
    "start", "open", "connect", "listen", "serve", "launch", "spawn", "acquire", "enter", "begin",
    "run", "submit", "schedule", "create", "get", "init",
];
/// Words in the names of sections that change shared state by design.
const STATE_CHANGING_WORDS: [&str; 9] =
    ["set", "configure", "chdir", "cd", "install", "register", "setup", "init", "load"];

/// Words in the names of sections that store their arguments by design.
const STORING_WORDS: [&str; 20] = menace_model::words![
    add append push put insert enqueue record log track store save remember cache cached memoize
    learn subscribe collect emit publish
];
/// Smaller growth per call is not reported.
const MIN_LEAK_BYTES_PER_CALL: u64 = 256;
/// Minimum number of steps between calls that show a leak.
const MIN_LEAK_STEPS: usize = 6;

pub(super) fn judge_shared_state(judge_input: &JudgeInput<'_>) -> Option<SectionWeakness> {
    let changed = &judge_input.outcome.state_changes;
    if !has_completed(judge_input.outcome) {
        return None;
    }
    let weakness = |what: String| Some(SectionWeakness::new(WeaknessKind::SharedState, what));
    if let Some(parameter) = changed.defaults.first() {
        return weakness(format!("the call changed the default of `{parameter}`"));
    }
    if name_has_word(judge_input.section, &STATE_CHANGING_WORDS) {
        return None;
    }
    if let Some(directory) = &changed.working_directory {
        return weakness(format!("the working directory is `{directory}` after the call"));
    }
    if let Some(limit) = changed.recursion_limit {
        return weakness(format!("the recursion limit is {limit} after the call"));
    }
    let variable = changed.environment.first()?;
    weakness(format!("the environment variable `{variable}` was changed"))
}

pub(super) fn judge_resource_leak(judge_input: &JudgeInput<'_>) -> Option<SectionWeakness> {
    let Outcome { leaked, result, .. } = judge_input.outcome;
    // An open resource may belong to the returned value, and then to the caller.
    let nothing_to_hold = result.value.as_ref().is_none_or(|value| value.value.is_some());
    if !has_completed(judge_input.outcome)
        || !nothing_to_hold
        || name_has_word(judge_input.section, &RESOURCE_OPENING_WORDS)
    {
        return None;
    }
    // An exception about a response holds its connection.
    let holds =
        judge_input.outcome.verdict != Verdict::Returned && judge_input.outcome.upstream.is_some();
    if holds {
        return None;
    }
    let threads = leaked.threads.iter().map(|name| format!("the thread `{name}`"));
    let processes = leaked.processes.iter().map(|name| format!("the process {name}"));
    // A session keeps the connection for its next request. A section that opens and keeps a new
    // session in each call is found by its memory.
    let upstream = judge_input.outcome.upstream.as_ref();
    let may_keep = upstream.is_some_and(|upstream| !upstream.requests.is_empty());
    let is_expected =
        |name: &str| is_journal(name, judge_input.outcome) || may_keep && is_socket(name);
    let descriptors = leaked.descriptors.iter().filter(|name| !is_expected(name));
    let descriptors = descriptors.map(|name| format!("the descriptor {name}"));
    let what = threads.chain(processes).chain(descriptors).next()?;
    Some(SectionWeakness::new(WeaknessKind::Leak, format!("{what} was leaked")))
}

/// `3 socket`.
fn is_socket(descriptor: &str) -> bool {
    descriptor.split_once(' ').is_some_and(|(_, what)| what == "socket")
}

/// `6 /sandbox/repo/shop.db-journal`: open until the end of the transaction. If it leaks, the
/// database itself leaks.
fn is_journal(descriptor: &str, outcome: &Outcome) -> bool {
    let ends = ["-journal", "-wal", "-shm"];
    let Some(base) = ends.iter().find_map(|end| descriptor.strip_suffix(end)) else { return false };
    let is_touched = outcome.files.touched.iter().any(|file| base.ends_with(&file.path));
    is_touched || [".db", ".sqlite", ".sqlite3"].iter().any(|kind| base.ends_with(kind))
}

/// Finds memory that each of many equal calls keeps, or a temporary file that each of them leaves.
pub(super) fn judge_memory_leak(judge_input: &JudgeInput<'_>) -> Option<SectionWeakness> {
    let Outcome { steps, .. } = judge_input.outcome;
    if judge_input.call.repeats == 0
        || name_has_word(judge_input.section, &STORING_WORDS)
        || name_has_word(judge_input.section, &STATE_CHANGING_WORDS)
    {
        return None;
    }
    if let Some(left) = judge_temporary_files(judge_input) {
        return Some(left);
    }
    // A bounded cache is full by the middle.
    let late = steps.get(steps.len() / 2..)?;
    let held: Vec<u64> = late.iter().map(|step| step.held_bytes).collect::<Option<_>>()?;
    let first = *held.first()?;
    let last = *held.last()?;
    let grown = held.windows(2).filter(|two| two[1] > two[0]).count();
    let between = held.len() - 1;
    let each = last.checked_sub(first)? / (between.max(1) as u64);
    let is_steady = between >= MIN_LEAK_STEPS && 2 * grown > between;
    let all_returned = steps.iter().all(|step| step.verdict == Verdict::Returned);
    (is_steady && all_returned && each >= MIN_LEAK_BYTES_PER_CALL).then(|| {
        let what = format!("each of {} equal calls keeps about {each} bytes", steps.len());
        SectionWeakness::new(WeaknessKind::Leak, what)
    })
}

/// Finds temporary files, at least one per call; those that a process has only once are removed
/// when it ends. Files that are returned or named by an argument may be removed by the caller.
fn judge_temporary_files(judge_input: &JudgeInput<'_>) -> Option<SectionWeakness> {
    let Outcome { steps, files, .. } = judge_input.outcome;
    if judge_input.call.receiver.is_some()
        || name_has_word(judge_input.section, &RESOURCE_OPENING_WORDS)
    {
        return None;
    }
    let ended = steps.iter().filter(|step| is_completed(step.verdict)).count();
    let results: Vec<&str> =
        steps.iter().filter_map(|step| Some(step.value.as_ref()?.repr.as_str())).collect();
    let arguments = format!("{:?} {:?}", judge_input.call.args, judge_input.call.kwargs);
    let created = files.touched.iter().filter(|file| file.change == FileChangeKind::Created);
    let entries: BTreeSet<&str> = created.filter_map(|file| temporary_entry(&file.path)).collect();
    let is_known = |entry: &&str| {
        arguments.contains(*entry) || results.iter().any(|result| result.contains(*entry))
    };
    let left: Vec<&str> = entries.into_iter().filter(|entry| !is_known(entry)).collect();
    let is_steady = ended == steps.len() && ended > MIN_LEAK_STEPS && left.len() >= ended;
    is_steady.then(|| {
        let what = format!(
            "each of {ended} equal calls leaves a file in the temporary directory, like `{}`",
            left[0]
        );
        SectionWeakness::new(WeaknessKind::Leak, what)
    })
}

/// The entry of the temporary directory that a path is in.
fn temporary_entry(path: &str) -> Option<&str> {
    let (_, below) = path
        .strip_prefix('/')?
        .split_once("tmp/")
        .filter(|(before, _)| before.is_empty() || before.ends_with('/'))?;
    below.split('/').next().filter(|entry| !entry.is_empty())
}

fn has_completed(outcome: &Outcome) -> bool {
    is_completed(outcome.verdict)
}

fn is_completed(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Returned | Verdict::Refused | Verdict::Raised)
}

/// Is one of the words a part of the last name?
pub(super) fn name_has_word(section: &str, words: &[&str]) -> bool {
    let last = section.rsplit('.').next().unwrap_or(section).to_ascii_lowercase();
    last.split('_').any(|part| words.contains(&part))
}
