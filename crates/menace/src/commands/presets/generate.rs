//! `menace presets generate`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use menace_model::Seed;
use menace_scenario::preset::{self, CANONICAL, Preset, Values, Wanted};
use menace_settings::{PresetMode, Settings};

use crate::args::{Format, Global};
use crate::context::Context;
use crate::exit::Failure;
use crate::render::units::counted;
use crate::render::{output, presets_table};

use super::{LogArgs, profiles};

/// Make presets: of profiles, of chance, or of both.
///
/// With profiles alone, each is taken as it is, at both severities. With --count, limits and network
/// are drawn by chance, and all profiles are laid over them together: harder ones and milder ones in
/// turns. Without either there are three random presets, or with
/// `SANDBOX_PRESET_MODE=canonical` the canonical ones. A setting (`CPU_LIMIT=2` in the environment)
/// beats both profile and chance.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace presets generate --profiles hostile_input concurrency_spike --count 1 --out presets.json
  menace presets generate --profiles schema_drift,flaky_upstream
  CPU_LIMIT=2 menace presets generate --count 5 --seed 7 --format table
  SANDBOX_ENV_PRESETS=\"$(menace presets generate)\" menace settings --set")]
pub(super) struct Generate {
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
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,

    #[command(flatten)]
    logged: LogArgs,
}

impl Generate {
    pub(super) fn run(self, global: &Global) -> Result<(), Failure> {
        let context = Context::new(global, self.logged.flags().collect())?;
        let presets = self.made(&context.settings)?;
        let text = format!("{}\n", serde_json::to_string_pretty(&presets)?);
        match (&self.out, self.format) {
            (Some(file), _) => {
                write(file, &text)?;
                let presets = counted(presets.len(), "preset");
                output::print(&format!("wrote {presets} to {}\n", file.display()))?;
            }
            (None, Format::Json) => output::print(&text)?,
            (None, Format::Table) => output::print(&presets_table::presets(&presets))?,
        }
        Ok(())
    }

    fn made(&self, settings: &Settings) -> Result<Vec<Preset>, Failure> {
        let profiles = profiles(settings, &self.profile_file)?;
        let is_canonical = settings.presets.mode.value == PresetMode::Canonical
            && self.profiles.is_empty()
            && self.count.is_none();
        let names: Vec<&str> = if is_canonical {
            CANONICAL.to_vec()
        } else {
            self.profiles.iter().map(|name| name.trim()).collect()
        };
        let wanted = Wanted {
            profiles: profiles.all(names, "--profiles").map_err(Failure::request)?,
            count: self.count,
            canonical: is_canonical,
            settings: Values::of_settings(settings),
            containers: settings.pool.docker.value,
        };
        preset::generate(&wanted, Seed(self.seed)).map_err(Failure::request)
    }
}

/// At once or not at all: whoever reads the file meanwhile sees the old one.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let written = tempfile::NamedTempFile::new_in(directory).and_then(|mut temporary| {
        temporary.write_all(text.as_bytes())?;
        temporary.persist(file).map_err(|error| error.error)
    });
    written
        .with_context(|| format!("cannot write `{}`", file.display()))
        .map_err(Failure::Request)?;
    Ok(())
}
