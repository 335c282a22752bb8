//! `safety_rating < 0.5`: what no gain makes up for.

use std::fmt;
use std::str::FromStr;

use crate::Metrics;

#[derive(Debug, Clone, PartialEq)]
pub struct Veto {
    pub metric: String,
    pub comparison: Comparison,
    pub bound: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl Comparison {
    /// Longer signs first: each is looked for in turn.
    const SIGNS: [(&'static str, Self); 4] =
        [("<=", Self::AtMost), (">=", Self::AtLeast), ("<", Self::Below), (">", Self::Above)];
}

impl Veto {
    /// What was not measured is not vetoed.
    pub fn applies(&self, metrics: &Metrics) -> bool {
        metrics.get(&self.metric).is_some_and(|value| match self.comparison {
            Comparison::Below => value < self.bound,
            Comparison::AtMost => value <= self.bound,
            Comparison::Above => value > self.bound,
            Comparison::AtLeast => value >= self.bound,
        })
    }
}

impl FromStr for Veto {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let split = |(sign, comparison): &(&str, Comparison)| {
            text.split_once(sign).map(|(metric, bound)| (metric, *comparison, bound))
        };
        let (metric, comparison, bound) = Comparison::SIGNS.iter().find_map(split).ok_or(())?;
        let bound: f64 = bound.trim().parse().map_err(|_| ())?;
        if !bound.is_finite() {
            return Err(());
        }
        Ok(Self { metric: metric.trim().to_owned(), comparison, bound })
    }
}

impl fmt::Display for Veto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = Comparison::SIGNS.iter().find(|(_, comparison)| *comparison == self.comparison);
        let sign = sign.map_or("", |(sign, _)| sign);
        write!(f, "{} {sign} {}", self.metric, self.bound)
    }
}
