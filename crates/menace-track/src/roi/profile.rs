//! A profile: what each metric weighs, what is vetoed, what things cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::profiles::ProfileError;
use super::veto::Veto;
use crate::measure::{Budget, Prices};
use crate::metric::{Better, closest_metric, metric};

/// The weights of a profile may miss 1 by rounding only.
const ROUNDING: f64 = 1e-6;

/// Checked: weights add up, signs are right, every name is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    name: String,
    about: String,
    weights: BTreeMap<String, f64>,
    scales: BTreeMap<String, f64>,
    vetoes: Vec<Veto>,
    prices: Prices,
    budget: Budget,
}

/// As written in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    #[serde(default)]
    about: String,
    weights: BTreeMap<String, f64>,
    #[serde(default)]
    scales: BTreeMap<String, f64>,
    #[serde(default)]
    vetoes: Vec<String>,
    #[serde(default)]
    prices: Prices,
    #[serde(default)]
    budget: Budget,
}

impl Profile {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn about(&self) -> &str {
        &self.about
    }

    /// As [`Profile::read`] reads it, for those who remember what was weighed with.
    pub fn written(&self) -> Value {
        let Self { name: _, about, weights, scales, vetoes, prices, budget } = self;
        serde_json::json!(Written {
            about: about.clone(),
            weights: weights.clone(),
            scales: scales.clone(),
            vetoes: vetoes.iter().map(ToString::to_string).collect(),
            prices: *prices,
            budget: *budget,
        })
    }

    pub fn read(name: &str, written: &Value) -> Result<Self, ProfileError> {
        let written = Written::deserialize(written);
        let written = written.map_err(|error| ProfileError::Yaml(error.to_string()))?;
        Self::checked(name, written, &[])
    }

    /// In the order of the names.
    pub fn weights(&self) -> impl Iterator<Item = (&str, f64)> {
        self.weights.iter().map(|(metric, weight)| (metric.as_str(), *weight))
    }

    pub fn vetoes(&self) -> &[Veto] {
        &self.vetoes
    }

    pub fn prices(&self) -> &Prices {
        &self.prices
    }

    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The value as it is weighed, between -1 and 1.
    pub fn scaled(&self, metric: &str, value: f64) -> f64 {
        match self.scales.get(metric) {
            Some(half) => value / (value.abs() + half),
            None => value.clamp(-1.0, 1.0),
        }
    }

    /// `custom` are the names of metrics that plugins measure.
    pub(super) fn checked(
        name: &str,
        written: Written,
        custom: &[&str],
    ) -> Result<Self, ProfileError> {
        let Written { about, weights, scales, vetoes, prices, budget } = written;
        let profile = || name.to_owned();
        let known = |asked: &str| {
            if metric(asked).is_some() || custom.contains(&asked) {
                return Ok(());
            }
            let suggestion = closest_metric(asked, custom.iter().copied());
            Err(ProfileError::UnknownMetric {
                profile: profile(),
                metric: asked.to_owned(),
                suggestion: match suggestion {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => "docs/metrics.md lists them".to_owned(),
                },
            })
        };
        for name in weights.keys().chain(scales.keys()) {
            known(name)?;
        }
        for (name, weight) in &weights {
            let better = metric(name).map_or(Better::Neither, |metric| metric.better);
            let is_wrong = match better {
                Better::Up => *weight < 0.0,
                Better::Down => *weight > 0.0,
                Better::Neither => false,
            };
            if is_wrong {
                return Err(ProfileError::Sign {
                    profile: profile(),
                    metric: name.clone(),
                    weight: *weight,
                    wanted: if better == Better::Up { "positive" } else { "negative" },
                });
            }
            let is_bounded = metric(name).is_some_and(|metric| metric.range.is_bounded());
            if !is_bounded && !scales.contains_key(name) {
                return Err(ProfileError::NoScale { profile: profile(), metric: name.clone() });
            }
        }
        if let Some((metric, half)) = scales.iter().find(|(_, half)| !is_positive(**half)) {
            return Err(ProfileError::BadScale {
                profile: profile(),
                metric: metric.clone(),
                half: *half,
            });
        }
        // Whatever is not a number makes the sum none, too.
        let sum: f64 = weights.values().map(|weight| weight.abs()).sum();
        if (sum - 1.0).abs() > ROUNDING || sum.is_nan() {
            return Err(ProfileError::Sum { profile: profile(), sum });
        }
        let vetoes = vetoes
            .into_iter()
            .map(|text| {
                let veto = text
                    .parse::<Veto>()
                    .map_err(|()| ProfileError::BadVeto { profile: profile(), veto: text })?;
                known(&veto.metric)?;
                Ok(veto)
            })
            .collect::<Result<_, ProfileError>>()?;
        let Prices { cpu_second, gib_second, io_gib, wait_second, kwh, successful_call } = prices;
        let Budget { per_call, watts_per_core } = budget;
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
                return Err(ProfileError::Amount { profile: profile(), key, amount });
            }
        }
        if !is_positive(per_call) {
            return Err(ProfileError::Amount {
                profile: profile(),
                key: "budget.per_call",
                amount: per_call,
            });
        }
        Ok(Self { name: profile(), about, weights, scales, vetoes, prices, budget })
    }
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}
