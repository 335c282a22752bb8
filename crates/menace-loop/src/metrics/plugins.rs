//! Calls `collect_metrics(prev_roi, roi, resources)` of each plugin, and before that
//! `register(manager[, tracker])` where it has one.
//!
//! The Python half is `collecting.py`, put beside the plugin for the time of the call. A plugin
//! begins each call anew: what it wants to remember, it finds in the tracker's histories.

use std::collections::BTreeMap;
use std::path::PathBuf;

use menace_model::{
    Call, FixtureFile, Fixtures, How, Limits, ModuleRef, Outcome, Reference, Target, Value,
};
use menace_sandbox::SandboxError;

use crate::plugin::{self, Isolation, NamedBy, Plugin, PluginError};

const COLLECTING: &str = include_str!("collecting.py");
const MODULE: &str = "_menace_collecting";
const FILE: &str = "_menace_collecting.py";
const NAMED_BY: NamedBy = NamedBy {
    setting: "SANDBOX_METRICS_PLUGIN_DIR or `plugin_dirs` in SANDBOX_METRICS_FILE",
    takes: "directories of Python files",
};
/// Plugins are shown so many of the last values of each history.
const SHOWN: usize = 500;
const LONGEST_NAME: usize = 200;
const SHAPE: &str = "expected a dictionary from names to finite numbers";

/// What a plugin is told of the cycle that has just ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    pub prev_roi: f64,
    pub roi: f64,
    pub resources: Option<BTreeMap<String, f64>>,
    pub history: History,
    pub seed: u64,
}

/// The cycles before, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    pub metrics: BTreeMap<String, Vec<f64>>,
    pub roi: Vec<f64>,
    pub predicted: BTreeMap<String, Vec<f64>>,
    pub actual: BTreeMap<String, Vec<f64>>,
}

/// What all plugins gave. Of two that give the same metric, the later one counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Collected {
    pub metrics: BTreeMap<String, f64>,
    pub predictions: Vec<Prediction>,
    pub warnings: Vec<String>,
}

/// A forecast that a plugin has recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// `plugin:` and the name of its module.
    pub plugin: String,
    pub metric: String,
    pub predicted: f64,
    pub actual: Option<f64>,
}

/// All plugins, in the order of their directories and names.
#[derive(Debug)]
pub struct MetricPlugins {
    plugins: Vec<Plugin>,
    limits: Limits,
}

impl MetricPlugins {
    /// Finds the files in the directories; `limits` are those of each call.
    pub fn find(
        directories: &[PathBuf],
        limits: Limits,
        isolation: &Isolation,
    ) -> Result<Self, PluginError> {
        let mut plugins = Vec::new();
        for directory in directories {
            for file in plugin::files(directory, NAMED_BY)? {
                plugins.push(Plugin::new(&file, NAMED_BY, isolation)?);
            }
        }
        Ok(Self { plugins, limits })
    }

    /// Asks every plugin; an error is one of ours.
    pub fn collect(&self, told: &Told) -> Result<Collected, SandboxError> {
        let mut collected = Collected::default();
        for plugin in &self.plugins {
            let outcome = plugin.warm()?.run(&self.call(plugin, told))?;
            let path = plugin.path.display();
            let name = format!("plugin:{}", plugin.module.name);
            match given(&name, &outcome) {
                Ok((metrics, predictions)) => {
                    for (name, value) in metrics {
                        if collected.metrics.insert(name.clone(), value).is_some() {
                            let warning = format!(
                                "metric plugin {path}: `{name}` is another plugin's too; this one's counts"
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

    fn call(&self, plugin: &Plugin, told: &Told) -> Call {
        let module = ModuleRef { name: MODULE.to_owned(), path: Some(FILE.to_owned()) };
        let target = Target { module, qualname: "collect".to_owned(), how: How::Function };
        let file = FixtureFile { path: FILE.to_owned(), content: COLLECTING.as_bytes().to_vec() };
        let namespace = Reference::new(&plugin.module.name, "__dict__");
        let Told { prev_roi, roi, resources, history, seed } = told;
        let numbers = |pairs: &BTreeMap<String, f64>| {
            dict(pairs.iter().map(|(name, value)| (name.as_str(), Value::Float(*value))))
        };
        Call {
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
            seed: *seed,
            limits: self.limits.clone(),
            fixtures: Fixtures { files: vec![file], environment: Vec::new() },
            ..Call::new(target)
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
    let last = &values[values.len().saturating_sub(SHOWN)..];
    Value::List(last.iter().copied().map(Value::Float).collect())
}

type Given = (Vec<(String, f64)>, Vec<Prediction>);

/// What came back, if it is what it has to be; else, what is wrong with it.
fn given(plugin: &str, outcome: &Outcome) -> Result<Given, String> {
    if let Some(why) = crate::plugin::failure(outcome) {
        return Err(why);
    }
    let copy = outcome.value.as_ref().and_then(|value| value.value.as_ref());
    copy.and_then(|value| understood(plugin, value)).ok_or_else(|| {
        let found = outcome.value.as_ref().map_or("nothing", |value| value.repr.as_str());
        let found: String = found.chars().take(LONGEST_NAME).collect();
        format!("{SHAPE}, found {found}")
    })
}

fn understood(plugin: &str, value: &Value) -> Option<Given> {
    let Value::Dict(parts) = value else { return None };
    let part = |name: &str| {
        let found = parts.iter().find(|(key, _)| *key == Value::from(name));
        found.map(|(_, value)| value)
    };
    let (Value::Dict(metrics), Value::List(predictions)) = (part("metrics")?, part("predictions")?)
    else {
        return None;
    };
    let metrics = metrics.iter().map(|(key, value)| Some((name(key)?, number(value)?)));
    let predictions = predictions.iter().map(|prediction| match prediction {
        Value::List(parts) => match &parts[..] {
            [metric, predicted, actual] => Some(Prediction {
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
    text.as_str().filter(|text| text.len() <= LONGEST_NAME).map(str::to_owned)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) if number.is_finite() => Some(*number),
        Value::Int(number) => Some(*number as f64),
        _ => None,
    }
}
