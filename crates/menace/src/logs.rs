//! Sets up the logs: for people or as JSON, on standard error and, if asked for, in a file.
//!
//! Standard output belongs to results, so that `--format json` can be piped.

mod rotating;

use std::io::IsTerminal;
use std::sync::Mutex;

use menace_settings::{LogLevel, Settings};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use rotating::RotatingFile;

/// What keeps the log file from being opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the log file `{path}`; check SANDBOX_LOG_FILE or --log-file")]
pub(crate) struct LogFileError {
    path: String,
    source: std::io::Error,
}

/// Starts logging with the settings in effect.
pub(crate) fn start(settings: &Settings) -> Result<(), LogFileError> {
    let level = filter(settings.log_level());
    let json = settings.logging.json.value;
    let colours = std::io::stderr().is_terminal() && settings.logging.no_color.value.is_none();

    let console = fmt::layer().with_writer(std::io::stderr);
    let console = if json {
        console.json().flatten_event(true).boxed()
    } else if level >= LevelFilter::DEBUG {
        console.with_ansi(colours).boxed()
    } else {
        console.with_ansi(colours).without_time().with_target(false).boxed()
    };
    let file = match &settings.logging.file.value {
        None => None,
        Some(path) => {
            let file = RotatingFile::open(path)
                .map_err(|source| LogFileError { path: path.display().to_string(), source })?;
            let layer = fmt::layer().with_ansi(false).with_writer(Mutex::new(file));
            Some(if json { layer.json().flatten_event(true).boxed() } else { layer.boxed() })
        }
    };
    // Only the first call counts; there is one per process.
    let _ = tracing_subscriber::registry()
        .with(console.with_filter(level))
        .with(file.map(|layer| layer.with_filter(level)))
        .try_init();
    Ok(())
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}
