//! Inputs from files and variables, and those that are kept for the next run.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_scenario::input::history::{self, History};
use menace_scenario::input::records::{self, RecordError};
use menace_scenario::input::templates::Templates;
use menace_scenario::input::{InputSettings, Strategy, Threat};
use menace_settings::{Settings, Value};
use menace_store::files::{self, Lock, write_atomic};

/// With others who keep inputs in the same file.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum InputFileError {
    #[error("cannot read `{}`; mend the file or point {name} elsewhere", .path.display())]
    Read { name: &'static str, path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Content(#[from] RecordError),
}

/// Reads what the settings name; what is only a default need not be there. `threat` comes from the
/// preset. Warnings tell of lines that were left out.
pub fn read(
    settings: &Settings,
    threat: Threat,
) -> Result<(InputSettings, Vec<String>), InputFileError> {
    let stubs = &settings.stubs;
    let mut inputs = InputSettings { threat, ..InputSettings::default() };
    let chosen = stubs.strategy.value.iter().flatten().copied();
    inputs.strategies = chosen.map(Strategy::from).collect();
    if let Some(given) = &stubs.input_stubs.value {
        inputs.stubs = records::read(&given.0, "SANDBOX_INPUT_STUBS")?;
    }
    if let Some(text) = text(&stubs.templates, "SANDBOX_INPUT_TEMPLATES")? {
        inputs.templates = Templates::read(&text, &stubs.templates.display().to_string())?;
    }
    let mut warnings = Vec::new();
    if let Some(text) = text(&stubs.history, "SANDBOX_INPUT_HISTORY")? {
        let (history, problems) = History::read(&text, &stubs.history.display().to_string());
        inputs.history = history;
        warnings.extend(problems.iter().map(|problem| format!("{problem}; the line is left out")));
    }
    Ok((inputs, warnings))
}

/// Adds lines to a history of inputs.
pub fn remember(file: &Path, lines: &[String]) -> files::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let _lock = Lock::acquire(file, PATIENCE)?;
    let old = match std::fs::read(file) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if is_absent(&error) => String::new(),
        Err(source) => {
            let path = file.to_owned();
            return Err(files::Error::Io { what: "read", path, source });
        }
    };
    write_atomic(file, history::with_lines(&old, lines).as_bytes())
}

/// Whether there is no such file: what is wrong with the way to it is told by whoever needs it.
fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn text(path: &Value<PathBuf>, name: &'static str) -> Result<Option<String>, InputFileError> {
    match std::fs::read(&path.value) {
        // Some editors begin a file with a mark that is no part of it.
        Ok(bytes) => {
            Ok(Some(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned()))
        }
        Err(error) if is_absent(&error) && !path.is_explicit() => Ok(None),
        Err(source) => Err(InputFileError::Read { name, path: path.value.clone(), source }),
    }
}
