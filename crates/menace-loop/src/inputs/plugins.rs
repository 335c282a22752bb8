//! Plugins: Python files of the user that add to or replace inputs, run in a sandbox of their own.
//!
//! A plugin has a function `generate_stubs(stubs, context)`. `stubs` is a list of dictionaries from
//! parameters to values, `context` tells the section. What it returns takes the place of what it was
//! shown; `None` leaves everything as it is.
//! Invariant: a plugin that fails costs its own inputs and a warning, nothing else.

use std::path::PathBuf;

use menace_model::{Call, Outcome, SectionId, Value};
use menace_sandbox::SandboxError;
use menace_scenario::input::{Named, Plugged};

use crate::plugin::{self, Isolation, NamedBy, Plugin, PluginError};

const FUNCTION: &str = "generate_stubs";
const NAMED_BY: NamedBy =
    NamedBy { setting: "SANDBOX_STUB_PLUGINS", takes: "Python files and directories" };

/// What plugins are shown of a section.
#[derive(Debug, Clone)]
pub struct Shown {
    pub section: SectionId,
    /// `package.module:name`.
    pub target: String,
    pub parameters: Vec<String>,
    pub seed: u64,
    pub stubs: Vec<Named>,
}

/// All plugins, in the order in which they were named.
#[derive(Debug)]
pub struct Plugins(Vec<Plugin>);

impl Plugins {
    /// Finds the files: those named, and the ones in directories that are named, sorted.
    pub fn find(paths: &[PathBuf], isolation: &Isolation) -> Result<Self, PluginError> {
        let mut plugins = Vec::new();
        for path in paths {
            for file in plugin::files(path, NAMED_BY)? {
                plugins.push(Plugin::new(&file, NAMED_BY, isolation)?);
            }
        }
        Ok(Self(plugins))
    }

    /// Shows every plugin what the one before it returned. In the order of `shown`, with warnings.
    pub fn apply(&self, shown: &[Shown]) -> Result<(Vec<Plugged>, Vec<String>), SandboxError> {
        let mut stubs: Vec<Vec<Named>> = shown.iter().map(|one| one.stubs.clone()).collect();
        let mut warnings = Vec::new();
        for plugin in &self.0 {
            let mut warm = plugin.warm()?;
            for (one, stubs) in shown.iter().zip(&mut stubs) {
                let outcome = warm.run(&call(plugin, one, stubs))?;
                match returned(&outcome) {
                    Ok(Some(returned)) => *stubs = returned,
                    Ok(None) => {}
                    Err(why) => {
                        let plugin = plugin.path.display();
                        warnings.push(format!("plugin {plugin}, for {}: {why}", one.target));
                    }
                }
            }
        }
        let plugged = shown.iter().zip(stubs);
        Ok((plugged.map(|(one, stubs)| Plugged::between(&one.stubs, &stubs)).collect(), warnings))
    }
}

fn call(plugin: &Plugin, shown: &Shown, stubs: &[Named]) -> Call {
    let text = |text: &str| Value::from(text);
    let names = shown.parameters.iter().map(|name| text(name)).collect();
    let context = vec![
        (text("section"), text(shown.section.as_str())),
        (text("target"), text(&shown.target)),
        (text("parameters"), Value::List(names)),
        (text("seed"), i64::try_from(shown.seed).map_or(Value::None, Value::Int)),
    ];
    let dict = |stub: &Named| {
        let pairs = stub.iter().map(|(name, value)| (text(name), value.clone()));
        Value::Dict(pairs.collect())
    };
    let stubs = Value::List(stubs.iter().map(dict).collect());
    let args = vec![stubs, Value::Dict(context)];
    Call { args, seed: shown.seed, ..Call::new(plugin.target(FUNCTION)) }
}

/// What the function returned; an error says what was wrong with it.
fn returned(outcome: &Outcome) -> Result<Option<Vec<Named>>, String> {
    const SHAPE: &str = "expected a list of dictionaries from parameters to plain values, or None";
    if let Some(why) = plugin::failure(outcome) {
        return Err(why);
    }
    let value = outcome.value.as_ref().and_then(|value| value.value.as_ref());
    let items = match value {
        Some(Value::None) => return Ok(None),
        Some(Value::List(items)) => items,
        _ => return Err(SHAPE.to_owned()),
    };
    let mut stubs = Vec::with_capacity(items.len());
    for item in items {
        let Value::Dict(pairs) = item else { return Err(SHAPE.to_owned()) };
        let named = pairs.iter().map(|(name, value)| match name {
            Value::Str(name) => Some((name.as_str()?.to_owned(), value.clone())),
            _ => None,
        });
        stubs.push(named.collect::<Option<Named>>().ok_or(SHAPE)?);
    }
    Ok(Some(stubs))
}
