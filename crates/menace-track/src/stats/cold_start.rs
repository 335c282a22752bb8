//! Cold-start curves: the ROI that a new module is expected to have.
//!
//! `menace-loop` reads the file, [`super::foresight`] blends the curve. Invariant: every curve has
//! at least one usable number, and every pattern refers to a curve.

use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher};
use serde::Deserialize;
use thiserror::Error;

use super::describe::is_usable;

/// Why a file is no valid list of cold-start curves.
#[derive(Debug, Error)]
pub enum ColdStartCurveError {
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
struct ColdStartFile {
    /// Curves by name, one ROI per cycle.
    trajectories: BTreeMap<String, Vec<f64>>,
    /// Patterns of modules, each with the name of its curve.
    profiles: BTreeMap<String, String>,
}

/// The curves, and the patterns of modules that start with them.
#[derive(Debug, Clone, Default)]
pub struct ColdStartCurves {
    curves: BTreeMap<String, Vec<f64>>,
    profiles: Vec<(GlobMatcher, String)>,
}

impl ColdStartCurves {
    /// Reads YAML.
    pub fn parse(text: &str) -> Result<Self, ColdStartCurveError> {
        let written: ColdStartFile = crate::roi::parse_yaml(text, ColdStartFile::default())
            .map_err(ColdStartCurveError::Shape)?;
        let ColdStartFile { trajectories, profiles } = written;
        for (name, curve) in &trajectories {
            if curve.is_empty() || !curve.iter().all(|value| is_usable(*value)) {
                return Err(ColdStartCurveError::Empty(name.clone()));
            }
        }
        let mut matchers = Vec::new();
        for (pattern, trajectory) in profiles {
            if !trajectories.contains_key(&trajectory) {
                return Err(ColdStartCurveError::Unknown { pattern, trajectory });
            }
            let glob = match Glob::new(&pattern) {
                Ok(glob) => glob.compile_matcher(),
                Err(source) => return Err(ColdStartCurveError::Pattern { pattern, source }),
            };
            matchers.push((glob, trajectory));
        }
        Ok(Self { curves: trajectories, profiles: matchers })
    }

    /// The curve of a module: of the first pattern, by name, that its path matches; else
    /// `default`, if there is one.
    pub fn curve_for(&self, module: &str) -> Option<&[f64]> {
        let chosen = self.profiles.iter().find(|(pattern, _)| pattern.is_match(module));
        let name = chosen.map_or("default", |(_, name)| name.as_str());
        self.curves.get(name).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURVES_YAML: &str = "
trajectories:
  default: [0.1, 0.2]
  slow: [0.0, 0.05, 0.1]
profiles:
  'shop/*.py': slow
";

    #[test]
    fn a_module_begins_with_the_curve_of_its_pattern() {
        let curves = ColdStartCurves::parse(CURVES_YAML).unwrap();
        assert_eq!(curves.curve_for("shop/cart.py"), Some(&[0.0, 0.05, 0.1][..]));
        assert_eq!(curves.curve_for("desk.py"), Some(&[0.1, 0.2][..]));
        assert_eq!(ColdStartCurves::parse("").unwrap().curve_for("desk.py"), None);
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| ColdStartCurves::parse(text).unwrap_err().to_string();
        assert!(error("trajectories: {a: []}").contains("`a`"));
        assert!(error("trajectories: {a: [.nan]}").contains("`a`"));
        assert!(error("profiles: {'*.py': fast}").contains("`fast`"));
        assert!(error("curves: {}").contains("trajectories"));
        assert!(error("trajectories: {a: [1]}\nprofiles: {'[': a}").contains('['));
    }
}
