//! Runs `probe.py` with a Python once: describes the interpreter and compiles the guest harness.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::find::FoundInterpreter;
use super::run::{self, ProgramLimits};
use super::{HarnessSource, InterpreterError};

pub(super) const PROBE_SCRIPT: &str = include_str!("probe.py");

const PROBE_LIMITS: ProgramLimits =
    ProgramLimits { deadline: Duration::from_secs(10), output_bytes: 32 << 20 };

/// The oldest Python that the guest harness runs on.
pub(super) const MIN_PYTHON_VERSION: (u8, u8) = (3, 8);

#[derive(Serialize)]
struct ProbeRequest<'a> {
    sources: Vec<(&'a str, &'a str)>,
    venv: Option<ProbeVenvRequest<'a>>,
}

#[derive(Serialize)]
struct ProbeVenvRequest<'a> {
    directory: &'a Path,
    system_site: bool,
}

/// The answer of `probe.py`.
#[derive(Debug, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case", deny_unknown_fields)]
enum ProbeAnswer {
    Described(Box<InterpreterDescription>),
    Uncompilable { name: String, message: String },
}

/// An interpreter's description of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InterpreterDescription {
    pub(super) version: (u8, u8, u8),
    pub(super) implementation: String,
    pub(super) prefix: PathBuf,
    pub(super) base_prefix: PathBuf,
    pub(super) stdlib: PathBuf,
    pub(super) platstdlib: PathBuf,
    pub(super) paths: Vec<PathBuf>,
    pub(super) site_directories: Vec<PathBuf>,
    pub(super) pth_files: Vec<PathBuf>,
    /// Directories that `.pth` files and editable installations refer to.
    pub(super) asked: Vec<PathBuf>,
    pub(super) libraries: Vec<PathBuf>,
    pub(super) soabi: String,
    pub(super) cache_tag: String,
    pub(super) magic: String,
    pub(super) compiled: Vec<(String, HexBytes)>,
}

/// Bytes, written as hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct HexBytes(pub(super) Vec<u8>);

impl TryFrom<String> for HexBytes {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let digit = |byte: u8| (byte as char).to_digit(16).ok_or("not a hexadecimal digit");
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
            return Err("an odd number of hexadecimal digits");
        };
        pairs
            .iter()
            .map(|&[high, low]| Ok((digit(high)? * 16 + digit(low)?) as u8))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// Runs the probe; returns its answer as text, to be cached.
pub(super) fn run_probe(
    found: &FoundInterpreter,
    sources: &[HarnessSource],
) -> Result<String, InterpreterError> {
    let request = ProbeRequest {
        sources: sources
            .iter()
            .map(|source| (source.name.as_str(), source.text.as_str()))
            .collect(),
        venv: found.venv.as_ref().map(|venv| ProbeVenvRequest {
            directory: &venv.directory,
            system_site: venv.system_site,
        }),
    };
    let input =
        serde_json::to_vec(&request).map_err(|source| InterpreterError::Request { source })?;
    let mut command = Command::new(&found.base_executable);
    command.args(["-I", "-S", "-B", "-c", PROBE_SCRIPT]).env_clear().current_dir("/");
    let answer = run::run_program(&found.base_executable, &mut command, input, PROBE_LIMITS)
        .map_err(|error| {
            match &error {
                // Python 2 has no isolated mode.
                InterpreterError::Failed { stderr, .. }
                    if stderr.contains("Unknown option: -I") =>
                {
                    InterpreterError::TooOld {
                        executable: found.executable.clone(),
                        version: "2".to_owned(),
                    }
                }
                _ => error,
            }
        })?;
    String::from_utf8(answer).map_err(|_| unreadable_answer(found, "not UTF-8", None))
}

/// Parses an answer; an error when the guest harness cannot run on this interpreter.
pub(super) fn parse_answer(
    found: &FoundInterpreter,
    answer: &str,
) -> Result<InterpreterDescription, InterpreterError> {
    let described = match serde_json::from_str(answer) {
        Ok(ProbeAnswer::Described(described)) => *described,
        Ok(ProbeAnswer::Uncompilable { name, message }) => {
            return Err(InterpreterError::HarnessUncompilable {
                executable: found.executable.clone(),
                name,
                message,
            });
        }
        Err(source) => return Err(unreadable_answer(found, answer, Some(source))),
    };
    if described.implementation != "cpython" {
        return Err(InterpreterError::NotCpython {
            executable: found.executable.clone(),
            implementation: described.implementation,
        });
    }
    let (major, minor, patch) = described.version;
    if (major, minor) < MIN_PYTHON_VERSION {
        return Err(InterpreterError::TooOld {
            executable: found.executable.clone(),
            version: format!("{major}.{minor}.{patch}"),
        });
    }
    Ok(described)
}

fn unreadable_answer(
    found: &FoundInterpreter,
    text: &str,
    source: Option<serde_json::Error>,
) -> InterpreterError {
    InterpreterError::UnreadableAnswer {
        program: found.base_executable.clone(),
        text: text.chars().take(80).collect(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::super::InterpreterOrigin;
    use super::*;

    fn answer(version: [u8; 3], implementation: &str, more: &str) -> String {
        format!(
            r#"{{"result": "described", "version": {version:?},
            "implementation": "{implementation}", "prefix": "/p",
            "base_prefix": "/p", "stdlib": "/p", "platstdlib": "/p", "paths": [],
            "site_directories": [], "pth_files": [], "asked": [], "libraries": [], "soabi": "",
            "cache_tag": "", "magic": "", "compiled": [["a.pyc", "0a"]]{more}}}"#
        )
    }

    fn read(answer: &str) -> Result<InterpreterDescription, InterpreterError> {
        let found = FoundInterpreter {
            executable: "/p/python".into(),
            real_path: "/p/python".into(),
            base_executable: "/p/python".into(),
            venv: None,
            origin: InterpreterOrigin::Path,
            warnings: Vec::new(),
        };
        parse_answer(&found, answer)
    }

    #[test]
    fn answers_are_read_strictly() {
        let described = read(&answer([3, 12, 1], "cpython", "")).unwrap();
        assert_eq!(described.compiled, [("a.pyc".to_owned(), HexBytes(vec![10]))]);
        for answer in [
            answer([3, 12, 1], "cpython", r#", "more": 1"#),
            answer([3, 12, 1], "cpython", "") + "x",
            "{}".to_owned(),
            String::new(),
        ] {
            let error = read(&answer).unwrap_err();
            assert!(matches!(error, InterpreterError::UnreadableAnswer { .. }), "{error}");
        }
    }

    #[test]
    fn other_implementations_and_old_versions_are_refused() {
        let error = read(&answer([3, 10, 0], "pypy", "")).unwrap_err();
        assert!(error.to_string().contains("needs CPython"), "{error}");
        let error = read(&answer([3, 7, 9], "cpython", "")).unwrap_err();
        assert!(error.to_string().contains("is Python 3.7.9"), "{error}");
        assert!(read(&answer([3, 8, 0], "cpython", "")).is_ok());
        assert!(read(&answer([3, 99, 0], "cpython", "")).is_ok());
    }

    #[test]
    fn hexadecimal_digits_are_bytes_or_an_error() {
        assert_eq!(HexBytes::try_from("00fF7a".to_owned()), Ok(HexBytes(vec![0, 255, 122])));
        assert!(HexBytes::try_from("0".to_owned()).is_err());
        assert!(HexBytes::try_from("0g".to_owned()).is_err());
    }
}
