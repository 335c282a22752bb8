//! Preset files, profiles and input settings of a run.

use std::path::PathBuf;
use std::sync::Arc;

use menace_loop::inputs;
use menace_model::{MockResponse, Seed};
use menace_scenario::input::InputSettings;
use menace_scenario::preset::{
    CallSettings, Preset, PresetFile, PresetOrigin, PresetSelection, ProfileCatalog,
};
use menace_settings::Settings;

use crate::exit::CommandError;
use crate::preset_files;

#[derive(Debug)]
pub(super) struct PresetSources {
    files: Vec<PresetFile>,
    pub profiles: ProfileCatalog,
    recordings: Arc<[MockResponse]>,
}

impl PresetSources {
    pub(super) fn read(settings: &Settings, files: &[PathBuf]) -> Result<Self, CommandError> {
        let read = |file: &PathBuf| {
            let text = preset_files::read_user_file(file)?;
            Ok(PresetFile { name: file.display().to_string(), text })
        };
        let files = files.iter().map(read).collect::<Result<_, CommandError>>()?;
        let profiles = preset_files::read_profiles(settings, &[])?;
        profiles
            .check_keywords(&settings.presets.profiles_by_keyword())
            .map_err(CommandError::request)?;
        let recordings = preset_files::read_recordings(settings)?.into();
        Ok(Self { files, profiles, recordings })
    }

    pub(super) fn select<'a>(
        &'a self,
        settings: &'a Settings,
        count: Option<u32>,
        seed: Seed,
    ) -> PresetSelection<'a> {
        let Self { files, profiles, recordings } = self;
        let recordings = Arc::clone(recordings);
        PresetSelection {
            settings,
            profiles,
            files,
            count,
            recordings,
            seed: seed.derive("presets"),
        }
    }
}

/// Settings of input generation, with the inputs from files.
pub(super) fn read_input_settings(settings: &Settings) -> Result<InputSettings, CommandError> {
    // The threat settings of an empty preset.
    let defaults = Preset::empty(PresetOrigin::UserProvided)
        .with_settings(&CallSettings::from_settings(settings));
    let threat = defaults.map_err(CommandError::request)?.threat_settings();
    let (input_settings, warnings) =
        inputs::read(settings, threat).map_err(CommandError::request)?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    Ok(input_settings)
}

/// Reads the presets of all cycles, so that a mistake in the last file is reported before the first
/// call.
pub(super) fn check_presets(selection: &PresetSelection<'_>) -> Result<(), CommandError> {
    let mut presets = Vec::new();
    for cycle in 0..selection.files.len().max(1) {
        presets.extend(selection.presets(cycle).map_err(CommandError::request)?);
    }
    warn_of_planned_keys(&presets, selection.settings);
    Ok(())
}

/// Warns of preset keys that no backend implements yet, once per key. A key that comes from a
/// setting has been warned of already.
fn warn_of_planned_keys(presets: &[Preset], settings: &Settings) {
    let mut warned: Vec<&'static str> = Vec::new();
    for key in presets.iter().flat_map(Preset::unsupported_keys) {
        if !warned.contains(&key) && !settings.warns_of_planned(key) {
            warned.push(key);
            tracing::warn!("{key} is not implemented yet: it is left out");
        }
    }
}
