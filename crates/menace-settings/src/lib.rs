//! Every setting of Menace: declared once, read from five places, with its origin kept.
//!
//! A value is searched in this order, and the first place that has it wins:
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
//! The declarations are in [`declared`], one file per group. From one declaration come the typed
//! field, the parsing, the listing, the reference page and the `.env` template. The `menace` binary
//! parses the command line, prints tables and sets up logging.
//!
//! `.env` and the YAML file may have come with a checkout. Until the user trusts a file
//! ([`trusted_files`]), it may only set what each setting's [`SettingAuthority`] allows.
//!
//! Invariant: only [`SettingsSources::load`] reads the process environment or files, and only
//! [`env_file`] and [`trusted_files`] write files.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they read"))]

mod authority;
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
#[cfg(test)]
mod reader_tests;
mod reference;
mod resolve;
mod setting;
mod settings;
mod sources;
mod template;
pub mod trusted_files;
mod value;
mod warning;
mod yaml;

pub use authority::{FileTrust, SettingAuthority};
pub use choices::{GuestOsType, LearningStrategy, LogLevel, MicropilotMode, PresetMode};
pub use declaration::{SettingDeclaration, SettingFlag, SettingImplication};
pub use dotenv::DotEnvFile;
pub use entry::SettingEntry;
pub use error::{SettingsError, SettingsErrors};
pub use kinds::{
    BoundedInteger, BoundedSize, ByteSize, DatabaseUrl, HttpUrl, JsonRecords, KeywordProfiles,
    ListenHost, MillisDuration, MinimumDuration, NamedCounts, NetworkBandwidth, PercentShare,
    PortNumber, PositiveAmount, PresenceSwitch, Probability, ProcessorCount, ScoreUrl, SecretText,
    VmSettings, ZeroableAmount, format_duration, parse_duration,
};
pub use load::{CheckoutFile, MAX_FILE_BYTES, TrustReview};
pub use origin::SettingOrigin;
pub use reference::reference_markdown;
pub use setting::{ParseContext, ParseRefusal, SettingType};
pub use settings::{Settings, declarations, flags};
pub use sources::SettingsSources;
pub use template::env_template;
pub use value::SettingValue;
pub use warning::{PlannedSetting, SettingsWarning, UntrustedSetting};
pub use yaml::{YamlEntry, YamlFile};
