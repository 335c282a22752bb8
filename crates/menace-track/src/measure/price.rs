//! Prices of resources and the value of a successful call, in credits.

use serde::{Deserialize, Serialize};

use crate::tally::CallCosts;

const BYTES_PER_GIB: f64 = (1u64 << 30) as f64;
const SECONDS_PER_NANOSECOND: f64 = 1e-9;
const JOULES_PER_KWH: f64 = 3.6e6;
/// Waiting that is not charged: on a busy machine a call waits this long for the processor.
const FREE_WAIT_S: f64 = 0.01;

/// Prices in credits; a second of a processor costs one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResourcePrices {
    pub cpu_second: f64,
    /// One GiB of memory for one second.
    pub gib_second: f64,
    /// One GiB read or written.
    pub io_gib: f64,
    /// One second in which the call waits and the processor is free.
    pub wait_second: f64,
    pub kwh: f64,
    /// The value of an answered call.
    pub successful_call: f64,
}

impl Default for ResourcePrices {
    fn default() -> Self {
        Self {
            cpu_second: 1.0,
            gib_second: 0.1,
            io_gib: 0.5,
            wait_second: 0.1,
            kwh: 100.0,
            successful_call: 0.1,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallCostModel {
    /// The cost at which a call is half as efficient as a free one.
    pub per_call: f64,
    /// Power of a busy core, used where there is no meter.
    pub watts_per_core: f64,
}

impl Default for CallCostModel {
    fn default() -> Self {
        Self { per_call: 0.01, watts_per_core: 10.0 }
    }
}

/// The usage of a typical call.
#[derive(Debug, Clone, Copy)]
pub(super) struct TypicalCallUsage {
    cpu_s: f64,
    pub(super) wall_s: f64,
    wait_s: f64,
    memory_gib: f64,
    io_gib: f64,
}

impl TypicalCallUsage {
    /// `None` when no call was answered.
    pub(super) fn from_costs(costs: &CallCosts) -> Option<Self> {
        // The lower quartile, since delays only ever add to the difference.
        let least = costs.wall_ns.quantile(25)? as f64 - costs.cpu_ns.quantile(25)? as f64;
        Some(Self {
            cpu_s: costs.cpu_ns.median()? as f64 * SECONDS_PER_NANOSECOND,
            wall_s: costs.wall_ns.median()? as f64 * SECONDS_PER_NANOSECOND,
            wait_s: (least * SECONDS_PER_NANOSECOND - FREE_WAIT_S).max(0.0),
            memory_gib: costs.memory_bytes.median()? as f64 / BYTES_PER_GIB,
            io_gib: costs.io_bytes.median()? as f64 / BYTES_PER_GIB,
        })
    }

    pub(super) fn cost(&self, prices: &ResourcePrices) -> f64 {
        let busy_s = self.cpu_s + self.wait_s;
        self.cpu_s * prices.cpu_second
            + self.memory_gib * busy_s * prices.gib_second
            + self.io_gib * prices.io_gib
            + self.wait_s * prices.wait_second
    }
}

pub(super) fn energy_cost(joules: f64, prices: &ResourcePrices) -> f64 {
    joules / JOULES_PER_KWH * prices.kwh
}
