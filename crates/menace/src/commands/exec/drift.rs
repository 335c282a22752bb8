//! Applies the `schema_drift` fault to given arguments.

use menace_model::{Seed, Value};
use menace_scenario::input::drift;
use menace_scenario::preset::Preset;

/// Changes the arguments if the preset has the fault and they have keys; reports what was done.
pub(super) fn drift_arguments(
    preset: &Preset,
    seed: Seed,
    args: &mut Vec<Value>,
    kwargs: &mut Vec<(String, Value)>,
) -> bool {
    let Some(how) = preset.drift() else { return false };
    let mut random = seed.derive("drift").rng();
    let (mut new_args, mut new_kwargs) = (args.clone(), kwargs.clone());
    let mut has_changed = false;
    for value in new_args.iter_mut().chain(new_kwargs.iter_mut().map(|(_, value)| value)) {
        if let Some(other) = drift::drift_value(value, how, &mut random) {
            *value = other;
            has_changed = true;
        }
    }
    // A dropped key may have held the value that another argument refers to.
    let values = new_args.iter().chain(new_kwargs.iter().map(|(_, value)| value));
    if !has_changed || Value::check_labels(values).is_err() {
        tracing::info!("schema_drift: no argument has keys that could drift; they stay as given");
        return false;
    }
    (*args, *kwargs) = (new_args, new_kwargs);
    true
}
