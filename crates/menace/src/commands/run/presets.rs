//! What the user gives to a run: preset files, profiles, inputs.

use std::path::PathBuf;
use std::sync::Arc;

use menace_loop::inputs;
use menace_model::{Mock, Seed};
use menace_scenario::input::InputSettings;
use menace_scenario::preset::{Choice, Preset, PresetFile, PresetOrigin, Profiles, Values};
use menace_settings::Settings;

use crate::commands::presets;
use crate::exit::Failure;

#[derive(Debug)]
pub(super) struct Given {
    files: Vec<PresetFile>,
    pub profiles: Profiles,
    recordings: Arc<[Mock]>,
}

impl Given {
    pub(super) fn read(settings: &Settings, files: &[PathBuf]) -> Result<Self, Failure> {
        let read = |file: &PathBuf| {
            let text = presets::read(file)?;
            Ok(PresetFile { name: file.display().to_string(), text })
        };
        let files = files.iter().map(read).collect::<Result<_, Failure>>()?;
        let profiles = presets::profiles(settings, &[])?;
        profiles.check(&settings.presets.profiles_by_keyword()).map_err(Failure::request)?;
        let recordings = presets::recordings(settings)?.into();
        Ok(Self { files, profiles, recordings })
    }

    pub(super) fn choice<'a>(
        &'a self,
        settings: &'a Settings,
        count: Option<u32>,
        seed: Seed,
    ) -> Choice<'a> {
        let Self { files, profiles, recordings } = self;
        let recordings = Arc::clone(recordings);
        Choice { settings, profiles, files, count, recordings, seed: seed.of("presets") }
    }
}

/// What inputs are made of beside the source.
pub(super) fn inputs(settings: &Settings) -> Result<InputSettings, Failure> {
    // Of a preset that says nothing else.
    let usual = Preset::empty(PresetOrigin::Given).under(&Values::of_settings(settings));
    let threat = usual.map_err(Failure::request)?.threat();
    let (given, warnings) = inputs::read(settings, threat).map_err(Failure::request)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    Ok(given)
}

/// Reads the presets of every cycle that has a file of its own: a mistake in the last one must not
/// show when the others have been run.
pub(super) fn check(choice: &Choice<'_>) -> Result<(), Failure> {
    let mut presets = Vec::new();
    for cycle in 0..choice.files.len().max(1) {
        presets.extend(choice.presets(cycle).map_err(Failure::request)?);
    }
    warn(&presets);
    Ok(())
}

/// Tells what presets ask for that cannot be had here.
fn warn(presets: &[Preset]) {
    let mut told: Vec<&'static str> = Vec::new();
    for key in presets.iter().flat_map(Preset::unmet) {
        if !told.contains(&key) {
            told.push(key);
            tracing::warn!("no sandbox of this kind can meet {key}: it is left out");
        }
    }
}
