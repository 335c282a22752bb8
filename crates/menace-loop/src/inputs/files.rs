//! Inputs from files and variables, and the input history that later runs start with.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use menace_scenario::input::InputTemplates;
use menace_scenario::input::history::{self, InputHistory};
use menace_scenario::input::records::{self, InputRecordError};
use menace_scenario::input::{InputSettings, ThreatIntensity};
use menace_settings::{SettingValue, Settings};
use menace_store::LOCK_TIMEOUT;
use menace_store::files::{self, FileLock, write_atomic};

#[derive(Debug, thiserror::Error)]
pub enum InputFileError {
    #[error("cannot read `{}`; fix the file or point {name} elsewhere", .path.display())]
    Read { name: &'static str, path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Content(#[from] InputRecordError),
}

/// Reads the files that the settings name; a file that only the default names may be missing.
/// `threat` comes from the preset. Lines that are left out cause warnings.
pub fn read(
    settings: &Settings,
    threat: ThreatIntensity,
) -> Result<(InputSettings, Vec<String>), InputFileError> {
    let stubs = &settings.stubs;
    let mut inputs = InputSettings { threat, ..InputSettings::default() };
    inputs.strategies = stubs.strategy.value.clone().unwrap_or_default();
    if let Some(stubs) = &stubs.input_stubs.value {
        inputs.stubs = records::read_records(&stubs.0, "SANDBOX_INPUT_STUBS")?;
    }
    if let Some(text) = read_text(&stubs.templates, "SANDBOX_INPUT_TEMPLATES")? {
        inputs.templates = InputTemplates::read(&text, &stubs.templates.display().to_string())?;
    }
    let mut warnings = Vec::new();
    if let Some(text) = read_text(&stubs.history, "SANDBOX_INPUT_HISTORY")? {
        let (history, problems) = InputHistory::read(&text, &stubs.history.display().to_string());
        inputs.history = history;
        warnings.extend(problems.iter().map(|problem| format!("{problem}; the line is left out")));
    }
    Ok((inputs, warnings))
}

/// Adds lines to an input history.
pub fn append_history(file: &Path, lines: &[String]) -> files::StoreFileResult<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let _lock = FileLock::acquire(file, LOCK_TIMEOUT)?;
    let old = match menace_files::read_file(file, MAX_INPUT_FILE_BYTES) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if is_absent(&error) => String::new(),
        Err(source) => {
            let path = file.to_owned();
            return Err(files::StoreFileError::Io { what: "read", path, source });
        }
    };
    write_atomic(file, history::append_lines(&old, lines).as_bytes())
}

/// Whether the file does not exist. Other errors on the way to it count as unreadable.
fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Far more than a history keeps.
pub(super) const MAX_INPUT_FILE_BYTES: u64 = 256 << 20;

fn read_text(
    path: &SettingValue<PathBuf>,
    name: &'static str,
) -> Result<Option<String>, InputFileError> {
    let read = if path.is_explicit() {
        menace_files::read_named_file(&path.value, MAX_INPUT_FILE_BYTES)
    } else {
        // In the data directory, which has been checked.
        menace_files::read_file(&path.value, MAX_INPUT_FILE_BYTES)
    };
    match read {
        // Without the byte order mark that some editors write.
        Ok(bytes) => {
            Ok(Some(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned()))
        }
        Err(error) if is_absent(&error) && !path.is_explicit() => Ok(None),
        Err(source) => Err(InputFileError::Read { name, path: path.value.clone(), source }),
    }
}
