//! Inputs that plugins of the user and a language model give, for the sections that a command is about.

use anyhow::anyhow;

use menace_chat::Chat;
use menace_loop::inputs::{Isolation, Plugins, Shown, Written};
use menace_model::{Hints, Section, Seed};
use menace_scenario::input::synthetic::StubModel;
use menace_scenario::input::{Facts, InputSettings, Inputs};
use menace_settings::{Secret, Settings};

use crate::context::Context;
use crate::exit::Failure;
use crate::isolation;

/// So many inputs are shown to plugins.
const SHOWN: usize = 8;

/// A section, and what it is called.
#[derive(Debug)]
pub(crate) struct About<'a> {
    /// `package.module:name`.
    pub target: String,
    pub section: &'a Section,
    pub hints: &'a Hints,
}

/// Shows plugins the inputs of the sections, and keeps what they make of them.
pub(crate) fn plug(
    context: &Context,
    isolation: impl FnOnce() -> Result<Isolation, Failure>,
    facts: &Facts<'_>,
    sections: &[About<'_>],
    seed: u64,
    given: &mut InputSettings,
) -> Result<(), Failure> {
    let Some(paths) = &context.settings.stubs.plugins.value else { return Ok(()) };
    let plugins = Plugins::find(paths, &isolation()?).map_err(Failure::request)?;
    let shown: Vec<Shown> = sections
        .iter()
        .map(|about| {
            let inputs = Inputs::new(about.section, about.hints, facts, given);
            let params = about.section.params.iter();
            Shown {
                section: about.section.id.clone(),
                target: about.target.clone(),
                parameters: params.map(|param| param.name.clone()).collect(),
                seed,
                stubs: inputs.shown(SHOWN, Seed(seed)),
            }
        })
        .collect();
    let (plugged, warnings) = plugins.apply(&shown).map_err(isolation::failure)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let all = shown.into_iter().zip(plugged);
    given.plugged.extend(all.map(|(one, plugged)| (one.section, plugged)));
    Ok(())
}

/// Asks the model that the settings name, if they name one.
pub(crate) fn ask_model(
    context: &Context,
    sections: &[About<'_>],
    given: &mut InputSettings,
) -> Result<(), Failure> {
    let Some(model) = model(&context.settings) else { return Ok(()) };
    let written = Written::new(&model, &context.settings.stubs.cache);
    for About { section, .. } in sections {
        let path = context.settings.general.repo_path.join(section.id.path());
        let source = std::fs::read(&path)
            .map_err(|error| Failure::Request(anyhow!("{}: {error}", path.display())))?;
        let source = source_of(section, &String::from_utf8_lossy(&source));
        match written.records(section, &source) {
            Ok(records) => {
                given.synthetic.insert(section.id.clone(), records);
            }
            Err(error) => {
                // Whoever cannot be asked once cannot be asked a thousand times.
                tracing::warn!("no inputs from the model: {error}");
                break;
            }
        }
    }
    Ok(())
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
