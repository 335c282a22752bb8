//! Calls `collect_metrics(prev_roi, roi, resources)` of each plugin, and before that
//! `register(manager[, tracker])` where it has one.
//!
//! The Python half is `collecting.py`, which is put beside the plugin for the call. Each call
//! starts a new interpreter: earlier values are in the tracker's histories.

use std::collections::BTreeMap;
use std::path::PathBuf;

use menace_model::{
    Call, CallFixtures, CallLimits, CallStep, CallTarget, FixtureFile, ModuleRef, Outcome,
    PyReference, TargetKind, Value,
};
use menace_sandbox::SandboxError;

use crate::plugin::{self, PluginError, PluginFile, PluginIsolation, PluginOrigin};

const COLLECTOR_SOURCE: &str = include_str!("collecting.py");
const COLLECTOR_MODULE: &str = "_menace_collecting";
const COLLECTOR_FILE: &str = "_menace_collecting.py";
const PLUGIN_ORIGIN: PluginOrigin = PluginOrigin {
    setting: "SANDBOX_METRICS_PLUGIN_DIR or `plugin_dirs` in SANDBOX_METRICS_FILE",
    takes: "directories of Python files",
};
/// How many of the last values of each history plugins receive.
const MAX_HISTORY_VALUES: usize = 500;
const MAX_NAME_BYTES: usize = 200;
const EXPECTED_RESULT: &str = "expected a dictionary from names to finite numbers";

/// The data about the last cycle that a plugin receives.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PluginInput {
    pub prev_roi: f64,
    pub roi: f64,
    pub resources: Option<BTreeMap<String, f64>>,
    pub history: MetricHistory,
    pub seed: u64,
}

/// Values of earlier cycles, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetricHistory {
    pub metrics: BTreeMap<String, Vec<f64>>,
    pub roi: Vec<f64>,
    pub predicted: BTreeMap<String, Vec<f64>>,
    pub actual: BTreeMap<String, Vec<f64>>,
}

/// The results of all plugins. When two return the same metric, the later one counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PluginMetrics {
    pub metrics: BTreeMap<String, f64>,
    pub predictions: Vec<PluginPrediction>,
    pub warnings: Vec<String>,
}

/// A forecast that a plugin has recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginPrediction {
    /// `plugin:` and the name of its module.
    pub plugin: String,
    pub metric: String,
    pub predicted: f64,
    pub actual: Option<f64>,
}

/// All plugins, in the order of their directories and names.
#[derive(Debug)]
pub struct MetricPlugins {
    plugins: Vec<PluginFile>,
    limits: CallLimits,
}

impl MetricPlugins {
    /// Finds the plugins in the directories; `limits` apply to each of their calls.
    pub fn find(
        directories: &[PathBuf],
        limits: CallLimits,
        isolation: &PluginIsolation,
    ) -> Result<Self, PluginError> {
        let mut plugins = Vec::new();
        for directory in directories {
            for file in plugin::find_files(directory, PLUGIN_ORIGIN)? {
                plugins.push(PluginFile::new(&file, PLUGIN_ORIGIN, isolation)?);
            }
        }
        Ok(Self { plugins, limits })
    }

    /// Calls every plugin. A plugin that fails is a warning; an error means that the sandbox
    /// failed.
    pub fn collect(&self, input: &PluginInput) -> Result<PluginMetrics, SandboxError> {
        let mut collected = PluginMetrics::default();
        for plugin in &self.plugins {
            let outcome = plugin.warm()?.run(&self.call(plugin, input))?;
            let path = plugin.path.display();
            let name = format!("plugin:{}", plugin.module.name);
            match parse_reply(&name, &outcome) {
                Ok((metrics, predictions)) => {
                    for (name, value) in metrics {
                        if collected.metrics.insert(name.clone(), value).is_some() {
                            let warning = format!(
                                "metric plugin {path}: another plugin returns `{name}`, too; \
                                 this one counts"
                            );
                            collected.warnings.push(warning);
                        }
                    }
                    collected.predictions.extend(predictions);
                }
                Err(why) => {
                    collected.warnings.push(format!("metric plugin {path} was left out: {why}"));
                }
            }
        }
        Ok(collected)
    }

