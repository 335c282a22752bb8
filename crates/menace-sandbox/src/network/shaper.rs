//! What a bad link does to packets: who arrives when, how often, and who never does.
//!
//! Pure: packets and times in, times out. Times count from the beginning of the call.
//!
//! Invariants: the packets of a flow never overtake each other, and whether the nth packet of the
//! nth flow is lost or doubled depends on the seed and on nothing else.

use std::collections::HashMap;
use std::time::Duration;

use menace_model::{Network, Random, Seed};

use super::packet::Flow;
use super::partition::Partition;

/// So many flows have luck of their own; the rest share it.
const FLOWS: usize = 1 << 16;
/// Longer than any call; keeps sums of times from overflowing.
const FOREVER: Duration = Duration::from_hours(24 * 365);

#[derive(Debug)]
pub(super) struct Shaper {
    loss: f64,
    duplication: f64,
    delay: Delay,
    pipe: Pipe,
    partition: Partition,
    flows: Flows,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Between two who cannot reach each other.
    Severed,
    Lost,
    /// At this time, and perhaps once more at another.
    Arrives {
        at: Duration,
        again: Option<Duration>,
    },
}

impl Shaper {
    pub(super) fn new(network: &Network, partition: Partition, seed: Seed) -> Self {
        let (latency, jitter) = (duration(network.latency_ms), duration(network.jitter_ms));
        Self {
            loss: network.loss,
            duplication: network.duplication,
            delay: Delay { latency, jitter },
            pipe: Pipe { bits_per_second: network.bits_per_second, idle_at: Duration::ZERO },
            partition,
            flows: Flows { seed: seed.of("network"), known: HashMap::new() },
        }
    }

    /// Decides about a packet of so many bytes that is sent now.
    pub(super) fn judge(&mut self, now: Duration, flow: &Flow, bytes: usize) -> Fate {
        if self.partition.severs(flow) {
            return Fate::Severed;
        }
        let course = self.flows.course(flow);
        // All are drawn in any case, so that one figure does not change what another one does.
        let (loss, doubling, delay) = (course.luck.unit(), course.luck.unit(), course.luck.unit());
        if loss < self.loss {
            return Fate::Lost;
        }
        let delay = self.delay.of(delay);
        let mut arrival =
            |not_before: Duration| (self.pipe.transmitted(now, bytes) + delay).max(not_before);
        let at = arrival(course.last);
        let again = (doubling < self.duplication).then(|| arrival(at));
        course.last = again.unwrap_or(at);
        Fate::Arrives { at, again }
    }
}

/// What is not a time is none.
fn duration(millis: f64) -> Duration {
    Duration::try_from_secs_f64(millis / 1000.0).unwrap_or_default().min(FOREVER)
}

#[derive(Debug)]
struct Delay {
    latency: Duration,
    jitter: Duration,
}

impl Delay {
    /// From latency less jitter to latency plus jitter, for luck from 0 to 1; never negative.
    fn of(&self, luck: f64) -> Duration {
        (self.latency + self.jitter.mul_f64(2.0 * luck)).saturating_sub(self.jitter)
    }
}

/// Sends one packet after the other, however many flows there are.
#[derive(Debug)]
struct Pipe {
    bits_per_second: Option<u64>,
    /// When it has sent all that it was given.
    idle_at: Duration,
}

impl Pipe {
    /// When it has sent a packet that it is given now.
    fn transmitted(&mut self, now: Duration, bytes: usize) -> Duration {
        let takes = self.bits_per_second.map_or(Duration::ZERO, |rate| {
            let nanos = bytes as u128 * 8 * 1_000_000_000 / u128::from(rate.max(1));
            Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).min(FOREVER)
        });
        self.idle_at = (self.idle_at.max(now) + takes).min(FOREVER);
        self.idle_at
    }
}

#[derive(Debug)]
struct Flows {
    seed: Seed,
    known: HashMap<Flow, Course>,
}

/// What is known about one flow.
#[derive(Debug)]
struct Course {
    luck: Random,
    /// When its last packet arrives.
    last: Duration,
}

