//! `menace inputs`: what a section would be called with, without calling it.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use menace_chat::Chat;
use menace_loop::Surveyed;
use menace_loop::inputs::{self, Isolation, Plugins, Shown, Written};
use menace_model::{Hints, Intent, Section, Seed};
use menace_sandbox::Cancel;
use menace_scenario::input::synthetic::StubModel;
use menace_scenario::input::{Facts, Input, InputSettings, Inputs, Strategy, Threat};
use menace_scenario::preset::Preset;
use menace_settings::{Secret, Settings};

use crate::args::{Format, Global};
use crate::cache;
use crate::commands::exec::{self, preset, target};
use crate::context::{Context, Flags};
use crate::exit::Failure;
use crate::python;
use crate::render::inputs_json::InputsJson;
use crate::render::{inputs_table, output};

/// So many inputs are shown to plugins.
const SHOWN: usize = 8;
/// What oversized inputs are measured against when no limit is set.
const DEFAULT_MEMORY: u64 = 512 << 20;

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
        ask_model(&context, section, &mut given)?;
        self.plug(&context, &facts, section, hints, &mut given)?;
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

    fn plug(
        &self,
        context: &Context,
        facts: &Facts<'_>,
        section: &Section,
        hints: &Hints,
        given: &mut InputSettings,
    ) -> Result<(), Failure> {
        let Some(paths) = &context.settings.stubs.plugins.value else { return Ok(()) };
        let found =
            python::find(context, self.python.as_deref(), cache::directory(context).as_deref());
        let cancel = Cancel::default();
        exec::interrupt::ends(&cancel)?;
        let isolation = Isolation {
            interpreter: found.map_err(Failure::request)?,
            tier: None,
            unsafe_no_isolation: false,
            cancel,
        };
        let plugins = Plugins::find(paths, &isolation).map_err(Failure::request)?;
        let inputs = Inputs::new(section, hints, facts, given);
        let shown = [Shown {
            section: section.id.clone(),
            target: self.target.clone(),
            parameters: section.params.iter().map(|param| param.name.clone()).collect(),
            seed: self.seed,
            stubs: inputs.shown(SHOWN, Seed(self.seed)),
        }];
        let (plugged, warnings) = plugins.apply(&shown).map_err(exec::failure)?;
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        let all = shown.into_iter().zip(plugged);
        given.plugged.extend(all.map(|(one, plugged)| (one.section, plugged)));
        Ok(())
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

fn ask_model(
    context: &Context,
    section: &Section,
    given: &mut InputSettings,
) -> Result<(), Failure> {
    let Some(model) = model(&context.settings) else { return Ok(()) };
    let path = context.settings.general.repo_path.join(section.id.path());
    let source = std::fs::read(&path)
        .map_err(|error| Failure::Request(anyhow!("{}: {error}", path.display())))?;
    let source = source_of(section, &String::from_utf8_lossy(&source));
    let written = Written::new(&model, &context.settings.stubs.cache);
    match written.records(section, &source) {
        Ok(records) => {
            given.synthetic.insert(section.id.clone(), records);
        }
        Err(error) => tracing::warn!("no inputs from the model: {error}"),
    }
    Ok(())
}

/// What settings and preset say about inputs.
fn given(settings: &Settings, preset: &Preset) -> Result<InputSettings, Failure> {
    let memory = preset.conditions(0).0.memory_bytes;
    let threat = Threat::new(preset.threat_intensity(), memory.unwrap_or(DEFAULT_MEMORY));
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

/// A model that is asked over the network.
struct Service(Chat);

impl StubModel for Service {
    fn name(&self) -> &str {
        self.0.model()
    }

    fn complete(&self, prompt: &str) -> Result<String, String> {
        self.0.complete(prompt).map_err(|error| error.to_string())
    }
}

fn model(settings: &Settings) -> Option<Service> {
    let name = settings.stubs.model.value.as_ref()?;
    let models = &settings.models;
    let key = models.openai_api_key.value.as_ref().map(Secret::expose);
    Some(Service(Chat::new(models.openai_base_url.as_str(), key, name)))
}

fn source_of(section: &Section, text: &str) -> String {
    let lines = text.lines().skip(section.start_line.saturating_sub(1) as usize);
    let count = section.end_line.saturating_sub(section.start_line) as usize + 1;
    lines.take(count).collect::<Vec<_>>().join("\n")
}
