//! The file that the report goes to.

use std::fs::{self, OpenOptions};
use std::path::Path;

use anyhow::Context as _;

use menace_loop::report::RunReport;

use crate::exit::Failure;

/// Can it be written? Leaves what is there as it is.
pub(super) fn check(file: &Path) -> Result<(), Failure> {
    let is_new = fs::symlink_metadata(file).is_err();
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(file)
        .with_context(|| cannot(file))
        .map_err(Failure::Request)?;
    if is_new {
        // A run that finds nothing to do leaves nothing behind.
        let _ = fs::remove_file(file);
    }
    Ok(())
}

pub(super) fn write(file: &Path, report: &RunReport) -> Result<(), Failure> {
    let text = serde_json::to_string(report)?;
    fs::write(file, text + "\n").with_context(|| cannot(file)).map_err(Failure::Request)
}

fn cannot(file: &Path) -> String {
    format!("cannot write `{}`", file.display())
}
