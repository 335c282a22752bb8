//! Every setting of Menace: declared once, read from five places, with its origin kept.
//!
//! A value is looked for in this order, and the first place that has it wins:
//!
//! 1. a flag on the command line,
//! 2. the process environment,
//! 3. `.env` in the working directory,
//! 4. the YAML file (`SANDBOX_SETTINGS_YAML`, or `sandbox_settings.yaml` when it exists),
//! 5. what another setting implies, then the declared default.
//!
//! An empty value in a place hides the places below it, so `OPENAI_API_KEY= menace run` runs
//! without the key that `.env` holds.
//!
//! The declarations live in [`declared`], one file per group. From one declaration come the typed
//! field, the parsing, the listing, the reference page and the `.env` template. Parsing the
//! command line, printing tables and setting up logging belong to the `menace` binary.
//!
//! Invariant: nothing but [`Sources::load`] touches the process environment or reads a file, and
//! nothing but [`env_file::init`] writes one.

mod choices;
mod coherence;
mod declaration;
pub mod declared;
mod dotenv;
mod entry;
pub mod env_file;
mod error;
mod group;
pub mod kinds;
mod load;
mod logging;
mod origin;
mod reference;
mod resolve;
mod setting;
mod settings;
mod sources;
mod suggest;
mod template;
mod value;
mod warning;
mod yaml;

pub use choices::{
    FailureMode, LearningStrategy, LogLevel, MicropilotMode, OsType, PresetMode, ScenarioSeverity,
    StubStrategy,
};
pub use declaration::{Declaration, Flag, Implication};
pub use dotenv::DotEnv;
pub use entry::Entry;
pub use error::{Errors, SettingsError};
pub use kinds::{
    Amount, Bandwidth, Counts, DatabaseUrl, DurationFrom, Host, HttpUrl, JsonRecords,
    KeywordProfiles, Millis, NetworkPeer, Percent, Port, Positive, Presence, Probability,
    Processors, ScoreUrl, Secret, Size, SizeUpTo, VmSettings, Within, format_duration,
    parse_duration,
};
pub use origin::Origin;
pub use reference::reference_markdown;
pub use setting::{Refusal, Setting, Surroundings};
pub use settings::{Settings, declarations, flags};
pub use sources::Sources;
pub use suggest::closest;
pub use template::env_template;
pub use value::Value;
pub use warning::Warning;
pub use yaml::{YamlEntry, YamlFile};
