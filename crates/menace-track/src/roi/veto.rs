//! Vetoes such as `safety_rating < 0.5`: conditions under which ROI is capped at 0.

use std::fmt;
use std::str::FromStr;

use crate::MetricValues;

#[derive(Debug, Clone, PartialEq)]
pub struct RoiVeto {
    pub metric: String,
    pub comparison: VetoComparison,
    pub bound: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VetoComparison {
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl VetoComparison {
    /// Longer signs come first, because they are searched in this order.
    const COMPARISON_SIGNS: [(&'static str, Self); 4] =
        [("<=", Self::AtMost), (">=", Self::AtLeast), ("<", Self::Below), (">", Self::Above)];
}

impl RoiVeto {
    /// Whether the veto holds; not for a metric that was not measured.
    pub fn applies(&self, metrics: &MetricValues) -> bool {
        metrics.get(&self.metric).is_some_and(|value| match self.comparison {
            VetoComparison::Below => value < self.bound,
            VetoComparison::AtMost => value <= self.bound,
            VetoComparison::Above => value > self.bound,
            VetoComparison::AtLeast => value >= self.bound,
        })
    }
}

impl FromStr for RoiVeto {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let split = |(sign, comparison): &(&str, VetoComparison)| {
            text.split_once(sign).map(|(metric, bound)| (metric, *comparison, bound))
        };
        let (metric, comparison, bound) =
            VetoComparison::COMPARISON_SIGNS.iter().find_map(split).ok_or(())?;
        let bound: f64 = bound.trim().parse().map_err(|_| ())?;
        if !bound.is_finite() {
            return Err(());
        }
        Ok(Self { metric: metric.trim().to_owned(), comparison, bound })
    }
}

impl fmt::Display for RoiVeto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = VetoComparison::COMPARISON_SIGNS
            .iter()
            .find(|(_, comparison)| *comparison == self.comparison);
        let sign = sign.map_or("", |(sign, _)| sign);
        write!(f, "{} {sign} {}", self.metric, self.bound)
    }
}
