//! `menace inputs`: what a section would be called with, without calling it.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use menace_loop::Surveyed;
use menace_loop::inputs::{self, Isolation};
use menace_model::{Intent, Section, Seed};
use menace_sandbox::Cancel;
use menace_sandbox::interpreter::Interpreter;
use menace_scenario::input::{Input, InputSettings, Inputs, Strategy};
use menace_scenario::preset::Preset;
use menace_settings::Settings;

use crate::args::{Format, Global};
use crate::cache;
use crate::commands::exec::{self, preset, target};
use crate::context::{Context, Flags};
use crate::exit::Failure;
use crate::python;
use crate::render::inputs_json::InputsJson;
use crate::render::{inputs_table, output};
use crate::stubs::{self, About};

/// Show what a function would be called with.
///
/// Inputs come from types, names, uses, docstrings and callers, from the files and plugins that
/// settings name, and from a language model if there is one. Nothing of the repository is run; plugins
/// are, in a sandbox of their own.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace inputs --repo . shop.pricing:parse_price
  menace inputs --repo . shop.models:Order.add --strategy hostile --count 5
  menace inputs --repo . shop.pricing:parse_price --preset user_misuse:high --seed 7
  SANDBOX_STUB_PLUGINS=isbn.py menace inputs --repo . shop.books:find

How inputs are made, and how plugins are written, is in docs/scenarios.md.")]
pub(crate) struct ShowInputs {
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

    /// Only these ways, separated by commas: `history`, `templates`, `signature`, `smart`, `synthetic`,
    /// `hostile`, `misuse`, `random` [default: `SANDBOX_STUB_STRATEGY`, else all].
    #[arg(long, value_name = "LIST")]
    strategy: Option<String>,

    /// A preset whose `THREAT_INTENSITY`, `SANDBOX_STUB_STRATEGY` and failure modes decide too: JSON or
    /// the name of a profile.
    #[arg(long, value_name = "JSON|NAME", default_value = "{}", hide_default_value = true)]
    preset: String,

    /// The interpreter that plugins run in [default: the repository's own, else the PATH's].
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,

    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl ShowInputs {
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        let context = Context::new(global, self.flags())?;
        let settings = &context.settings;
        let preset = preset::read(&self.preset, None, settings)?;
        let mut given = given(settings, &preset)?;

        let analysis = exec::analyze(&context, cache::directory(&context))?;
        let found = target::find(&analysis, &self.target).map_err(Failure::Request)?;
        if found.is_module() {
            let message = "an import takes no inputs: name a function or method";
            return Err(Failure::Request(anyhow!("`{}`: {message}", self.target)));
        }
        let surveyed = Surveyed::new(&analysis).map_err(Failure::request)?;
        let facts = surveyed.facts();
        let module = &found.target.module;
        let all = surveyed.sections().filter(|(report, ..)| report.name == module.name);
        let last = all.filter(|(_, section, _)| found.is(section)).last();
        let Some((_, section, hints)) = last else {
            let message = "it has no source of its own to make inputs from";
            return Err(Failure::Request(anyhow!("`{}`: {message}", self.target)));
        };
        let about = [About { target: self.target.clone(), section, hints }];
        stubs::ask_model(&context, &about, &mut given)?;
        let cancel = Cancel::default();
        exec::interrupt::ends(&cancel)?;
        let isolation = || {
            let interpreter = self.interpreter(&context)?;
            Ok(Isolation { interpreter, tier: None, unsafe_no_isolation: false, cancel })
        };
        stubs::plug(&context, isolation, &facts, &about, self.seed, &mut given)?;
        let inputs = Inputs::new(section, hints, &facts, &given);
        let made = self.drifted(&inputs, &preset, inputs.take(self.count, Seed(self.seed)));
        self.print(section, &found, &made)
    }

    /// Under `schema_drift`, each that has a schema is followed by the same with another one.
    fn drifted(&self, inputs: &Inputs<'_>, preset: &Preset, made: Vec<Input>) -> Vec<Input> {
        let Some(how) = preset.drift() else { return made };
        let seed = Seed(self.seed).of("drift");
        let both = made.into_iter().enumerate().flat_map(|(index, input)| {
            let other = inputs.drifted(&input, how, seed.nth(index as u64));
            std::iter::once(input).chain(other)
        });
        let both: Vec<Input> = both.take(self.count).collect();
        if !both.iter().any(|input| input.intent == Intent::Drifted) {
            tracing::info!("schema_drift: no input has keys that could drift");
        }
        both
    }

    fn flags(&self) -> Flags {
        let repo = self.repo.iter().map(|repo| ("--repo".to_owned(), repo.clone()));
        let strategy = self.strategy.iter().map(|list| ("--strategy".to_owned(), list.clone()));
        repo.chain(strategy).collect()
    }

    fn interpreter(&self, context: &Context) -> Result<Interpreter, Failure> {
        let cache = cache::directory(context);
        python::find(context, self.python.as_deref(), cache.as_deref()).map_err(Failure::request)
    }

    fn print(
        &self,
        section: &Section,
        found: &target::Found<'_>,
        made: &[Input],
    ) -> Result<(), Failure> {
        let json = InputsJson::new(section, &found.target, self.seed, made);
        match self.format {
            Format::Json => output::print_json(&json)?,
            Format::Table => output::print(&inputs_table::render(&json))?,
        }
        Ok(())
    }
}

/// What settings and preset say about inputs.
fn given(settings: &Settings, preset: &Preset) -> Result<InputSettings, Failure> {
    let threat = preset.threat();
    let (mut given, warnings) = inputs::read(settings, threat).map_err(Failure::request)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let wanted = preset.strategies();
    if !wanted.is_empty() {
        given.strategies = wanted.into_iter().map(Strategy::from).collect();
    }
    Ok(given)
}
