//! Scores of metrics: ROI by a profile, RAROI adjusted for risk.
//!
//! `measure` computes the metrics; the tracker follows scores over cycles.
//! Invariant: ROI is the sum of the contributions of its terms, or 0 when a veto capped it.

mod bottleneck;
mod impact;
mod profile;
mod profiles;
mod risk_adjusted;
#[cfg(test)]
mod tests;
mod veto;

use serde::{Deserialize, Serialize};

pub use bottleneck::{RoiBottleneck, find_bottlenecks};
pub use impact::{ImpactTable, ImpactTableError};
pub use profile::RoiProfile;
pub use profiles::{RoiProfileError, RoiProfiles};
pub use risk_adjusted::{RoiRisk, compute_confidence, compute_raroi};
pub use veto::RoiVeto;

use crate::MetricValues;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoiBreakdown {
    /// From -1 to 1.
    pub value: f64,
    /// In the order of the profile; those without a value too.
    pub terms: Vec<RoiTerm>,
    /// Vetoes that capped it, as written.
    pub vetoes: Vec<String>,
}

/// One metric's part in ROI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoiTerm {
    pub metric: String,
    /// As measured; none when it was not, and then the term counts nothing.
    pub value: Option<f64>,
    /// Brought to the range that weights are made for.
    pub scaled: Option<f64>,
    /// What the profile says, enlarged to make up for terms without a value; 0 for these.
    pub weight: f64,
    pub contribution: f64,
}

/// ROI of these metrics; none when the profile has no weight for any of them.
pub fn compute_roi(profile: &RoiProfile, metrics: &MetricValues) -> Option<RoiBreakdown> {
    let known: f64 = profile
        .weights()
        .filter(|(metric, _)| metrics.get(metric).is_some())
        .map(|(_, weight)| weight.abs())
        .sum();
    if known <= 0.0 {
        return None;
    }
    let terms: Vec<RoiTerm> = profile
        .weights()
        .map(|(metric, weight)| {
            let value = metrics.get(metric);
            let scaled = value.map(|value| profile.scale_value(metric, value));
            let weight = if value.is_some() { weight / known } else { 0.0 };
            RoiTerm {
                metric: metric.to_owned(),
                value,
                scaled,
                weight,
                contribution: scaled.unwrap_or_default() * weight + 0.0,
            }
        })
        .collect();
    let vetoes: Vec<String> = profile
        .vetoes()
        .iter()
        .filter(|veto| veto.applies(metrics))
        .map(ToString::to_string)
        .collect();
    let sum: f64 = terms.iter().map(|term| term.contribution).sum();
    let value = if vetoes.is_empty() { sum } else { sum.min(0.0) };
    Some(RoiBreakdown { value, terms, vetoes })
}

/// Reads YAML; a file without anything in it is `empty`.
pub(crate) fn parse_yaml<T: serde::de::DeserializeOwned>(
    text: &str,
    empty: T,
) -> Result<T, String> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
        return Ok(empty);
    }
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}
