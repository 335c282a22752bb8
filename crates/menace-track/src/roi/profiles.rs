//! All profiles: the shipped ones, overridden by the user's.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use super::profile::{RoiProfile, RoiProfileFile};

const SHIPPED_PROFILES_YAML: &str = include_str!("roi_profiles.yaml");

#[derive(Debug, Error, PartialEq)]
pub enum RoiProfileError {
    #[error("cannot read the profiles: {0}")]
    Yaml(String),
    #[error(
        "the weights of profile `{profile}` add up to {sum}: make their absolute values add up to 1"
    )]
    Sum { profile: String, sum: f64 },
    #[error("profile `{profile}` gives {weight} to `{metric}`: its weight must be {wanted}")]
    Sign { profile: String, metric: String, weight: f64, wanted: &'static str },
    #[error("profile `{profile}` names `{metric}`, which is no metric: {suggestion}")]
    UnknownMetric { profile: String, metric: String, suggestion: String },
    #[error(
        "profile `{profile}` has a weight for `{metric}`, which has no upper end: say under \
         `scales` which \
         value counts half"
    )]
    NoScale { profile: String, metric: String },
    #[error("profile `{profile}` scales `{metric}` by {half}: it must be above 0")]
    BadScale { profile: String, metric: String, half: f64 },
    #[error("profile `{profile}` has the veto `{veto}`: write it as `safety_rating < 0.5`")]
    BadVeto { profile: String, veto: String },
    #[error("profile `{profile}` sets `{key}` to {amount}: it must be a positive number")]
    Amount { profile: String, key: &'static str, amount: f64 },
    #[error("there is no profile `{asked}`: choose one of {known}")]
    NoProfile { asked: String, known: String },
}

#[derive(Debug, Clone, PartialEq)]
pub struct RoiProfiles(BTreeMap<String, RoiProfile>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoiProfilesFile {
    #[serde(default)]
    profiles: BTreeMap<String, RoiProfileFile>,
}

impl RoiProfiles {
    pub const DEFAULT_NAME: &'static str = "default";

    /// The profiles that come with Menace.
    pub fn shipped() -> Self {
        Self::parse(SHIPPED_PROFILES_YAML, &[]).expect("the shipped profiles are tested")
    }

    /// Reads a `roi_profiles.yaml`; `custom` are the names of metrics that plugins measure.
    pub fn parse(text: &str, custom: &[&str]) -> Result<Self, RoiProfileError> {
        let file: RoiProfilesFile =
            super::parse_yaml(text, RoiProfilesFile { profiles: BTreeMap::new() })
                .map_err(RoiProfileError::Yaml)?;
        let checked = file.profiles.into_iter().map(|(name, written)| {
            let profile = RoiProfile::validate(&name, written, custom)?;
            Ok((name, profile))
        });
        checked.collect::<Result<_, _>>().map(Self)
    }

    /// Replaces profiles by the user's of the same name, and adds the others.
    #[must_use]
    pub fn with_overrides(mut self, user: Self) -> Self {
        self.0.extend(user.0);
        self
    }

    pub fn get(&self, name: &str) -> Result<&RoiProfile, RoiProfileError> {
        self.0.get(name).ok_or_else(|| RoiProfileError::NoProfile {
            asked: name.to_owned(),
            known: self.0.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = &RoiProfile> {
        self.0.values()
    }
}
