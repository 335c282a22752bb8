//! Errors that make settings unusable. All of them are collected and reported at once.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::SettingOrigin;
use crate::trusted_files::TrustedFilesError;

/// One error; the message names its place and what to do.
#[derive(Debug, Error)]
pub enum SettingsError {
    #[error(
        "{name}: cannot read {value} (from {origin}): expected {expected}{}",
        detail(.why.as_deref())
    )]
    Malformed {
        name: &'static str,
        /// In quotes, and masked if the value may contain a password.
        value: String,
        origin: SettingOrigin,
        expected: String,
        why: Option<String>,
    },
    #[error("{name}: the value in the environment is not UTF-8: set it again as plain text")]
    NotUnicode { name: String },
    #[error("{0} and {1} contradict each other: give only one of them")]
    ContradictingFlags(String, String),
    #[error("{flag} is not a flag that sets a setting")]
    UnknownFlag { flag: String },
    #[error("{first} is set but {second} is not: set both or neither")]
    Incomplete { first: &'static str, second: &'static str },
    #[error("{smaller} is above {larger}: lower the one or raise the other")]
    OutOfOrder { smaller: &'static str, larger: &'static str },
    #[error("{}: line {line}: unknown key `{key}`{suggestion}", .path.display())]
    UnknownKey { path: PathBuf, line: usize, key: String, suggestion: String },
    #[error(
        "{}: line {line}: `{key}` sets {name}, which line {first} sets already: remove one of them",
        .path.display()
    )]
    RepeatedKey { path: PathBuf, line: usize, first: usize, key: String, name: &'static str },
    #[error("{}: line {line}: {message}", .path.display())]
    BadYaml { path: PathBuf, line: usize, message: String },
    #[error("{}: line {line}: {message}", .path.display())]
    BadDotEnv { path: PathBuf, line: usize, message: String },
    #[error(
        "{}: no such file, but {origin} names it: create it or unset SANDBOX_SETTINGS_YAML",
        .path.display()
    )]
    MissingFile { path: PathBuf, origin: SettingOrigin },
    #[error("{0}")]
    TrustedFiles(#[from] TrustedFilesError),
    #[error("failed to read `{}`", .path.display())]
    Read { path: PathBuf, source: io::Error },
}

fn detail(why: Option<&str>) -> String {
    why.map(|why| format!(": {why}")).unwrap_or_default()
}

/// Every problem found, in the order of the declarations. Never empty.
#[derive(Debug)]
pub struct SettingsErrors(pub Vec<SettingsError>);

impl fmt::Display for SettingsErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
            if let SettingsError::Read { source, .. } = error {
                write!(f, ": {source}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for SettingsErrors {}

impl From<SettingsError> for SettingsErrors {
    fn from(error: SettingsError) -> Self {
        Self(vec![error])
    }
}
