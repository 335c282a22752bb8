//! The preset of a call: what the user wrote or named, the settings over it, and who answers.

use std::path::Path;

use menace_model::Outcome;
use menace_sandbox::Interpose;
use menace_scenario::preset::{self, Effect, Interposed, Mode, Preset, Values, unanswered};
use menace_settings::Settings;

use crate::commands::presets;
use crate::exit::Failure;

const FLAG: &str = "--preset";

/// Reads it: JSON, or the name of a profile such as `flaky_upstream:low`.
pub(crate) fn read(
    text: &str,
    mocks: Option<&Path>,
    settings: &Settings,
) -> Result<Preset, Failure> {
    let text = text.trim();
    let given = if text.starts_with(['{', '[']) {
        preset::read_one(text, FLAG)
    } else {
        let severity = settings.presets.scenario_severity.value;
        presets::profiles(settings, &[])?.preset(text, severity, FLAG)
    };
    let values = Values::of_settings(settings);
    let mut preset = given.and_then(|preset| preset.under(&values)).map_err(Failure::request)?;
    if let Some(file) = mocks {
        preset.mocks = Some(presets::answers(file)?);
    }
    let calls_out = preset.isolation().safe_mode || preset.conditions(0).1.upstream.is_some();
    if calls_out {
        let recorded = presets::recordings(settings)?;
        if !recorded.is_empty() {
            preset.mocks.get_or_insert_default().extend(recorded);
        }
    }
    Ok(preset)
}

/// Tells what a single call with given arguments cannot do, and what changes nothing.
pub(crate) fn warn(preset: &Preset) {
    for oddity in preset.oddities().iter().filter(|oddity| oddity.key.is_some()) {
        tracing::warn!("{FLAG}: {oddity}");
    }
    let modes = preset.failure_modes().iter().filter_map(|mode| Mode::of(*mode));
    let of_inputs = modes.filter(|mode| matches!(mode.effect, Effect::Inputs(_)));
    let mut idle: Vec<&str> = of_inputs.map(|mode| mode.mode.as_str()).collect();
    if preset.values().stub_strategy.is_some() {
        idle.push("SANDBOX_STUB_STRATEGY");
    }
    if !idle.is_empty() {
        let idle = idle.join(", ");
        tracing::warn!("exec calls with the arguments that you give; without effect: {idle}");
    }
}

/// Tells which limits and conditions of a call nothing held.
pub(crate) fn warn_of_unheld(conditions: &menace_model::Conditions, outcome: &Outcome) {
    for limit in &outcome.unenforced {
        tracing::warn!(
            "nothing here can hold the limit `{limit}`; `menace doctor` tells what is missing"
        );
    }
    let silent = unanswered(conditions, outcome);
    if !silent.is_empty() {
        let names: Vec<&str> = silent.iter().map(|limit| limit.as_str()).collect();
        tracing::warn!("asked for, and nothing acted on it: {}", names.join(", "));
    }
}

/// Which system calls the sandbox must ask about.
pub(crate) fn interpose(preset: &Preset) -> Interpose {
    let Interposed { files, memory, sockets } = preset.isolation().interposed;
    Interpose { files, memory, sockets }
}
