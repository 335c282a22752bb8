//! The impact table (`IMPACT_SEVERITY_CONFIG`): how severe failures in a module are.

use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher};
use thiserror::Error;

const SHIPPED_IMPACT_YAML: &str = include_str!("impact_severity.yaml");
const DEFAULT_KEY: &str = "default";
/// Keys that are kinds of modules instead of paths.
const WORKFLOW_KINDS: [&str; 3] = ["experimental", "standard", "critical"];

#[derive(Debug, Error, PartialEq)]
pub enum ImpactTableError {
    #[error("cannot read the impact table: {0}")]
    Yaml(String),
    #[error("the impact table gives {severity} to `{key}`: it must be from 0 to 1")]
    Severity { key: String, severity: f64 },
    #[error("`{key}` of the impact table is no glob: {reason}")]
    Glob { key: String, reason: String },
}

/// Severities from 0 to 1, by path, dotted name, glob over paths, or kind of module.
#[derive(Debug, Clone)]
pub struct ImpactTable {
    exact: BTreeMap<String, f64>,
    globs: BTreeMap<String, (GlobMatcher, f64)>,
    default: f64,
}

impl ImpactTable {
    /// The table that comes with Menace.
    pub fn shipped() -> Self {
        let mut table = Self { exact: BTreeMap::new(), globs: BTreeMap::new(), default: 0.5 };
        table.read(SHIPPED_IMPACT_YAML).expect("the shipped table is tested");
        table
    }

    /// The shipped table, with the user's entries replacing its own.
    pub fn parse(text: &str) -> Result<Self, ImpactTableError> {
        let mut table = Self::shipped();
        table.read(text)?;
        Ok(table)
    }

    /// The severity of a module: by its path, its name, the longest matching glob, or the default.
    pub fn severity(&self, path: &str, name: &str) -> f64 {
        // A module may have the name of a kind of module, whose severity is not meant for it.
        let by_name = self.exact.get(name).filter(|_| !WORKFLOW_KINDS.contains(&name));
        let exact = self.exact.get(path).or(by_name);
        exact.copied().unwrap_or_else(|| {
            let fitting = self.globs.iter().filter(|(_, (glob, _))| glob.is_match(path));
            let longest = fitting.max_by_key(|(text, _)| (text.len(), *text));
            longest.map_or(self.default, |(_, (_, severity))| *severity)
        })
    }

    fn read(&mut self, text: &str) -> Result<(), ImpactTableError> {
        let entries: BTreeMap<String, f64> =
            super::parse_yaml(text, BTreeMap::new()).map_err(ImpactTableError::Yaml)?;
        for (key, severity) in entries {
            if !(0.0..=1.0).contains(&severity) {
                return Err(ImpactTableError::Severity { key, severity });
            }
            if key == DEFAULT_KEY {
                self.default = severity;
            } else if key.contains(['*', '?', '[', '{']) {
                let glob = Glob::new(&key).map_err(|error| ImpactTableError::Glob {
                    key: key.clone(),
                    reason: error.kind().to_string(),
                })?;
                self.globs.insert(key, (glob.compile_matcher(), severity));
            } else {
                self.exact.insert(key, severity);
            }
        }
        Ok(())
    }
}
