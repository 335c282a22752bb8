//! The data directory, for commands that read stored runs.
//!
//! Invariant: reading changes no file that the user has named, not even a damaged one.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use menace_files::{UntrustedDir, refusal_of, resolve_named_path};
use menace_loop::run::CALIBRATION_FILE;
use menace_settings::{SettingOrigin, SettingValue, Settings};
use menace_store::{FailureRecord, RunRecord, Store};
use menace_track::RoiHistory;
use menace_track::stats::forecast_calibrator::ForecastCalibrator;

use crate::args::GlobalArgs;
use crate::context::{CommandContext, FlagValues};
use crate::exit::CommandError;

const HISTORY_FILE: &str = "roi_history.json";
const DATA_DIR: &str = "sandbox_data";
const MAX_HISTORY_BYTES: u64 = 1 << 30;

/// The data directory; an error if there is a file at its path.
#[expect(clippy::disallowed_methods, reason = "nothing is opened; links are refused when it is")]
pub(crate) fn checked_data_dir(context: &CommandContext) -> Result<&Path, CommandError> {
    let directory = context.settings.general.data_dir.as_path();
    let mut found = directory.ancestors().map(|one| (one, fs::metadata(one)));
    let there = found.find_map(|(one, found)| Some((one, found.ok()?)));
    match there.filter(|(_, found)| found.is_file()).map(|(one, _)| one) {
        None => Ok(directory),
        Some(file) => Err(CommandError::Request(anyhow!(
            "the data directory `{}` cannot be used: `{}` is a file; move it, or set \
             SANDBOX_DATA_DIR or --sandbox-data-dir to another directory",
            directory.display(),
            file.display()
        ))),
    }
}

/// The most entries of a data directory that are checked.
const MAX_CHECKED_ENTRIES: usize = 100_000;

/// Refuses links and pipes in a data directory, or a link at its path: it may have come with a
/// checkout, and files written to it would end up elsewhere.
pub(crate) fn check_data_dir_entries(settings: &Settings) -> Result<(), CommandError> {
    let SettingValue { value: directory, origin, .. } = &settings.general.data_dir;
    let is_named_by_user =
        matches!(origin, SettingOrigin::Flag { .. } | SettingOrigin::Environment { .. });
    let opened = if is_named_by_user || directory.is_absolute() {
        UntrustedDir::open(directory)
    } else {
        UntrustedDir::open(Path::new(".")).and_then(|here| here.subdirectory(directory))
    };
    let refusal = match opened.and_then(|opened| opened.find_irregular(MAX_CHECKED_ENTRIES)) {
        Ok(found) => found,
        Err(error) => refusal_of(&error).cloned(),
    };
    match refusal {
        None => Ok(()),
        Some(refusal) => Err(CommandError::Request(anyhow!(
            "the data directory `{}` cannot be used: {refusal}; or name another directory with \
             --sandbox-data-dir",
            directory.display()
        ))),
    }
}

/// The database of earlier runs, if there is one; notices are printed when a run opens it.
pub(crate) fn open_store(settings: &Settings) -> Result<Option<Store>, CommandError> {
    let (directory, url) = (&settings.general.data_dir, &settings.store.database_url);
    let opened =
        Store::open_existing(directory, url.value.as_str()).map_err(CommandError::request)?;
    Ok(opened.map(|(store, _)| store))
}

/// The database of earlier runs; there must be one.
pub(crate) fn open_existing_store(context: &CommandContext) -> Result<Store, CommandError> {
    let directory = checked_data_dir(context)?;
    let url = context.settings.store.database_url.value.as_str();
    let opened = Store::open_existing(directory, url).map_err(CommandError::request)?;
    let Some((store, notices)) = opened else {
        return Err(CommandError::Request(anyhow!(
            "nothing has been run with the data directory `{}` yet: `menace run` comes first, or \
             --sandbox-data-dir names another",
            directory.display()
        )));
    };
    for notice in notices {
        tracing::warn!("{notice}");
    }
    Ok(store)
}

/// The run with this id, or the only one whose id starts with it; for `last`, or without an id, the
/// last run with results.
pub(crate) fn find_run(store: &Store, name: Option<&str>) -> Result<RunRecord, CommandError> {
    if let Some(name) = name.filter(|name| *name != "last") {
        return store.run(name).map_err(CommandError::request);
    }
    let measured = store.latest_measured_run().map_err(CommandError::request)?;
    match measured {
        Some(run) => Ok(run),
        None => store.latest_run().map_err(CommandError::request)?.ok_or_else(|| {
            CommandError::Request(anyhow!("there is no run yet: `menace run` comes first"))
        }),
    }
}

/// The repository of the run that saw a failure last.
pub(crate) fn failure_repository(
    store: &Store,
    record: &FailureRecord,
) -> Result<String, CommandError> {
    Ok(store.run(&record.last_seen.run.0).map_err(CommandError::request)?.repository)
}

