//! Simulates a bad link: which packets are lost, delayed, duplicated or cut off.
//!
//! Pure: packets and times in, times out. Times count from the beginning of the call.
//!
//! Invariants: the packets of a flow never overtake each other, and whether the nth packet of the
//! nth flow is lost or duplicated depends on the seed alone.

use std::collections::HashMap;
use std::time::Duration;

use menace_model::{NetworkConditions, Seed, SeededRng};

use super::packet::PacketFlow;
use super::partition::LinkPartition;

/// The most flows with a random generator of their own; the rest share one.
const MAX_TRACKED_FLOWS: usize = 1 << 16;
/// The longest delay: longer than any call, and short enough that sums do not overflow.
const MAX_DELAY: Duration = Duration::from_hours(24 * 365);

#[derive(Debug)]
pub(super) struct LinkShaper {
    loss: f64,
    duplication: f64,
    delay: LinkDelay,
    pipe: LinkBandwidth,
    partition: LinkPartition,
    flows: FlowTable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PacketFate {
    /// The partition separates sender and receiver.
    Partitioned,
    Lost,
    /// Arrives at this time, and if duplicated once more at the other.
    Arrives {
        arrives_at: Duration,
        duplicate_at: Option<Duration>,
    },
}

impl LinkShaper {
    pub(super) fn new(network: &NetworkConditions, partition: LinkPartition, seed: Seed) -> Self {
        let (latency, jitter) =
            (millis_to_duration(network.latency_ms), millis_to_duration(network.jitter_ms));
        Self {
            loss: network.loss,
            duplication: network.duplication,
            delay: LinkDelay { latency, jitter },
            pipe: LinkBandwidth {
                bits_per_second: network.bits_per_second,
                idle_from: Duration::ZERO,
            },
            partition,
            flows: FlowTable { seed: seed.derive("network"), states: HashMap::new() },
        }
    }

    /// Decides about a packet of `bytes` bytes that is sent now.
    pub(super) fn shape(&mut self, now: Duration, flow: &PacketFlow, bytes: usize) -> PacketFate {
        if self.partition.is_partitioned(flow) {
            return PacketFate::Partitioned;
        }
        let course = self.flows.state_of(flow);
        // All three numbers are drawn for every packet, so that changing the loss does not change
        // which packets are duplicated.
        let (loss, duplication, delay) =
            (course.rng.next_unit(), course.rng.next_unit(), course.rng.next_unit());
        if loss < self.loss {
            return PacketFate::Lost;
        }
        let delay = self.delay.sample(delay);
        let mut arrival =
            |not_before: Duration| (self.pipe.transmit(now, bytes) + delay).max(not_before);
        let at = arrival(course.last_arrival);
        let again = (duplication < self.duplication).then(|| arrival(at));
        course.last_arrival = again.unwrap_or(at);
        PacketFate::Arrives { arrives_at: at, duplicate_at: again }
    }
}

/// NaN, negative and infinite values become zero.
fn millis_to_duration(millis: f64) -> Duration {
    Duration::try_from_secs_f64(millis / 1000.0).unwrap_or_default().min(MAX_DELAY)
}

#[derive(Debug)]
struct LinkDelay {
    latency: Duration,
    jitter: Duration,
}

impl LinkDelay {
    /// Uniform between latency − jitter and latency + jitter, never negative; `luck` is from 0 to
    /// 1.
    fn sample(&self, luck: f64) -> Duration {
        (self.latency + self.jitter.mul_f64(2.0 * luck)).saturating_sub(self.jitter)
    }
}

/// The bandwidth of the link, which all flows share: packets are sent one after the other.
#[derive(Debug)]
struct LinkBandwidth {
    bits_per_second: Option<u64>,
    /// When all packets so far have been sent.
    idle_from: Duration,
}

impl LinkBandwidth {
    /// When a packet that is handed over now has been sent.
    fn transmit(&mut self, now: Duration, bytes: usize) -> Duration {
        let takes = self.bits_per_second.map_or(Duration::ZERO, |rate| {
            let nanos = bytes as u128 * 8 * 1_000_000_000 / u128::from(rate.max(1));
            Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).min(MAX_DELAY)
        });
        self.idle_from = (self.idle_from.max(now) + takes).min(MAX_DELAY);
        self.idle_from
    }
}

#[derive(Debug)]
struct FlowTable {
    seed: Seed,
    states: HashMap<PacketFlow, FlowState>,
}

/// The state of one flow.
#[derive(Debug)]
struct FlowState {
    rng: SeededRng,
    /// When the last packet of the flow arrives; the next one does not arrive earlier.
    last_arrival: Duration,
}

