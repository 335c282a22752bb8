//! How many lags, differences and shocks a model has, and which of them are tried.
//!
//! Judging them belongs to [`super::select`]. Invariant: no order is beyond what the filter holds.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The order of an ARIMA model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Order {
    /// Autoregressive lags.
    pub p: usize,
    /// Differences.
    pub d: usize,
    /// Moving-average lags.
    pub q: usize,
}

impl Order {
    /// The most lags of one kind.
    pub const MOST_LAGS: usize = 3;
    /// The most differences.
    pub const MOST_DIFFERENCES: usize = 2;

    /// The order, cut down to what can be fitted.
    pub fn new(p: usize, d: usize, q: usize) -> Self {
        Self {
            p: p.min(Self::MOST_LAGS),
            d: d.min(Self::MOST_DIFFERENCES),
            q: q.min(Self::MOST_LAGS),
        }
    }

    /// The length of the state's stationary part.
    pub(super) fn span(self) -> usize {
        self.p.max(self.q + 1)
    }

    /// Whether the model has a constant: only when nothing is differenced.
    pub fn has_constant(self) -> bool {
        self.d == 0
    }

    /// Estimated numbers: coefficients, constant, variance.
    pub fn parameters(self) -> usize {
        self.p + self.q + usize::from(self.has_constant()) + 1
    }
}

impl fmt::Display for Order {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "({}, {}, {})", self.p, self.d, self.q)
    }
}

/// The largest order to try; all up to it are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    /// Autoregressive lags up to.
    pub p: usize,
    /// Differences up to.
    pub d: usize,
    /// Moving-average lags up to.
    pub q: usize,
}

impl Default for Grid {
    fn default() -> Self {
        Self { p: 2, d: 2, q: 2 }
    }
}

impl Grid {
    /// All orders of the grid, fewest differences first.
    pub fn orders(self) -> Vec<Order> {
        let mut orders = Vec::new();
        for d in 0..=self.d.min(Order::MOST_DIFFERENCES) {
            for p in 0..=self.p.min(Order::MOST_LAGS) {
                for q in 0..=self.q.min(Order::MOST_LAGS) {
                    orders.push(Order { p, d, q });
                }
            }
        }
        orders
    }
}
