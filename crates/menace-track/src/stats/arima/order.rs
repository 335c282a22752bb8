//! The order of a model, and the orders that are tried.
//!
//! [`super::select`] compares them. Invariant: no order is larger than the filter supports.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The order of an ARIMA model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ArimaOrder {
    /// Autoregressive lags.
    pub p: usize,
    /// Differences.
    pub d: usize,
    /// Moving-average lags.
    pub q: usize,
}

impl ArimaOrder {
    /// The most lags of one kind.
    pub const MAX_LAGS: usize = 3;
    /// The most differences.
    pub const MAX_DIFFERENCES: usize = 2;

    /// The order, reduced to what can be fitted.
    pub fn new(p: usize, d: usize, q: usize) -> Self {
        Self { p: p.min(Self::MAX_LAGS), d: d.min(Self::MAX_DIFFERENCES), q: q.min(Self::MAX_LAGS) }
    }

    /// The length of the state's stationary part.
    pub(super) fn span(self) -> usize {
        self.p.max(self.q + 1)
    }

    /// Whether the model has a constant: only when nothing is differenced.
    pub fn has_constant(self) -> bool {
        self.d == 0
    }

    /// Number of estimated parameters: coefficients, constant, variance.
    pub fn parameter_count(self) -> usize {
        self.p + self.q + usize::from(self.has_constant()) + 1
    }
}

impl fmt::Display for ArimaOrder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "({}, {}, {})", self.p, self.d, self.q)
    }
}

/// The largest ARIMA order of the search; all orders up to it are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArimaOrderGrid {
    /// The most autoregressive lags.
    pub p: usize,
    /// The most differences.
    pub d: usize,
    /// The most moving-average lags.
    pub q: usize,
}

impl Default for ArimaOrderGrid {
    fn default() -> Self {
        Self { p: 2, d: 2, q: 2 }
    }
}

impl ArimaOrderGrid {
    /// All orders of the grid, fewest differences first.
    pub fn orders(self) -> Vec<ArimaOrder> {
        let mut orders = Vec::new();
        for d in 0..=self.d.min(ArimaOrder::MAX_DIFFERENCES) {
            for p in 0..=self.p.min(ArimaOrder::MAX_LAGS) {
                for q in 0..=self.q.min(ArimaOrder::MAX_LAGS) {
                    orders.push(ArimaOrder { p, d, q });
                }
            }
        }
        orders
    }
}
