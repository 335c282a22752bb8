//! The network that a call sees. Each overrides the preset's own value.

use std::path::PathBuf;

use menace_model::PartitionPeer;

use crate::group::group;
use crate::{JsonRecords, MillisDuration, NetworkBandwidth, PercentShare, PositiveAmount};

group! {
    /// The network that a call sees. The host's own interfaces are never touched.
    pub struct NetworkSettings = "Network of a call" {
        /// Delay of every packet, one way, in milliseconds: a round trip takes twice as long.
        latency_ms: Option<MillisDuration> = "NETWORK_LATENCY_MS".repository();

        /// How much that delay varies in both directions, in milliseconds.
        jitter_ms: Option<MillisDuration> = "NETWORK_JITTER_MS".repository();

        /// Share of packets that get lost.
        packet_loss: Option<PercentShare> = "PACKET_LOSS".repository();

        /// Share of packets that arrive twice.
        packet_duplication: Option<PercentShare> = "PACKET_DUPLICATION".repository();

        /// The highest rate of the link.
        bandwidth_limit: Option<PositiveAmount<NetworkBandwidth>> = "BANDWIDTH_LIMIT".repository();

        /// The lowest rate of the link, for generated presets and for calls: each gets a rate
        /// between this and `MAX_BANDWIDTH`, by its seed.
        min_bandwidth: Option<PositiveAmount<NetworkBandwidth>> = "MIN_BANDWIDTH".repository();

        /// The highest rate of the link that a seed may choose.
        max_bandwidth: Option<PositiveAmount<NetworkBandwidth>> = "MAX_BANDWIDTH".repository();

        /// Hosts and ports that cannot be reached.
        partition: Option<Vec<PartitionPeer>> = "NETWORK_PARTITION".repository();

        /// Answers for code that calls upstreams, as a JSON list; with an empty one every request
        /// gets an empty answer.
        mocks: Option<JsonRecords> = "NETWORK_MOCKS".repository();

        /// Recorded answers, written as `NETWORK_MOCKS` are; those come first.
        recordings: PathBuf = "SANDBOX_NETWORK_RECORDINGS".path_inside()
            .default_in_data_dir("sandbox_data/network_recordings.json");
    }
}
