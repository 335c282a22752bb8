//! `menace presets generate`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use menace_model::{Seed, format_count};
use menace_scenario::preset::{self, CANONICAL_PROFILES, CallSettings, Preset, PresetRequest};
use menace_settings::{PresetMode, Settings};

use crate::args::{GlobalArgs, OutputFormat};
use crate::context::CommandContext;
use crate::exit::CommandError;
use crate::preset_files::{PresetLogArgs, read_profiles};
use crate::render::{output, presets_table};

/// Make presets: of profiles, of chance, or of both.
///
/// With profiles alone, each is taken as it is, at both severities. With --count, limits and
/// network are drawn by chance, and all profiles are laid over them together: harder ones and
/// milder ones in turns. Without either there are three random presets, or with
/// `SANDBOX_PRESET_MODE=canonical` the canonical ones. A setting (`CPU_LIMIT=2` in the environment)
/// beats both profile and chance.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace presets generate --profiles hostile_input concurrency_spike --count 1 --out presets.json
  menace presets generate --profiles schema_drift,flaky_upstream
  CPU_LIMIT=2 menace presets generate --count 5 --seed 7 --format table
  SANDBOX_ENV_PRESETS=\"$(menace presets generate)\" menace settings --set")]
pub(super) struct GeneratePresetsCommand {
    /// Profiles to make them of, by name: several, or with commas.
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    profiles: Vec<String>,

    /// A JSON file with profiles of your own; may be given more than once.
    #[arg(long, value_name = "FILE")]
    profile_file: Vec<PathBuf>,

    /// How many to make by chance.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    count: Option<u32>,

    /// Seed of all chance: the same seed makes the same presets.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Write them to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// How to print them; a file is always JSON.
    #[arg(long, value_enum, default_value_t = OutputFormat::Json)]
    format: OutputFormat,

    #[command(flatten)]
    log_args: PresetLogArgs,
}

impl GeneratePresetsCommand {
    pub(super) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let context = CommandContext::new(global, self.log_args.flags().collect())?;
        let presets = self.generate_presets(&context.settings)?;
        let text = format!("{}\n", serde_json::to_string_pretty(&presets)?);
        match (&self.out, self.format) {
            (Some(file), _) => {
                // A mistyped directory is not created.
                let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
                if parent.is_some_and(|parent| !parent.is_dir()) {
                    let reason = format!("cannot write `{}`: no such directory", file.display());
                    return Err(CommandError::Request(anyhow::anyhow!(reason)));
                }
                menace_files::write_named_file(file, text.as_bytes())
                    .with_context(|| format!("cannot write `{}`", file.display()))
                    .map_err(CommandError::Request)?;
                let presets = format_count(presets.len(), "preset");
                output::print(&format!("wrote {presets} to {}\n", file.display()))?;
            }
            (None, OutputFormat::Json) => {
                output::print(&menace_model::escape_deceptive_in_json(&text))?;
            }
            (None, OutputFormat::Table) => output::print(&presets_table::render_presets(&presets))?,
        }
        Ok(())
    }

    fn generate_presets(&self, settings: &Settings) -> Result<Vec<Preset>, CommandError> {
        let profiles = read_profiles(settings, &self.profile_file)?;
        let is_canonical = settings.presets.mode.value == PresetMode::Canonical
            && self.profiles.is_empty()
            && self.count.is_none();
        let names: Vec<&str> = if is_canonical {
            CANONICAL_PROFILES.to_vec()
        } else {
            self.profiles.iter().map(|name| name.trim()).collect()
        };
        let request = PresetRequest {
            profiles: profiles.get_all(names, "--profiles").map_err(CommandError::request)?,
            count: self.count,
            canonical: is_canonical,
            settings: CallSettings::from_settings(settings),
        };
        preset::generate_presets(&request, Seed(self.seed)).map_err(CommandError::request)
    }
}
