//! The file of `--out`.

use std::fs::{self, OpenOptions};
use std::path::Path;

use anyhow::Context as _;

use menace_store::RunReport;

use crate::exit::CommandError;

/// Checks that the file can be written, without changing it.
pub(super) fn check_writable(file: &Path) -> Result<(), CommandError> {
    let is_new = fs::symlink_metadata(file).is_err();
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(file)
        .with_context(|| cannot_write_message(file))
        .map_err(CommandError::Request)?;
    if is_new {
        // A run that fails early must not leave an empty file.
        let _ = fs::remove_file(file);
    }
    Ok(())
}

pub(super) fn write_report_json(file: &Path, report: &RunReport) -> Result<(), CommandError> {
    let text = menace_model::to_json(report)?;
    fs::write(file, text + "\n")
        .with_context(|| cannot_write_message(file))
        .map_err(CommandError::Request)
}

fn cannot_write_message(file: &Path) -> String {
    format!("cannot write `{}`", file.display())
}
