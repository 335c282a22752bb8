//! Inputs that plugins of the user and a language model give, for the sections that a command is
//! about.

use std::path::Path;

use anyhow::anyhow;

use menace_chat::Chat;
use menace_files::UntrustedDir;
use menace_loop::inputs::{InputPlugins, ModelInputCache, PluginIsolation, PluginSection};
use menace_model::{Section, SectionHints, Seed};
use menace_scenario::input::synthetic::InputModel;
use menace_scenario::input::{InputGenerator, InputSettings, RepositoryFacts};
use menace_settings::{SecretText, Settings};

use crate::context::CommandContext;
use crate::exit::CommandError;
use crate::isolation;

/// How many inputs of a section plugins receive.
const MAX_INPUTS_SHOWN: usize = 8;

/// A section, with its target.
#[derive(Debug)]
pub(crate) struct ExternalInputTarget<'a> {
    /// `package.module:name`.
    pub target: String,
    pub section: &'a Section,
    pub hints: &'a SectionHints,
}

/// Passes the inputs of the sections to the plugins, and keeps the returned ones.
pub(crate) fn apply_input_plugins(
    context: &CommandContext,
    isolation: impl FnOnce() -> Result<PluginIsolation, CommandError>,
    facts: &RepositoryFacts<'_>,
    sections: &[ExternalInputTarget<'_>],
    seed: u64,
    input_settings: &mut InputSettings,
) -> Result<(), CommandError> {
    let Some(paths) = &context.settings.stubs.plugins.value else { return Ok(()) };
    let plugins = InputPlugins::find(paths, &isolation()?).map_err(CommandError::request)?;
    let shown: Vec<PluginSection> = sections
        .iter()
        .map(|about| {
            let inputs = InputGenerator::new(about.section, about.hints, facts, input_settings);
            let params = about.section.params.iter();
            PluginSection {
                section: about.section.id.clone(),
                target: about.target.clone(),
                parameters: params.map(|param| param.name.clone()).collect(),
                seed,
                stubs: inputs.plugin_samples(MAX_INPUTS_SHOWN, Seed(seed)),
            }
        })
        .collect();
    let (plugged, warnings) = plugins.apply(&shown).map_err(isolation::command_error)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let all = shown.into_iter().zip(plugged);
    input_settings.plugin_inputs.extend(all.map(|(one, plugged)| (one.section, plugged)));
    Ok(())
}

const MAX_SOURCE_BYTES: u64 = 64 << 20;

/// Queries the model that the settings name, if any.
pub(crate) fn ask_model(
    context: &CommandContext,
    sections: &[ExternalInputTarget<'_>],
    input_settings: &mut InputSettings,
) -> Result<(), CommandError> {
    let Some(model) = configured_model(&context.settings) else { return Ok(()) };
    let written = ModelInputCache::new(&model, &context.settings.stubs.cache);
    for ExternalInputTarget { section, .. } in sections {
        let (repository, path) = (&context.settings.general.repo_path, section.id.path());
        let source = UntrustedDir::open(repository)
            .and_then(|opened| opened.read(Path::new(path), MAX_SOURCE_BYTES))
            .map_err(|error| CommandError::Request(anyhow!("{path}: {error}")))?;
        let source = section_source(section, &String::from_utf8_lossy(&source));
        match written.records(section, &source) {
            Ok(records) => {
                input_settings.synthetic.insert(section.id.clone(), records);
            }
            Err(error) => {
                // After one error the model is not queried for the other sections.
                tracing::warn!("no inputs from the model: {error}");
                break;
            }
        }
    }
    Ok(())
}

/// A model behind a network service.
struct ChatInputModel(Chat);

impl InputModel for ChatInputModel {
    fn name(&self) -> &str {
        self.0.model()
    }

    fn complete(&self, prompt: &str) -> Result<String, String> {
        self.0.complete(prompt).map_err(|error| error.to_string())
    }
}

fn configured_model(settings: &Settings) -> Option<ChatInputModel> {
    let name = settings.stubs.model.value.as_ref()?;
    let models = &settings.models;
    let key = models.openai_api_key.value.as_ref().map(SecretText::expose);
    Some(ChatInputModel(Chat::new(models.openai_base_url.as_str(), key, name)))
}

fn section_source(section: &Section, text: &str) -> String {
    let lines = text.lines().skip(section.start_line.saturating_sub(1) as usize);
    let count = section.end_line.saturating_sub(section.start_line) as usize + 1;
    lines.take(count).collect::<Vec<_>>().join("\n")
}
