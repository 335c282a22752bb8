//! The network that a call sees. Each overrides the preset's own value.

use std::path::PathBuf;

use crate::group::group;
use crate::{Bandwidth, JsonRecords, Millis, NetworkPeer, Percent, Positive};

group! {
    /// The network that a call sees. The host's own interfaces are never touched.
    pub struct Network = "Network of a call" {
        /// Delay of every packet, one way, in milliseconds: a round trip takes twice as long.
        latency_ms: Option<Millis> = "NETWORK_LATENCY_MS";

        /// How much that delay varies in both directions, in milliseconds.
        jitter_ms: Option<Millis> = "NETWORK_JITTER_MS";

        /// Share of packets that get lost.
        packet_loss: Option<Percent> = "PACKET_LOSS";

        /// Share of packets that arrive twice.
        packet_duplication: Option<Percent> = "PACKET_DUPLICATION";

        /// The highest rate of the link.
        bandwidth_limit: Option<Positive<Bandwidth>> = "BANDWIDTH_LIMIT";

        /// The lowest rate of the link, for generated presets and for calls: each gets a rate
        /// between this and `MAX_BANDWIDTH`, by its seed.
        min_bandwidth: Option<Positive<Bandwidth>> = "MIN_BANDWIDTH";

        /// The highest rate of the link that a seed may choose.
        max_bandwidth: Option<Positive<Bandwidth>> = "MAX_BANDWIDTH";

        /// Hosts and ports that cannot be reached.
        partition: Option<Vec<NetworkPeer>> = "NETWORK_PARTITION";

        /// Answers for code that calls out, as a JSON list; an empty one gives everybody an empty
        /// answer.
        mocks: Option<JsonRecords> = "NETWORK_MOCKS";

        /// Recorded answers, written as `NETWORK_MOCKS` are; those come first.
        recordings: PathBuf = "SANDBOX_NETWORK_RECORDINGS"
            .default_in_data_dir("sandbox_data/network_recordings.json");
    }
}