/// The context for failures: the repository is the one in which they were found, unless the user
/// names another one. Since a database may have come with a checkout, a repository named in it has
/// to be in the working directory.
pub(crate) fn context_for_repository(
    first: CommandContext,
    global: &GlobalArgs,
    repository: String,
) -> Result<CommandContext, CommandError> {
    if first.settings.general.repo_path.is_explicit() {
        return Ok(first);
    }
    let here = resolve_named_path(Path::new("."));
    let there = resolve_named_path(Path::new(&repository));
    let is_here = matches!((here, &there), (Ok(here), Ok(there)) if there.starts_with(&here));
    if there.is_ok() && !is_here {
        return Err(CommandError::Request(anyhow!(
            "this was seen in `{repository}`, which is not in the working directory; if that is \
             the repository that you mean, name it: --repo {repository}"
        )));
    }
    CommandContext::new(global, FlagValues::from([("--repo".to_owned(), repository)]))
}

/// Histories, with names that distinguish them.
pub(crate) fn read_histories(paths: &[PathBuf]) -> Result<Vec<(String, RoiHistory)>, CommandError> {
    let histories = paths.iter().map(|path| read_history(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(distinct_names(paths).into_iter().zip(histories).collect())
}

/// The shortest ends of the paths that are unique; equal paths are numbered.
fn distinct_names(paths: &[PathBuf]) -> Vec<String> {
    let parts: Vec<Vec<String>> = paths.iter().map(|path| distinguishing_parts(path)).collect();
    let end =
        |parts: &[String], length: usize| parts[parts.len().saturating_sub(length)..].join("/");
    let mut names: Vec<String> = Vec::new();
    for (at, own) in parts.iter().enumerate() {
        let is_own = |length: &usize| {
            let name = end(own, *length);
            let mut others = parts.iter().enumerate().filter(|(other, _)| *other != at);
            !others.any(|(_, other)| end(other, *length) == name)
        };
        let length = (1..=own.len()).find(is_own).unwrap_or(own.len());
        let name = end(own, length);
        let same = parts[..at].iter().filter(|other| *other == own).count();
        names.push(if same == 0 { name } else { format!("{name} ({})", same + 1) });
    }
    names
}

/// The parts of a path that distinguish histories, without those common to all of them.
fn distinguishing_parts(path: &Path) -> Vec<String> {
    let home = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut parts: Vec<String> = home
        .components()
        .filter(|part| matches!(part, std::path::Component::Normal(_)))
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    for usual in [HISTORY_FILE, DATA_DIR] {
        if parts.len() > 1 && parts.last().is_some_and(|last| last == usual) {
            parts.pop();
        }
    }
    if let Some(last) = parts.last_mut()
        && let Some(stem) = last.strip_suffix(".json")
    {
        *last = stem.to_owned();
    }
    parts
}

/// A history: the file itself, or the directory that it lies in.
pub(crate) fn read_history(path: &Path) -> Result<RoiHistory, CommandError> {
    let file = history_file(path);
    let bytes = match menace_files::read_file(&file, MAX_HISTORY_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(CommandError::Request(anyhow!(
                "there is no `{}`: name a history or the data directory of a run",
                file.display()
            )));
        }
        Err(error) => {
            let cannot = format!("cannot read `{}`", file.display());
            return Err(CommandError::Request(anyhow::Error::new(error).context(cannot)));
        }
    };
    serde_json::from_slice(&bytes)
        .with_context(|| format!("`{}` is no history of a run", file.display()))
        .map_err(CommandError::Request)
}

/// The calibration model beside a history. A model that cannot be used causes a warning, and
/// forecasts are shown without it.
pub(crate) fn read_calibrator(path: &Path) -> Option<ForecastCalibrator> {
    let file = history_file(path).with_file_name(CALIBRATION_FILE);
    let read = match menace_files::read_file(&file, MAX_HISTORY_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(error) => Err(anyhow::Error::new(error)),
        Ok(bytes) => ForecastCalibrator::from_json(&String::from_utf8_lossy(&bytes))
            .map_err(anyhow::Error::new),
    };
    read.inspect_err(|error| tracing::warn!("cannot use `{}`: {error}", file.display())).ok()
}

fn history_file(path: &Path) -> PathBuf {
    if path.is_dir() { find_history_file(path) } else { path.to_owned() }
}

/// In the directory itself, or in its `sandbox_data`.
fn find_history_file(directory: &Path) -> PathBuf {
    let inside = directory.join(DATA_DIR).join(HISTORY_FILE);
    if fs::symlink_metadata(&inside).is_ok() { inside } else { directory.join(HISTORY_FILE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distinct_names_of(paths: &[&str]) -> Vec<String> {
        distinct_names(&paths.iter().map(PathBuf::from).collect::<Vec<_>>())
    }

    #[test]
    fn runs_are_named_by_what_tells_them_apart() {
        assert_eq!(distinct_names_of(&["/x/one", "/x/two/roi_history.json"]), ["one", "two"]);
        assert_eq!(distinct_names_of(&["/x/a/sandbox_data", "/x/b/sandbox_data"]), ["a", "b"]);
        assert_eq!(distinct_names_of(&["/x/a/data", "/x/b/data"]), ["a/data", "b/data"]);
        assert_eq!(distinct_names_of(&["/x/old.json", "/x/new.json"]), ["old", "new"]);
        assert_eq!(distinct_names_of(&["/x/a", "/x/a"]), ["x/a", "x/a (2)"]);
        assert_eq!(distinct_names_of(&["/x/a", "/a"]), ["x/a", "a"]);
    }
}
