//! How commands end. The codes are part of the interface:
//!
//! | code | meaning |
//! |---|---|
//! | 0 | the command did its job, whatever it found |
//! | 1 | Menace itself failed |
//! | 2 | it was asked for something it cannot do: bad arguments, settings or paths |
//! | 3 | `menace run --fail-on` found what it was to fail on |
//! | 130 | Ctrl-C ended it |

use std::process::ExitCode;

use anstyle::{AnsiColor, Style};

pub(crate) const CODES: &str = "\
Exit codes:
  0    the command did its job, whatever it found
  1    Menace itself failed
  2    it was asked for something it cannot do: bad arguments, settings or paths
  3    `menace run --fail-on` found what it was to fail on
  130  Ctrl-C ended it";

/// What `--fail-on` ends with.
pub(crate) const FOUND: u8 = 3;
/// As a shell reports the death by SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user can mend it.
    Request(anyhow::Error),
    /// The user cannot.
    Internal(anyhow::Error),
    /// The user wanted it to end.
    Interrupted,
    /// The user wanted to be told by the exit code that something broke; the report says what.
    Found,
}

impl Failure {
    pub(crate) fn request(error: impl Into<anyhow::Error>) -> Self {
        Self::Request(error.into())
    }
}

/// Anything that is not known to be the user's to mend.
impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Internal(error.into())
    }
}

/// Tells the user and picks the exit code.
pub(crate) fn report(failure: &Failure) -> ExitCode {
    let (code, error) = match failure {
        Failure::Request(error) => (2, error),
        Failure::Internal(error) => (1, error),
        // Who pressed the keys knows.
        Failure::Interrupted => return ExitCode::from(INTERRUPTED),
        Failure::Found => return ExitCode::from(FOUND),
    };
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    anstream::eprintln!("{red}error{red:#}: {error}");
    for cause in error.chain().skip(1) {
        anstream::eprintln!("  because: {cause}");
    }
    ExitCode::from(code)
}