impl FlowTable {
    /// A flow is seeded by its number in the order of first packets: ports would differ from run to
    /// run.
    fn state_of(&mut self, flow: &PacketFlow) -> &mut FlowState {
        let number = self.states.len();
        let is_one_too_many = number >= MAX_TRACKED_FLOWS && !self.states.contains_key(flow);
        let flow = if is_one_too_many { PacketFlow::UNKNOWN } else { *flow };
        let seed = self.seed.derive_nth(number as u64);
        let fresh = || FlowState { rng: seed.rng(), last_arrival: Duration::ZERO };
        self.states.entry(flow).or_insert_with(fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::tests::udp_flow;
    use super::*;

    const CALL_START: Duration = Duration::ZERO;

    fn shaper(network: &NetworkConditions, seed: u64) -> LinkShaper {
        let partition = LinkPartition::new(&network.partition, "");
        LinkShaper::new(network, partition, Seed(seed))
    }

    fn millis(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// The fates of packets of a thousand bytes that are all sent at once.
    fn shape_packets(
        network: &NetworkConditions,
        seed: u64,
        flow: PacketFlow,
        count: usize,
    ) -> Vec<PacketFate> {
        let mut shaper = shaper(network, seed);
        (0..count).map(|_| shaper.shape(CALL_START, &flow, 1000)).collect()
    }

    /// For each packet, how often it arrives.
    fn arrived_packets(fates: &[PacketFate]) -> Vec<usize> {
        let count = |fate: &PacketFate| match fate {
            PacketFate::Partitioned | PacketFate::Lost => 0,
            PacketFate::Arrives { duplicate_at: again, .. } => 1 + usize::from(again.is_some()),
        };
        fates.iter().map(count).collect()
    }

    #[test]
    fn a_perfect_link_does_nothing() {
        for fate in shape_packets(&NetworkConditions::default(), 1, udp_flow(1, 2), 100) {
            assert_eq!(fate, PacketFate::Arrives { arrives_at: CALL_START, duplicate_at: None });
        }
    }

    #[test]
    fn latency_is_the_same_for_all() {
        let mut shaper =
            shaper(&NetworkConditions { latency_ms: 12.5, ..NetworkConditions::default() }, 1);
        for now in [0, 1, 40].map(millis) {
            let fate = shaper.shape(now, &udp_flow(1, 2), 1500);
            let at = now + Duration::from_micros(12_500);
            assert_eq!(fate, PacketFate::Arrives { arrives_at: at, duplicate_at: None });
        }
    }

    #[test]
    fn jitter_goes_both_ways_and_reorders_no_flow() {
        let network =
            NetworkConditions { latency_ms: 50.0, jitter_ms: 20.0, ..NetworkConditions::default() };
        let mut shaper = shaper(&network, 3);
        let (mut delays, mut last) = (Vec::new(), CALL_START);
        for number in 0..1000 {
            // The packets are too far apart for the rule against overtaking to matter.
            let now = millis(100 * number);
            let PacketFate::Arrives { arrives_at: at, .. } =
                shaper.shape(now, &udp_flow(1, 2), 100)
            else {
                panic!()
            };
            delays.push(at.saturating_sub(now).as_secs_f64() * 1000.0);
            assert!(at >= last);
            last = at;
        }
        assert!(delays.iter().all(|delay| (30.0..=70.0).contains(delay)));
        let share = |from: f64, to: f64| {
            delays.iter().filter(|delay| (from..to).contains(*delay)).count() / 100
        };
        // Uniform: a quarter in each quarter.
        assert_eq!(
            [(30., 40.), (40., 50.), (50., 60.), (60., 70.)].map(|r| share(r.0, r.1)),
            [2; 4]
        );
        let fates = shape_packets(&network, 3, udp_flow(1, 2), 1000);
        let times = fates.iter().map(|fate| match fate {
            PacketFate::Arrives { arrives_at: at, .. } => *at,
            other => panic!("{other:?}"),
        });
        assert!(times.is_sorted());
    }

    #[test]
    fn jitter_beyond_the_latency_never_goes_back_in_time() {
        let network =
            NetworkConditions { latency_ms: 1.0, jitter_ms: 20.0, ..NetworkConditions::default() };
        let mut shaper = shaper(&network, 3);
        for number in 0..100 {
            let now = millis(100 * number);
            let PacketFate::Arrives { arrives_at: at, .. } =
                shaper.shape(now, &udp_flow(1, 2), 100)
            else {
                panic!()
            };
            assert!((now..=now + millis(21)).contains(&at));
        }
    }

    #[test]
    fn packets_are_lost_and_doubled_in_their_share_and_by_the_seed() {
        let network =
            NetworkConditions { loss: 0.2, duplication: 0.1, ..NetworkConditions::default() };
        let of = |seed| arrived_packets(&shape_packets(&network, seed, udp_flow(1, 2), 10_000));
        let first = of(1);
        let share = |times: usize| first.iter().filter(|&&count| count == times).count();
        assert!((1900..2100).contains(&share(0)), "{} lost", share(0));
        assert!((720..880).contains(&share(2)), "{} doubled", share(2));
        assert_eq!(first, of(1));
        assert_ne!(first, of(2));
    }

    #[test]
    fn the_ends_of_the_scale_are_meant() {
        let all_lost = NetworkConditions { loss: 1.0, ..NetworkConditions::default() };
        assert_eq!(arrived_packets(&shape_packets(&all_lost, 1, udp_flow(1, 2), 100)), [0; 100]);
        let all_doubled = NetworkConditions { duplication: 1.0, ..NetworkConditions::default() };
        assert_eq!(arrived_packets(&shape_packets(&all_doubled, 1, udp_flow(1, 2), 100)), [2; 100]);
    }

    #[test]
    fn one_figure_does_not_change_what_another_one_does() {
        let lossy = NetworkConditions { loss: 0.3, ..NetworkConditions::default() };
        let worse = NetworkConditions {
            latency_ms: 10.0,
            jitter_ms: 5.0,
            duplication: 0.5,
            bits_per_second: Some(1_000_000),
            ..lossy.clone()
        };
        let lost = |network| {
            let arrived = arrived_packets(&shape_packets(network, 1, udp_flow(1, 2), 1000));
            arrived.iter().map(|&count| count == 0).collect::<Vec<_>>()
        };
        assert_eq!(lost(&lossy), lost(&worse));
    }

    #[test]
    fn luck_goes_by_the_order_of_flows_and_not_by_their_ports() {
        let network = NetworkConditions { loss: 0.5, ..NetworkConditions::default() };
        let run = |ports: [u16; 2], turns: &[usize]| {
            let mut shaper = shaper(&network, 1);
            let mut fates = [Vec::new(), Vec::new()];
            for &turn in turns {
                let fate = shaper.shape(CALL_START, &udp_flow(ports[turn], 80), 100);
                fates[turn].push(fate == PacketFate::Lost);
            }
            fates
        };
        let one_by_one = [[0; 50], [1; 50]].concat();
        let in_turn = [0, 1].repeat(50);
        assert_eq!(run([1000, 2000], &one_by_one), run([4000, 3000], &in_turn));
        let [first, second] = run([1000, 2000], &in_turn);
        assert_ne!(first, second);
    }

    #[test]
    fn a_narrow_link_sends_one_after_the_other() {
        // A thousand bytes in eight milliseconds.
        let network = NetworkConditions {
            latency_ms: 5.0,
            bits_per_second: Some(1_000_000),
            ..NetworkConditions::default()
        };
        let mut shaper = shaper(&network, 1);
        let mut at = |now, bytes| match shaper.shape(millis(now), &udp_flow(1, 2), bytes) {
            PacketFate::Arrives { arrives_at: at, .. } => at,
            other => panic!("{other:?}"),
        };
        assert_eq!([at(0, 1000), at(0, 1000), at(10, 500)], [13, 21, 25].map(millis));
        // Idle time is not saved up: after a break the link is as slow as before.
        assert_eq!([at(100, 1000), at(100, 1000)], [113, 121].map(millis));
    }

    #[test]
    fn what_is_sent_twice_takes_twice_as_long() {
        let network = NetworkConditions {
            duplication: 1.0,
            bits_per_second: Some(1_000_000),
            ..NetworkConditions::default()
        };
        let of = |ms, again| PacketFate::Arrives {
            arrives_at: millis(ms),
            duplicate_at: Some(millis(again)),
        };
        assert_eq!(shape_packets(&network, 1, udp_flow(1, 2), 2), [of(8, 16), of(24, 32)]);
    }

    #[test]
    fn a_partitioned_peer_gets_nothing_and_delays_no_other() {
        let cut = menace_model::PartitionPeer { host: None, port: Some(80) };
        let network = NetworkConditions {
            loss: 0.5,
            bits_per_second: Some(1000),
            partition: vec![cut],
            ..NetworkConditions::default()
        };
        let mut shaper = shaper(&network, 1);
        for _ in 0..100 {
            assert_eq!(shaper.shape(CALL_START, &udp_flow(9, 80), 1000), PacketFate::Partitioned);
        }
        let alone = NetworkConditions { partition: Vec::new(), ..network };
        let fate = shaper.shape(CALL_START, &udp_flow(9, 81), 1000);
        assert_eq!(fate, shape_packets(&alone, 1, udp_flow(9, 81), 1)[0]);
    }

    #[test]
    fn absurd_figures_are_survived() {
        for figure in [f64::NAN, f64::INFINITY, -1.0, f64::MAX, 1e12] {
            for rate in [0, 1, u64::MAX] {
                let network = NetworkConditions {
                    latency_ms: figure,
                    jitter_ms: figure,
                    loss: figure,
                    duplication: figure,
                    bits_per_second: Some(rate),
                    partition: Vec::new(),
                };
                let _ = shape_packets(&network, 1, udp_flow(1, 2), 100);
            }
        }
    }

    #[test]
    fn however_many_flows_there_are_memory_is_not() {
        let mut shaper =
            shaper(&NetworkConditions { loss: 0.1, ..NetworkConditions::default() }, 1);
        for from in 0..=u16::MAX {
            for to in [80, 81] {
                shaper.shape(CALL_START, &udp_flow(from, to), 100);
            }
        }
        assert!(shaper.flows.states.len() <= MAX_TRACKED_FLOWS + 1);
    }
}
