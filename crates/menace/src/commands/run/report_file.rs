//! The file of `--out`.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use menace_store::RunReport;

use crate::exit::CommandError;

/// Checks that the file can be written, without changing it.
pub(super) fn check_writable(file: &Path) -> Result<(), CommandError> {
    let is_new = fs::symlink_metadata(file).is_err();
    menace_files::open_named_to_append(file)
        .with_context(|| cannot_write_message(file))
        .map_err(CommandError::Request)?;
    if is_new {
        // A run that fails early must not leave an empty file.
        let _ = menace_files::open_parent(file).and_then(|(parent, name)| parent.remove_file(name));
    }
    Ok(())
}

pub(super) fn write_report_json(file: &Path, report: &RunReport) -> Result<(), CommandError> {
    let text = menace_model::to_json(report)? + "\n";
    menace_files::write_named_file(file, text.as_bytes())
        .with_context(|| cannot_write_message(file))
        .map_err(CommandError::Request)
}

fn cannot_write_message(file: &Path) -> String {
    format!("cannot write `{}`", file.display())
}
