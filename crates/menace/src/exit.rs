//! The ends of commands. The exit codes are part of the interface:
//!
//! | code | meaning |
//! |---|---|
//! | 0 | the command did its job, whatever it found |
//! | 1 | Menace itself failed |
//! | 2 | the request cannot be fulfilled: bad arguments, settings or paths |
//! | 3 | `menace run --fail-on` found such failures |
//! | 130 | the user pressed Ctrl-C |

use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use menace_model::escape_but_lines;

pub(crate) const EXIT_CODES_HELP: &str = "\
Exit codes:
  0    the command did its job, whatever it found
  1    Menace itself failed
  2    it was asked for something it cannot do: bad arguments, settings or paths
  3    `menace run --fail-on` found what it was to fail on
  130  Ctrl-C ended it";

/// The exit code of `--fail-on`.
pub(crate) const EXIT_FAILURES_FOUND: u8 = 3;
/// The code by which shells report death by SIGINT.
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The user can fix it.
    Request(anyhow::Error),
    /// The user cannot.
    Internal(anyhow::Error),
    /// The user wanted it to end.
    Interrupted,
    /// `--fail-on` found failures; the report lists them.
    FailuresFound,
}

impl CommandError {
    pub(crate) fn request(error: impl Into<anyhow::Error>) -> Self {
        Self::Request(error.into())
    }
}

/// Errors that the user is not known to be able to fix.
impl<E: Into<anyhow::Error>> From<E> for CommandError {
    fn from(error: E) -> Self {
        Self::Internal(error.into())
    }
}

/// Prints the error and returns the exit code.
pub(crate) fn report(error: &CommandError) -> ExitCode {
    let (code, error) = match error {
        CommandError::Request(error) => (2, error),
        CommandError::Internal(error) => (1, error),
        // No message, since the user pressed Ctrl-C.
        CommandError::Interrupted => return ExitCode::from(EXIT_INTERRUPTED),
        CommandError::FailuresFound => return ExitCode::from(EXIT_FAILURES_FOUND),
    };
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let shown = error.to_string();
    anstream::eprintln!("{red}error{red:#}: {}", escape_but_lines(&shown));
    for cause in error.chain().skip(1).map(ToString::to_string) {
        anstream::eprintln!("  because: {}", escape_but_lines(&cause));
    }
    ExitCode::from(code)
}
