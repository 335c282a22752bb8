//! The preset of a call: given or named by the user, with the settings laid over it, and upstream
//! mocks.

use std::path::Path;

use menace_model::Outcome;
use menace_scenario::preset::{
    self, CallSettings, FailureModeEffect, FailureModeInfo, Preset, find_unreported_limits,
};
use menace_settings::Settings;

use crate::exit::CommandError;
use crate::preset_files;

const PRESET_FLAG: &str = "--preset";

/// Reads it: JSON, or the name of a profile such as `flaky_upstream:low`.
pub(crate) fn read_preset(
    text: &str,
    mocks: Option<&Path>,
    settings: &Settings,
) -> Result<Preset, CommandError> {
    let text = text.trim();
    let preset = if text.starts_with(['{', '[']) {
        preset::read_single_preset(text, PRESET_FLAG)
    } else {
        let severity = settings.presets.scenario_severity.value;
        preset_files::read_profiles(settings, &[])?.parse_preset(text, severity, PRESET_FLAG)
    };
    let values = CallSettings::from_settings(settings);
    let mut preset =
        preset.and_then(|preset| preset.with_settings(&values)).map_err(CommandError::request)?;
    if let Some(file) = mocks {
        preset.mocks = Some(preset_files::read_mocks(file)?);
    }
    let uses_recordings =
        preset.confinement().safe_mode || preset.limits_and_conditions(0).1.upstream.is_some();
    if uses_recordings {
        let recorded = preset_files::read_recordings(settings)?;
        if !recorded.is_empty() {
            preset.mocks.get_or_insert_default().extend(recorded);
        }
    }
    Ok(preset)
}

/// Warns of keys without effect, and of those that a call with given arguments ignores. Planned
/// keys that come from a setting have been warned of already.
pub(crate) fn warn(preset: &Preset, settings: &Settings) {
    for ineffective in preset.find_ineffective_keys() {
        if ineffective.key.is_some_and(|key| !settings.warns_of_planned(key)) {
            tracing::warn!("{PRESET_FLAG}: {ineffective}");
        }
    }
    let modes = preset.failure_modes().iter().filter_map(|mode| FailureModeInfo::find(*mode));
    let of_inputs = modes.filter(|mode| matches!(mode.effect, FailureModeEffect::Inputs(_)));
    let mut idle: Vec<&str> = of_inputs.map(|mode| mode.mode.as_str()).collect();
    if preset.values().stub_strategy.is_some() {
        idle.push("SANDBOX_STUB_STRATEGY");
    }
    if !idle.is_empty() {
        let idle = idle.join(", ");
        tracing::warn!("exec calls with the arguments that you give; without effect: {idle}");
    }
}

/// Warns of limits and conditions of a call that nothing enforced.
pub(crate) fn warn_of_unenforced(conditions: &menace_model::CallConditions, outcome: &Outcome) {
    for limit in &outcome.unenforced {
        tracing::warn!(
            "nothing here can hold the limit `{limit}`; `menace doctor` tells what is missing"
        );
    }
    let silent = find_unreported_limits(conditions, outcome);
    if !silent.is_empty() {
        let names: Vec<&str> = silent.iter().map(|limit| limit.as_str()).collect();
        tracing::warn!("asked for, and nothing acted on it: {}", names.join(", "));
    }
}
