//! Counts what the link did to a call.

use std::time::Duration;

use menace_model::{FaultMode, Felt};

use super::packet::Flow;
use super::shaper::Fate;

/// Packets that were lost, doubled or held up, and those that were cut off.
#[derive(Debug, Default)]
pub(super) struct Tally {
    seen: u64,
    struck: Strikes,
    severed: Strikes,
}

#[derive(Debug, Default)]
struct Strikes {
    count: u64,
    first: Option<String>,
    last: Option<Duration>,
}

impl Strikes {
    fn add(&mut self, now: Duration, flow: &Flow, what: &str) {
        self.count += 1;
        self.last = Some(now);
        if self.first.is_none() {
            self.first = Some(format!("{flow} {what}"));
        }
    }

    fn felt(self, mode: FaultMode, offered: u64) -> Felt {
        let last_ms = self.last.map(|last| last.as_secs_f64() * 1000.0);
        Felt { mode, offered, struck: self.count, first: self.first, last_ms }
    }
}

impl Tally {
    pub(super) fn add(&mut self, now: Duration, flow: &Flow, fate: Fate) {
        self.seen += 1;
        match fate {
            Fate::Severed => self.severed.add(now, flow, "was cut off"),
            Fate::Lost => self.struck.add(now, flow, "was lost"),
            Fate::Arrives { again: Some(_), .. } => self.struck.add(now, flow, "was doubled"),
            Fate::Arrives { at, .. } if at > now => self.struck.add(now, flow, "was held up"),
            Fate::Arrives { .. } => {}
        }
    }

    /// Of the link itself, and of the partition.
    pub(super) fn felt(self) -> [Felt; 2] {
        [
            self.struck.felt(FaultMode::Network, self.seen - self.severed.count),
            self.severed.felt(FaultMode::NetworkPartition, self.seen),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::tests::flow;
    use super::*;

    #[test]
    fn every_packet_is_offered_and_those_that_noticed_something_were_struck() {
        let mut tally = Tally::default();
        let (now, at) = (Duration::from_millis(5), Duration::from_millis(9));
        let fates = [
            Fate::Arrives { at: now, again: None },
            Fate::Lost,
            Fate::Severed,
            Fate::Arrives { at, again: None },
            Fate::Arrives { at, again: Some(at) },
        ];
        for fate in fates {
            tally.add(now, &flow(1, 2), fate);
        }
        let [link, partition] = tally.felt();
        assert_eq!((link.offered, link.struck, link.last_ms), (4, 3, Some(5.0)));
        assert_eq!(link.first.unwrap(), "UDP from 127.0.0.1:1 to 127.0.0.1:2 was lost");
        assert_eq!((partition.offered, partition.struck), (5, 1));
    }

    #[test]
    fn nothing_felt_is_nothing_said() {
        let [link, partition] = Tally::default().felt();
        assert_eq!((link.offered, link.struck, link.first, link.last_ms), (0, 0, None, None));
        assert_eq!((partition.mode, partition.struck), (FaultMode::NetworkPartition, 0));
    }
}
