//! A profile: the weights of metrics, vetoes and prices.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::profiles::RoiProfileError;
use super::veto::RoiVeto;
use crate::measure::{CallCostModel, ResourcePrices};
use crate::metric::{METRICS, MetricDirection, find_metric};

/// How far the weights of a profile may miss a sum of 1, for rounding.
const WEIGHT_SUM_TOLERANCE: f64 = 1e-6;

/// A validated profile: weights add up to 1, signs are right, all names are known.
#[derive(Debug, Clone, PartialEq)]
pub struct RoiProfile {
    name: String,
    description: String,
    weights: BTreeMap<String, f64>,
    scales: BTreeMap<String, f64>,
    vetoes: Vec<RoiVeto>,
    prices: ResourcePrices,
    budget: CallCostModel,
}

/// A profile as it is written in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RoiProfileFile {
    #[serde(default)]
    about: String,
    weights: BTreeMap<String, f64>,
    #[serde(default)]
    scales: BTreeMap<String, f64>,
    #[serde(default)]
    vetoes: Vec<String>,
    #[serde(default)]
    prices: ResourcePrices,
    #[serde(default)]
    budget: CallCostModel,
}

impl RoiProfile {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn description(&self) -> &str {
        &self.description
    }

    /// The profile in the form that [`super::RoiProfiles::parse`] reads; stored with each run.
    pub fn to_json(&self) -> Value {
        let Self { name: _, description: about, weights, scales, vetoes, prices, budget } = self;
        serde_json::json!(RoiProfileFile {
            about: about.clone(),
            weights: weights.clone(),
            scales: scales.clone(),
            vetoes: vetoes.iter().map(ToString::to_string).collect(),
            prices: *prices,
            budget: *budget,
        })
    }

    pub fn from_json(name: &str, written: &Value) -> Result<Self, RoiProfileError> {
        let written = RoiProfileFile::deserialize(written);
        let written = written.map_err(|error| RoiProfileError::Yaml(error.to_string()))?;
        Self::validate(name, written, &[])
    }

    /// The weights in the order of metric names.
    pub fn weights(&self) -> impl Iterator<Item = (&str, f64)> {
        self.weights.iter().map(|(metric, weight)| (metric.as_str(), *weight))
    }

    pub fn vetoes(&self) -> &[RoiVeto] {
        &self.vetoes
    }

    pub fn prices(&self) -> &ResourcePrices {
        &self.prices
    }

    pub fn budget(&self) -> &CallCostModel {
        &self.budget
    }

    /// The value that the weight is multiplied with, between -1 and 1.
    pub fn scale_value(&self, metric: &str, value: f64) -> f64 {
        match self.scales.get(metric) {
            Some(half) => value / (value.abs() + half),
            None => value.clamp(-1.0, 1.0),
        }
    }

    /// `custom`: the names of metrics that plugins measure.
    pub(super) fn validate(
        name: &str,
        written: RoiProfileFile,
        custom: &[&str],
    ) -> Result<Self, RoiProfileError> {
        let RoiProfileFile { about, weights, scales, vetoes, prices, budget } = written;
        let profile = || name.to_owned();
        let known = |asked: &str| {
            if find_metric(asked).is_some() || custom.contains(&asked) {
                return Ok(());
            }
            let names = METRICS.iter().map(|metric| metric.name).chain(custom.iter().copied());
            Err(RoiProfileError::UnknownMetric {
                profile: profile(),
                metric: asked.to_owned(),
                suggestion: menace_model::suggest_names(asked, names)
                    .unwrap_or_else(|| "docs/metrics.md lists them".to_owned()),
            })
        };
        for name in weights.keys().chain(scales.keys()) {
            known(name)?;
        }
        for (name, weight) in &weights {
            let better =
                find_metric(name).map_or(MetricDirection::Neither, |metric| metric.direction);
            let is_wrong = match better {
                MetricDirection::Up => *weight < 0.0,
                MetricDirection::Down => *weight > 0.0,
                MetricDirection::Neither => false,
            };
            if is_wrong {
                return Err(RoiProfileError::Sign {
                    profile: profile(),
                    metric: name.clone(),
                    weight: *weight,
                    wanted: if better == MetricDirection::Up { "positive" } else { "negative" },
                });
            }
            let is_bounded = find_metric(name).is_some_and(|metric| metric.range.is_bounded());
            if !is_bounded && !scales.contains_key(name) {
                return Err(RoiProfileError::NoScale { profile: profile(), metric: name.clone() });
            }
        }
        if let Some((metric, half)) = scales.iter().find(|(_, half)| !is_positive(**half)) {
            return Err(RoiProfileError::BadScale {
                profile: profile(),
                metric: metric.clone(),
                half: *half,
            });
        }
        // A weight that is NaN makes the sum NaN.
        let sum: f64 = weights.values().map(|weight| weight.abs()).sum();
        if (sum - 1.0).abs() > WEIGHT_SUM_TOLERANCE || sum.is_nan() {
            return Err(RoiProfileError::Sum { profile: profile(), sum });
        }
        let vetoes = vetoes
            .into_iter()
            .map(|text| {
                let veto = text
                    .parse::<RoiVeto>()
                    .map_err(|()| RoiProfileError::BadVeto { profile: profile(), veto: text })?;
                known(&veto.metric)?;
                Ok(veto)
            })
            .collect::<Result<_, RoiProfileError>>()?;
        let ResourcePrices { cpu_second, gib_second, io_gib, wait_second, kwh, successful_call } =
            prices;
        let CallCostModel { per_call, watts_per_core } = budget;
        let amounts = [
            ("prices.cpu_second", cpu_second),
            ("prices.gib_second", gib_second),
            ("prices.io_gib", io_gib),
            ("prices.wait_second", wait_second),
            ("prices.kwh", kwh),
            ("prices.successful_call", successful_call),
            ("budget.watts_per_core", watts_per_core),
        ];
        for (key, amount) in amounts {
            if !amount.is_finite() || amount < 0.0 {
                return Err(RoiProfileError::Amount { profile: profile(), key, amount });
            }
        }
        if !is_positive(per_call) {
            return Err(RoiProfileError::Amount {
                profile: profile(),
                key: "budget.per_call",
                amount: per_call,
            });
        }
        Ok(Self { name: profile(), description: about, weights, scales, vetoes, prices, budget })
    }
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}
