//! The network that a call sees. Each overrides the preset's own value.

use crate::group::group;
use crate::{Bandwidth, Millis, Percent};

group! {
    /// The network that a call sees. The host's own interfaces are never touched.
    pub struct Network = "Network of a call" {
        /// Delay added to every packet, in milliseconds.
        latency_ms: Option<Millis> = "NETWORK_LATENCY_MS";

        /// How much the delay varies, in milliseconds.
        jitter_ms: Option<Millis> = "NETWORK_JITTER_MS";

        /// Share of packets that get lost.
        packet_loss: Option<Percent> = "PACKET_LOSS";

        /// Share of packets that arrive twice.
        packet_duplication: Option<Percent> = "PACKET_DUPLICATION";

        /// The rate of the link.
        bandwidth_limit: Option<Bandwidth> = "BANDWIDTH_LIMIT";

        /// The lowest rate that generated presets may give the link.
        min_bandwidth: Option<Bandwidth> = "MIN_BANDWIDTH";

        /// The highest rate that generated presets may give the link.
        max_bandwidth: Option<Bandwidth> = "MAX_BANDWIDTH";
    }
}