impl Flows {
    /// Ports are anybody's guess; which flow came first is not. So that is what luck goes by.
    fn course(&mut self, flow: &Flow) -> &mut Course {
        let number = self.known.len();
        let is_one_too_many = number >= FLOWS && !self.known.contains_key(flow);
        let flow = if is_one_too_many { Flow::UNKNOWN } else { *flow };
        let seed = self.seed.nth(number as u64);
        let fresh = || Course { luck: seed.random(), last: Duration::ZERO };
        self.known.entry(flow).or_insert_with(fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::tests::flow;
    use super::*;

    const START: Duration = Duration::ZERO;

    fn shaper(network: &Network, seed: u64) -> Shaper {
        let partition = Partition::new(&network.partition, "");
        Shaper::new(network, partition, Seed(seed))
    }

    fn millis(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// What happens to packets of a thousand bytes that are all sent at once.
    fn fates(network: &Network, seed: u64, flow: Flow, count: usize) -> Vec<Fate> {
        let mut shaper = shaper(network, seed);
        (0..count).map(|_| shaper.judge(START, &flow, 1000)).collect()
    }

    /// For each packet, how often it arrives.
    fn arrivals(fates: &[Fate]) -> Vec<usize> {
        let count = |fate: &Fate| match fate {
            Fate::Severed | Fate::Lost => 0,
            Fate::Arrives { again, .. } => 1 + usize::from(again.is_some()),
        };
        fates.iter().map(count).collect()
    }

    #[test]
    fn a_perfect_link_does_nothing() {
        for fate in fates(&Network::default(), 1, flow(1, 2), 100) {
            assert_eq!(fate, Fate::Arrives { at: START, again: None });
        }
    }

    #[test]
    fn latency_is_the_same_for_all() {
        let mut shaper = shaper(&Network { latency_ms: 12.5, ..Network::default() }, 1);
        for now in [0, 1, 40].map(millis) {
            let fate = shaper.judge(now, &flow(1, 2), 1500);
            let at = now + Duration::from_micros(12_500);
            assert_eq!(fate, Fate::Arrives { at, again: None });
        }
    }

    #[test]
    fn jitter_goes_both_ways_and_reorders_no_flow() {
        let network = Network { latency_ms: 50.0, jitter_ms: 20.0, ..Network::default() };
        let mut shaper = shaper(&network, 3);
        let (mut delays, mut last) = (Vec::new(), START);
        for number in 0..1000 {
            // Too far apart for the order to matter.
            let now = millis(100 * number);
            let Fate::Arrives { at, .. } = shaper.judge(now, &flow(1, 2), 100) else { panic!() };
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
        let fates = fates(&network, 3, flow(1, 2), 1000);
        let times = fates.iter().map(|fate| match fate {
            Fate::Arrives { at, .. } => *at,
            other => panic!("{other:?}"),
        });
        assert!(times.is_sorted());
    }

    #[test]
    fn jitter_beyond_the_latency_never_goes_back_in_time() {
        let network = Network { latency_ms: 1.0, jitter_ms: 20.0, ..Network::default() };
        let mut shaper = shaper(&network, 3);
        for number in 0..100 {
            let now = millis(100 * number);
            let Fate::Arrives { at, .. } = shaper.judge(now, &flow(1, 2), 100) else { panic!() };
            assert!((now..=now + millis(21)).contains(&at));
        }
    }

    #[test]
    fn packets_are_lost_and_doubled_in_their_share_and_by_the_seed() {
        let network = Network { loss: 0.2, duplication: 0.1, ..Network::default() };
        let of = |seed| arrivals(&fates(&network, seed, flow(1, 2), 10_000));
        let first = of(1);
        let share = |times: usize| first.iter().filter(|&&count| count == times).count();
        assert!((1900..2100).contains(&share(0)), "{} lost", share(0));
        assert!((720..880).contains(&share(2)), "{} doubled", share(2));
        assert_eq!(first, of(1));
        assert_ne!(first, of(2));
    }

    #[test]
    fn the_ends_of_the_scale_are_meant() {
        let all_lost = Network { loss: 1.0, ..Network::default() };
        assert_eq!(arrivals(&fates(&all_lost, 1, flow(1, 2), 100)), [0; 100]);
        let all_doubled = Network { duplication: 1.0, ..Network::default() };
        assert_eq!(arrivals(&fates(&all_doubled, 1, flow(1, 2), 100)), [2; 100]);
    }

    #[test]
    fn one_figure_does_not_change_what_another_one_does() {
        let lossy = Network { loss: 0.3, ..Network::default() };
        let worse = Network {
            latency_ms: 10.0,
            jitter_ms: 5.0,
            duplication: 0.5,
            bits_per_second: Some(1_000_000),
            ..lossy.clone()
        };
        let lost = |network| {
            let arrived = arrivals(&fates(network, 1, flow(1, 2), 1000));
            arrived.iter().map(|&count| count == 0).collect::<Vec<_>>()
        };
        assert_eq!(lost(&lossy), lost(&worse));
    }

    #[test]
    fn luck_goes_by_the_order_of_flows_and_not_by_their_ports() {
        let network = Network { loss: 0.5, ..Network::default() };
        let run = |ports: [u16; 2], turns: &[usize]| {
            let mut shaper = shaper(&network, 1);
            let mut fates = [Vec::new(), Vec::new()];
            for &turn in turns {
                let fate = shaper.judge(START, &flow(ports[turn], 80), 100);
                fates[turn].push(fate == Fate::Lost);
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
        let network =
            Network { latency_ms: 5.0, bits_per_second: Some(1_000_000), ..Network::default() };
        let mut shaper = shaper(&network, 1);
        let mut at = |now, bytes| match shaper.judge(millis(now), &flow(1, 2), bytes) {
            Fate::Arrives { at, .. } => at,
            other => panic!("{other:?}"),
        };
        assert_eq!([at(0, 1000), at(0, 1000), at(10, 500)], [13, 21, 25].map(millis));
        // Once it is idle, nothing is saved up.
        assert_eq!([at(100, 1000), at(100, 1000)], [113, 121].map(millis));
    }

    #[test]
    fn what_is_sent_twice_takes_twice_as_long() {
        let network =
            Network { duplication: 1.0, bits_per_second: Some(1_000_000), ..Network::default() };
        let of = |ms, again| Fate::Arrives { at: millis(ms), again: Some(millis(again)) };
        assert_eq!(fates(&network, 1, flow(1, 2), 2), [of(8, 16), of(24, 32)]);
    }

    #[test]
    fn who_is_cut_off_gets_nothing_and_costs_others_nothing() {
        let cut = menace_model::Peer { host: None, port: Some(80) };
        let network = Network {
            loss: 0.5,
            bits_per_second: Some(1000),
            partition: vec![cut],
            ..Network::default()
        };
        let mut shaper = shaper(&network, 1);
        for _ in 0..100 {
            assert_eq!(shaper.judge(START, &flow(9, 80), 1000), Fate::Severed);
        }
        let alone = Network { partition: Vec::new(), ..network };
        let fate = shaper.judge(START, &flow(9, 81), 1000);
        assert_eq!(fate, fates(&alone, 1, flow(9, 81), 1)[0]);
    }

    #[test]
    fn absurd_figures_are_survived() {
        for figure in [f64::NAN, f64::INFINITY, -1.0, f64::MAX, 1e12] {
            for rate in [0, 1, u64::MAX] {
                let network = Network {
                    latency_ms: figure,
                    jitter_ms: figure,
                    loss: figure,
                    duplication: figure,
                    bits_per_second: Some(rate),
                    partition: Vec::new(),
                };
                let _ = fates(&network, 1, flow(1, 2), 100);
            }
        }
    }

    #[test]
    fn however_many_flows_there_are_memory_is_not() {
        let mut shaper = shaper(&Network { loss: 0.1, ..Network::default() }, 1);
        for from in 0..=u16::MAX {
            for to in [80, 81] {
                shaper.judge(START, &flow(from, to), 100);
            }
        }
        assert!(shaper.flows.known.len() <= FLOWS + 1);
    }
}