    fn call(&self, plugin: &PluginFile, input: &PluginInput) -> Call {
        let module =
            ModuleRef { name: COLLECTOR_MODULE.to_owned(), path: Some(COLLECTOR_FILE.to_owned()) };
        let target =
            CallTarget { module, qualname: "collect".to_owned(), kind: TargetKind::Function };
        let file = FixtureFile {
            path: COLLECTOR_FILE.to_owned(),
            content: COLLECTOR_SOURCE.as_bytes().to_vec(),
        };
        let namespace = PyReference::new(&plugin.module.name, "__dict__");
        let PluginInput { prev_roi, roi, resources, history, seed } = input;
        let numbers = |pairs: &BTreeMap<String, f64>| {
            dict(pairs.iter().map(|(name, value)| (name.as_str(), Value::Float(*value))))
        };
        Call {
            seed: *seed,
            limits: self.limits.clone(),
            fixtures: CallFixtures { files: vec![file], environment: Vec::new() },
            ..Call::of_step(CallStep {
                args: vec![
                    namespace.map_or(Value::None, Value::Name),
                    Value::Float(*prev_roi),
                    Value::Float(*roi),
                    resources.as_ref().map_or(Value::None, numbers),
                    dict([
                        ("metrics", series(&history.metrics)),
                        ("roi", list(&history.roi)),
                        ("predicted", series(&history.predicted)),
                        ("actual", series(&history.actual)),
                    ]),
                ],
                ..CallStep::new(target)
            })
        }
    }
}

fn dict<'a>(pairs: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    Value::Dict(pairs.into_iter().map(|(name, value)| (Value::from(name), value)).collect())
}

fn series(history: &BTreeMap<String, Vec<f64>>) -> Value {
    dict(history.iter().map(|(name, values)| (name.as_str(), list(values))))
}

fn list(values: &[f64]) -> Value {
    let last = &values[values.len().saturating_sub(MAX_HISTORY_VALUES)..];
    Value::List(last.iter().copied().map(Value::Float).collect())
}

type PluginReply = (Vec<(String, f64)>, Vec<PluginPrediction>);

/// The metrics and predictions in a plugin's result, or what is wrong with it.
fn parse_reply(plugin: &str, outcome: &Outcome) -> Result<PluginReply, String> {
    if let Some(why) = crate::plugin::call_error(outcome) {
        return Err(why);
    }
    let copy = outcome.value.as_ref().and_then(|value| value.value.as_ref());
    copy.and_then(|value| parse_value(plugin, value)).ok_or_else(|| {
        let found = outcome.value.as_ref().map_or("nothing", |value| value.repr.as_str());
        let found: String = found.chars().take(MAX_NAME_BYTES).collect();
        format!("{EXPECTED_RESULT}, found {found}")
    })
}

fn parse_value(plugin: &str, value: &Value) -> Option<PluginReply> {
    let Value::Dict(parts) = value else { return None };
    let part = |name: &str| {
        let found = parts.iter().find(|(key, _)| *key == Value::from(name));
        found.map(|(_, value)| value)
    };
    let Value::Dict(metrics) = part("metrics")? else { return None };
    let Value::List(predictions) = part("predictions")? else { return None };
    let metrics = metrics.iter().map(|(key, value)| Some((name(key)?, number(value)?)));
    let predictions = predictions.iter().map(|prediction| match prediction {
        Value::List(parts) => match &parts[..] {
            [metric, predicted, actual] => Some(PluginPrediction {
                plugin: plugin.to_owned(),
                metric: name(metric)?,
                predicted: number(predicted)?,
                actual: match actual {
                    Value::None => None,
                    actual => Some(number(actual)?),
                },
            }),
            _ => None,
        },
        _ => None,
    });
    Some((metrics.collect::<Option<_>>()?, predictions.collect::<Option<_>>()?))
}

fn name(value: &Value) -> Option<String> {
    let Value::Str(text) = value else { return None };
    text.as_str().filter(|text| text.len() <= MAX_NAME_BYTES).map(str::to_owned)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) if number.is_finite() => Some(*number),
        Value::Int(number) => Some(*number as f64),
        _ => None,
    }
}
