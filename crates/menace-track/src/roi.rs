//! Computes ROI with a profile, and RAROI, which is adjusted for risk.
//!
//! `measure` computes the metrics; the tracker records scores over cycles. Invariant: ROI is the
//! sum of the contributions of its terms, or 0 when a veto capped it.

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
    /// The terms in the order of the profile, including those without a value.
    pub terms: Vec<RoiTerm>,
    /// The vetoes that capped it, as written in the profile.
    pub vetoes: Vec<String>,
}

/// The part of one metric in ROI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoiTerm {
    pub metric: String,
    /// The measured value; without one the term contributes nothing.
    pub value: Option<f64>,
    /// The value scaled to the range for which weights are made.
    pub scaled: Option<f64>,
    /// The weight of the profile, increased to make up for terms without a value; 0 for these.
    pub weight: f64,
    pub contribution: f64,
}

/// The ROI of these metrics; `None` when the profile has no weight for any of them.
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

/// Parses YAML; for an empty file returns `empty`.
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
