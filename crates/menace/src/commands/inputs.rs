//! `menace inputs`: what a section would be called with, without calling it.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use menace_loop::SurveyedAnalysis;
use menace_loop::inputs::{self, PluginIsolation};
use menace_model::{InputIntent, Section, Seed};
use menace_sandbox::CancelToken;
use menace_sandbox::interpreter::PythonInterpreter;
use menace_scenario::input::{CallInput, InputGenerator, InputSettings};
use menace_scenario::preset::Preset;
use menace_settings::Settings;
use menace_source::ScannerChoice;

use crate::analysis;
use crate::args::{GlobalArgs, OutputFormat};
use crate::cache;
use crate::call_preset;
use crate::call_target;
use crate::context::{CommandContext, FlagValues};
use crate::exit::CommandError;
use crate::external_inputs::{self, ExternalInputTarget};
use crate::interrupt;
use crate::python;
use crate::render::inputs_json::InputListJson;
use crate::render::{inputs_table, output};

/// Show what a function would be called with.
///
/// Inputs come from types, names, uses, docstrings and callers, from the files and plugins that
/// settings name, and from a language model if there is one. Nothing of the repository is run;
/// plugins are, in a sandbox of their own.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace inputs --repo . shop.pricing:parse_price
  menace inputs --repo . shop.models:Order.add --strategy hostile --count 5
  menace inputs --repo . shop.pricing:parse_price --preset user_misuse:high --seed 7
  SANDBOX_STUB_PLUGINS=isbn.py menace inputs --repo . shop.books:find

How inputs are made, and how plugins are written, is in docs/scenarios.md.")]
pub(crate) struct InputsCommand {
    /// What would be called: `package.module:function` or `package.module:Class.method`.
    #[arg(value_name = "TARGET")]
    target: String,

    /// The repository [default: `SANDBOX_REPO_PATH`, else the working directory].
    #[arg(long, value_name = "DIR")]
    repo: Option<String>,

    /// How many.
    #[arg(long, value_name = "N", default_value_t = 12)]
    count: usize,

    /// Seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Only these ways, separated by commas: `history`, `templates`, `signature`, `smart`,
    /// `synthetic`, `hostile`, `misuse`, `random` [default: `SANDBOX_STUB_STRATEGY`, else all].
    #[arg(long, value_name = "LIST")]
    strategy: Option<String>,

    /// A preset whose `THREAT_INTENSITY`, `SANDBOX_STUB_STRATEGY` and failure modes decide too:
    /// JSON or the name of a profile.
    #[arg(long, value_name = "JSON|NAME", default_value = "{}", hide_default_value = true)]
    preset: String,

    /// The interpreter that plugins run in [default: the repository's own, else the PATH's].
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

impl InputsCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let context = CommandContext::new(global, self.flags())?;
        let settings = &context.settings;
        let preset = call_preset::read_preset(&self.preset, None, settings)?;
        let mut input_settings = read_input_settings(settings, &preset)?;

        let analysis = analysis::analyze(&context, ScannerChoice::Builtin)?;
        let found =
            call_target::resolve_target(&analysis, &self.target).map_err(CommandError::Request)?;
        if found.is_module() {
            let message = "an import takes no inputs: name a function or method";
            return Err(CommandError::Request(anyhow!("`{}`: {message}", self.target)));
        }
        let surveyed = SurveyedAnalysis::new(&analysis).map_err(CommandError::request)?;
        let facts = surveyed.facts();
        let module = &found.target.module;
        let all = surveyed.sections().filter(|(report, ..)| report.name == module.name);
        let last = all.filter(|(_, section, _)| found.is_section(section)).last();
        let Some((_, section, hints)) = last else {
            let message = "it has no source of its own to make inputs from";
            return Err(CommandError::Request(anyhow!("`{}`: {message}", self.target)));
        };
        let about = [ExternalInputTarget { target: self.target.clone(), section, hints }];
        external_inputs::ask_model(&context, &about, &mut input_settings)?;
        let cancel = CancelToken::default();
        interrupt::install_handler(&cancel)?;
        let isolation = || {
            let interpreter = self.interpreter(&context)?;
            Ok(PluginIsolation { interpreter, tier: None, unsafe_no_isolation: false, cancel })
        };
        external_inputs::apply_input_plugins(
            &context,
            isolation,
            &facts,
            &about,
            self.seed,
            &mut input_settings,
        )?;
        let generator = InputGenerator::new(section, hints, &facts, &input_settings);
        let made =
            self.add_drifted(&generator, &preset, generator.take(self.count, Seed(self.seed)));
        self.print(section, &found, &made)
    }

    /// Under `schema_drift`, each that has a schema is followed by the same with another one.
    fn add_drifted(
        &self,
        generator: &InputGenerator<'_>,
        preset: &Preset,
        inputs: Vec<CallInput>,
    ) -> Vec<CallInput> {
        let Some(how) = preset.drift() else { return inputs };
        let seed = Seed(self.seed).derive("drift");
        let both = inputs.into_iter().enumerate().flat_map(|(index, input)| {
            let other = generator.drift_input(&input, how, seed.derive_nth(index as u64));
            std::iter::once(input).chain(other)
        });
        let both: Vec<CallInput> = both.take(self.count).collect();
        if !both.iter().any(|input| input.intent == InputIntent::Drifted) {
            tracing::info!("schema_drift: no input has keys that could drift");
        }
        both
    }

    fn flags(&self) -> FlagValues {
        let repo = self.repo.iter().map(|repo| ("--repo".to_owned(), repo.clone()));
        let strategy = self.strategy.iter().map(|list| ("--strategy".to_owned(), list.clone()));
        repo.chain(strategy).collect()
    }

    fn interpreter(&self, context: &CommandContext) -> Result<PythonInterpreter, CommandError> {
        let cache = cache::cache_dir(context);
        python::find_interpreter(context, self.python.as_deref(), cache.as_deref())
            .map_err(CommandError::request)
    }

    fn print(
        &self,
        section: &Section,
        found: &call_target::ResolvedTarget<'_>,
        made: &[CallInput],
    ) -> Result<(), CommandError> {
        let json = InputListJson::new(section, &found.target, self.seed, made);
        match self.format {
            OutputFormat::Json => output::print_json(&json)?,
            OutputFormat::Table => output::print(&inputs_table::render(&json))?,
        }
        Ok(())
    }
}

/// The settings for inputs, from settings and preset.
fn read_input_settings(
    settings: &Settings,
    preset: &Preset,
) -> Result<InputSettings, CommandError> {
    let threat = preset.threat_settings();
    let (mut input_settings, warnings) =
        inputs::read(settings, threat).map_err(CommandError::request)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let strategies = preset.strategies();
    if !strategies.is_empty() {
        input_settings.strategies = strategies;
    }
    Ok(input_settings)
}
