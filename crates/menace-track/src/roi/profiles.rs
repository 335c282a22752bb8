//! All profiles: the shipped ones, and a user's in their place.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use super::profile::{Profile, Written};

const SHIPPED: &str = include_str!("roi_profiles.yaml");

#[derive(Debug, Error, PartialEq)]
pub enum ProfileError {
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
        "profile `{profile}` weighs `{metric}`, which has no upper end: say under `scales` which value counts half"
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
pub struct Profiles(BTreeMap<String, Profile>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    profiles: BTreeMap<String, Written>,
}

impl Profiles {
    pub const DEFAULT: &'static str = "default";

    /// Those that come with Menace.
    pub fn shipped() -> Self {
        Self::parse(SHIPPED, &[]).expect("the shipped profiles are tested")
    }

    /// Reads a `roi_profiles.yaml`; `custom` are the names of metrics that plugins measure.
    pub fn parse(text: &str, custom: &[&str]) -> Result<Self, ProfileError> {
        let file: File =
            super::yaml(text, File { profiles: BTreeMap::new() }).map_err(ProfileError::Yaml)?;
        let checked = file.profiles.into_iter().map(|(name, written)| {
            let profile = Profile::checked(&name, written, custom)?;
            Ok((name, profile))
        });
        checked.collect::<Result<_, _>>().map(Self)
    }

    /// The same, with those of a user in place of those of the same name.
    #[must_use]
    pub fn under(mut self, user: Self) -> Self {
        self.0.extend(user.0);
        self
    }

    pub fn get(&self, name: &str) -> Result<&Profile, ProfileError> {
        self.0.get(name).ok_or_else(|| ProfileError::NoProfile {
            asked: name.to_owned(),
            known: self.0.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.0.values()
    }
}
