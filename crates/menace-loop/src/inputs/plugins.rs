//! Input plugins: Python files of the user that add or replace inputs, each in its own sandbox.
//!
//! A plugin has a function `generate_stubs(stubs, context)`. `stubs` is a list of dictionaries from
//! parameters to values, `context` names the section. The returned list replaces `stubs`; `None`
//! changes nothing. Invariant: a plugin that fails loses its own inputs, with a warning.

use std::path::PathBuf;

use menace_model::{Call, CallStep, Outcome, SectionId, Value};
use menace_sandbox::SandboxError;
use menace_scenario::input::{NamedArguments, PluginInputs};

use crate::plugin::{self, PluginError, PluginFile, PluginIsolation, PluginOrigin};

const FUNCTION: &str = "generate_stubs";
const PLUGIN_ORIGIN: PluginOrigin =
    PluginOrigin { setting: "SANDBOX_STUB_PLUGINS", takes: "Python files and directories" };

/// The data about a section that a plugin receives.
#[derive(Debug, Clone)]
pub struct PluginSection {
    pub section: SectionId,
    /// `package.module:name`.
    pub target: String,
    pub parameters: Vec<String>,
    pub seed: u64,
    pub stubs: Vec<NamedArguments>,
}

/// All plugins, in the order in which they were named.
#[derive(Debug)]
pub struct InputPlugins(Vec<PluginFile>);

impl InputPlugins {
    /// Finds the named files, and the files in named directories, sorted.
    pub fn find(paths: &[PathBuf], isolation: &PluginIsolation) -> Result<Self, PluginError> {
        let mut plugins = Vec::new();
        for path in paths {
            for file in plugin::find_files(path, PLUGIN_ORIGIN)? {
                plugins.push(PluginFile::new(&file, PLUGIN_ORIGIN, isolation)?);
            }
        }
        Ok(Self(plugins))
    }

    /// Passes the inputs of each section through all plugins, one after the other. Returns the
    /// results in the order of `sections`, and warnings.
    pub fn apply(
        &self,
        sections: &[PluginSection],
    ) -> Result<(Vec<PluginInputs>, Vec<String>), SandboxError> {
        let mut stubs: Vec<Vec<NamedArguments>> =
            sections.iter().map(|one| one.stubs.clone()).collect();
        let mut warnings = Vec::new();
        for plugin in &self.0 {
            let mut warm = plugin.warm()?;
            for (one, stubs) in sections.iter().zip(&mut stubs) {
                let outcome = warm.run(&call(plugin, one, stubs))?;
                match parse_result(&outcome) {
                    Ok(Some(returned)) => *stubs = returned,
                    Ok(None) => {}
                    Err(why) => {
                        let plugin = plugin.path.display();
                        warnings.push(format!("plugin {plugin}, for {}: {why}", one.target));
                    }
                }
            }
        }
        let results = sections.iter().zip(stubs);
        Ok((
            results.map(|(one, stubs)| PluginInputs::from_difference(&one.stubs, &stubs)).collect(),
            warnings,
        ))
    }
}

fn call(plugin: &PluginFile, section: &PluginSection, stubs: &[NamedArguments]) -> Call {
    let text = |text: &str| Value::from(text);
    let names = section.parameters.iter().map(|name| text(name)).collect();
    let context = vec![
        (text("section"), text(section.section.as_str())),
        (text("target"), text(&section.target)),
        (text("parameters"), Value::List(names)),
        (text("seed"), i64::try_from(section.seed).map_or(Value::None, Value::Int)),
    ];
    let dict = |stub: &NamedArguments| {
        let pairs = stub.iter().map(|(name, value)| (text(name), value.clone()));
        Value::Dict(pairs.collect())
    };
    let stubs = Value::List(stubs.iter().map(dict).collect());
    let args = vec![stubs, Value::Dict(context)];
    Call {
        seed: section.seed,
        ..Call::of_step(CallStep { args, ..CallStep::new(plugin.target(FUNCTION)) })
    }
}

/// The returned inputs, or what is wrong with them.
fn parse_result(outcome: &Outcome) -> Result<Option<Vec<NamedArguments>>, String> {
    const SHAPE: &str = "expected a list of dictionaries from parameters to plain values, or None";
    if let Some(why) = plugin::call_error(outcome) {
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
        stubs.push(named.collect::<Option<NamedArguments>>().ok_or(SHAPE)?);
    }
    Ok(Some(stubs))
}
