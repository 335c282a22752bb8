//! Counts the packets of a call that the link lost, duplicated, delayed or cut off.

use std::time::Duration;

use menace_model::{FaultMode, FaultStats};

use super::packet::PacketFlow;
use super::shaper::PacketFate;

/// Packets in all, those that were lost, duplicated or delayed (`shaped`), and those that the
/// partition dropped.
#[derive(Debug, Default)]
pub(super) struct LinkFaultCounts {
    packets: u64,
    shaped: PacketFaultCount,
    partitioned: PacketFaultCount,
}

#[derive(Debug, Default)]
struct PacketFaultCount {
    count: u64,
    first: Option<String>,
    last: Option<Duration>,
}

impl PacketFaultCount {
    fn record(&mut self, now: Duration, flow: &PacketFlow, what: &str) {
        self.count += 1;
        self.last = Some(now);
        if self.first.is_none() {
            self.first = Some(format!("{flow} {what}"));
        }
    }

    fn into_fault_stats(self, mode: FaultMode, offered: u64) -> FaultStats {
        let last_ms = self.last.map(|last| last.as_secs_f64() * 1000.0);
        FaultStats {
            mode,
            opportunities: offered,
            injected: self.count,
            first_injected: self.first,
            last_injected_ms: last_ms,
        }
    }
}

impl LinkFaultCounts {
    pub(super) fn record(&mut self, now: Duration, flow: &PacketFlow, fate: PacketFate) {
        self.packets += 1;
        match fate {
            PacketFate::Partitioned => self.partitioned.record(now, flow, "was cut off"),
            PacketFate::Lost => self.shaped.record(now, flow, "was lost"),
            PacketFate::Arrives { duplicate_at: Some(_), .. } => {
                self.shaped.record(now, flow, "was doubled");
            }
            PacketFate::Arrives { arrives_at: at, .. } if at > now => {
                self.shaped.record(now, flow, "was held up");
            }
            PacketFate::Arrives { .. } => {}
        }
    }

    /// The figures of `network` and of `network_partition`, in this order.
    pub(super) fn into_fault_stats(self) -> [FaultStats; 2] {
        [
            self.shaped.into_fault_stats(FaultMode::Network, self.packets - self.partitioned.count),
            self.partitioned.into_fault_stats(FaultMode::NetworkPartition, self.packets),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::tests::udp_flow;
    use super::*;

    #[test]
    fn every_packet_is_an_opportunity_and_affected_ones_are_injected() {
        let mut tally = LinkFaultCounts::default();
        let (now, at) = (Duration::from_millis(5), Duration::from_millis(9));
        let fates = [
            PacketFate::Arrives { arrives_at: now, duplicate_at: None },
            PacketFate::Lost,
            PacketFate::Partitioned,
            PacketFate::Arrives { arrives_at: at, duplicate_at: None },
            PacketFate::Arrives { arrives_at: at, duplicate_at: Some(at) },
        ];
        for fate in fates {
            tally.record(now, &udp_flow(1, 2), fate);
        }
        let [link, partition] = tally.into_fault_stats();
        assert_eq!((link.opportunities, link.injected, link.last_injected_ms), (4, 3, Some(5.0)));
        assert_eq!(link.first_injected.unwrap(), "UDP from 127.0.0.1:1 to 127.0.0.1:2 was lost");
        assert_eq!((partition.opportunities, partition.injected), (5, 1));
    }

    #[test]
    fn without_packets_there_are_no_fault_stats() {
        let [link, partition] = LinkFaultCounts::default().into_fault_stats();
        assert_eq!(
            (link.opportunities, link.injected, link.first_injected, link.last_injected_ms),
            (0, 0, None, None)
        );
        assert_eq!((partition.mode, partition.injected), (FaultMode::NetworkPartition, 0));
    }
}
