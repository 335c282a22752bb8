//! Sets up the logs: as text or JSON, on standard error and, if requested, in a file.
//!
//! Standard output is for results only, so that `--format json` can be piped.

mod escaping_writer;
mod rotating_file;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Mutex;

use menace_settings::{LogLevel, Settings};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use escaping_writer::EscapingWriter;
use rotating_file::RotatingLogFile;

/// Why the log file cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the log file `{path}`; check {named_by}")]
pub(crate) struct LogFileError {
    path: String,
    named_by: &'static str,
    source: std::io::Error,
}

/// The log target under which presets report how they were made.
const PRESET_LOG_TARGET: &str = "menace_scenario::preset";

/// Starts logging with the settings in effect.
pub(crate) fn start(settings: &Settings) -> Result<(), LogFileError> {
    let level = level_filter(settings.log_level());
    let json = settings.logging.json.value;
    let colours = std::io::stderr().is_terminal() && settings.logging.no_color.value.is_none();

    let console = fmt::layer().with_writer(move || EscapingWriter::new(std::io::stderr(), json));
    let console = if json {
        console.json().flatten_event(true).boxed()
    } else if level >= LevelFilter::DEBUG {
        console.with_ansi(colours).boxed()
    } else {
        console.with_ansi(colours).without_time().with_target(false).boxed()
    };
    let file = open_log_file(settings.logging.file.as_deref(), "SANDBOX_LOG_FILE or --log-file")?;
    let presets = open_log_file(
        settings.presets.debug_log_file.as_deref(),
        "PRESET_DEBUG_LOG_FILE or --debug-log-file",
    )?;
    let mut shown = Targets::new().with_default(level);
    if settings.presets.debug.value {
        shown = shown.with_target(PRESET_LOG_TARGET, level.max(LevelFilter::DEBUG));
    }
    let of_presets = Targets::new().with_target(PRESET_LOG_TARGET, LevelFilter::DEBUG);
    // Only the first call has an effect; there is one per process.
    let _ = tracing_subscriber::registry()
        .with(console.with_filter(shown.clone()))
        .with(file.map(|file| file_layer(file, json).with_filter(shown)))
        .with(presets.map(|file| file_layer(file, json).with_filter(of_presets)))
        .try_init();
    Ok(())
}

fn open_log_file(
    path: Option<&Path>,
    named_by: &'static str,
) -> Result<Option<RotatingLogFile>, LogFileError> {
    let opened = path.map(|path| {
        RotatingLogFile::open(path).map_err(|source| LogFileError {
            path: path.display().to_string(),
            named_by,
            source,
        })
    });
    opened.transpose()
}

fn file_layer<S>(file: RotatingLogFile, json: bool) -> Box<dyn Layer<S> + Send + Sync>
where
    S: tracing::Subscriber + for<'span> tracing_subscriber::registry::LookupSpan<'span>,
{
    let file = Mutex::new(EscapingWriter::new(file, json));
    let layer = fmt::layer().with_ansi(false).with_writer(file);
    if json { layer.json().flatten_event(true).boxed() } else { layer.boxed() }
}

fn level_filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}
