//! Cold-start templates: the ROI curve that a new workflow is expected to have.
//!
//! `menace-loop` reads the file, [`super::foresight`] blends the curve. Invariant: every curve has
//! at least one usable number, and every pattern refers to a curve.

use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher};
use serde::Deserialize;
use thiserror::Error;

use super::describe::is_usable;

/// Why a file is no valid list of templates.
#[derive(Debug, Error)]
pub enum TemplateError {
    /// The YAML has another structure.
    #[error("expected `trajectories` and `profiles`: {0}")]
    Shape(String),
    /// A curve is empty, or has an unusable number.
    #[error("trajectory `{0}` needs at least one number, and numbers only")]
    Empty(String),
    /// A pattern refers to a curve that does not exist.
    #[error("profile `{pattern}` asks for trajectory `{trajectory}`, which the file does not have")]
    Unknown {
        /// The pattern.
        pattern: String,
        /// The name of the missing curve.
        trajectory: String,
    },
    /// A pattern is no valid glob.
    #[error("profile `{pattern}` is no pattern of paths")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with the pattern.
        source: globset::Error,
    },
}

/// The file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TemplatesFile {
    /// Curves by name, one ROI per cycle.
    trajectories: BTreeMap<String, Vec<f64>>,
    /// Patterns of workflows, each with the name of its curve.
    profiles: BTreeMap<String, String>,
}

/// The curves, and the patterns of workflows that start with them.
#[derive(Debug, Clone, Default)]
pub struct ColdStartTemplates {
    curves: BTreeMap<String, Vec<f64>>,
    profiles: Vec<(GlobMatcher, String)>,
}

impl ColdStartTemplates {
    /// Reads YAML.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let written: TemplatesFile =
            crate::roi::parse_yaml(text, TemplatesFile::default()).map_err(TemplateError::Shape)?;
        let TemplatesFile { trajectories, profiles } = written;
        for (name, curve) in &trajectories {
            if curve.is_empty() || !curve.iter().all(|value| is_usable(*value)) {
                return Err(TemplateError::Empty(name.clone()));
            }
        }
        let mut matchers = Vec::new();
        for (pattern, trajectory) in profiles {
            if !trajectories.contains_key(&trajectory) {
                return Err(TemplateError::Unknown { pattern, trajectory });
            }
            let glob = match Glob::new(&pattern) {
                Ok(glob) => glob.compile_matcher(),
                Err(source) => return Err(TemplateError::Pattern { pattern, source }),
            };
            matchers.push((glob, trajectory));
        }
        Ok(Self { curves: trajectories, profiles: matchers })
    }

    /// The curve of a workflow: of the first pattern, by name, that its path matches; else
    /// `default`, if there is one.
    pub fn curve_for(&self, workflow: &str) -> Option<&[f64]> {
        let chosen = self.profiles.iter().find(|(pattern, _)| pattern.is_match(workflow));
        let name = chosen.map_or("default", |(_, name)| name.as_str());
        self.curves.get(name).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATES_YAML: &str = "
trajectories:
  default: [0.1, 0.2]
  slow: [0.0, 0.05, 0.1]
profiles:
  'shop/*.py': slow
";

    #[test]
    fn a_workflow_begins_with_the_curve_of_its_pattern() {
        let templates = ColdStartTemplates::parse(TEMPLATES_YAML).unwrap();
        assert_eq!(templates.curve_for("shop/cart.py"), Some(&[0.0, 0.05, 0.1][..]));
        assert_eq!(templates.curve_for("desk.py"), Some(&[0.1, 0.2][..]));
        assert_eq!(ColdStartTemplates::parse("").unwrap().curve_for("desk.py"), None);
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| ColdStartTemplates::parse(text).unwrap_err().to_string();
        assert!(error("trajectories: {a: []}").contains("`a`"));
        assert!(error("trajectories: {a: [.nan]}").contains("`a`"));
        assert!(error("profiles: {'*.py': fast}").contains("`fast`"));
        assert!(error("curves: {}").contains("trajectories"));
        assert!(error("trajectories: {a: [1]}\nprofiles: {'[': a}").contains('['));
    }
}
