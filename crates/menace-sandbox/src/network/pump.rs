//! Takes packets out of both queues and releases each when it is due.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use menace_model::NetworkConditions;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::copier::PacketCopier;
use super::fault_counts::LinkFaultCounts;
use super::packet::{self, PacketFlow};
use super::queue::{PacketQueue, PacketVerdict, QueueConfig, QueuedPacket};
use super::rules;
use super::shaper::{LinkShaper, PacketFate};

/// The most packets and bytes in flight at once; more are lost, as on a full link.
const MAX_PACKETS_IN_FLIGHT: usize = 1 << 14;
const MAX_BYTES_IN_FLIGHT: usize = 16 << 20;
/// How many packets are admitted before due ones are delivered again.
const MAX_ADMITTED_PER_TURN: usize = 64;

#[derive(Debug)]
pub(super) struct PacketPump {
    admission: PacketQueue,
    delivery: PacketQueue,
    copier: Option<PacketCopier>,
    in_flight: PacketsInFlight,
    shaper: LinkShaper,
    started_at: Instant,
    counts: LinkFaultCounts,
}

impl PacketPump {
    pub(super) fn new(network: &NetworkConditions, shaper: LinkShaper) -> io::Result<Self> {
        let doubles = network.duplication > 0.0;
        let longest = 2 * MAX_PACKETS_IN_FLIGHT as u32;
        Ok(Self {
            admission: PacketQueue::open(
                rules::ADMISSION_QUEUE,
                QueueConfig {
                    copied_bytes: 0,
                    max_packets: longest,
                    keep_gso: true,
                    fails_open: true,
                },
            )?,
            delivery: PacketQueue::open(
                rules::DELIVERY_QUEUE,
                QueueConfig {
                    copied_bytes: if doubles {
                        u32::from(u16::MAX)
                    } else {
                        packet::FLOW_PREFIX_BYTES
                    },
                    max_packets: longest,
                    keep_gso: false,
                    fails_open: false,
                },
            )?,
            copier: doubles.then(PacketCopier::open).transpose()?,
            in_flight: PacketsInFlight::default(),
            shaper,
            started_at: Instant::now(),
            counts: LinkFaultCounts::default(),
        })
    }

    /// Runs until the other end of `stop` is closed.
    pub(super) fn run(mut self, stop: &UnixStream) -> io::Result<LinkFaultCounts> {
        // The default slack of timers is 50 µs; 1 ns makes delays exact to the microsecond.
        nix::sys::prctl::set_timerslack(1)?;
        loop {
            self.admit_packets()?;
            self.shape_arrivals()?;
            self.deliver_due()?;
            if self.wait(stop)? {
                return Ok(self.counts);
            }
        }
    }

    /// Admits one packet at a time, and takes it out of the delivery queue at once, which therefore
    /// never overflows.
    fn admit_packets(&mut self) -> io::Result<()> {
        for _ in 0..MAX_ADMITTED_PER_TURN {
            if !self.admission.receive(|_| Some(PacketVerdict::Accept))? {
                break;
            }
            self.admission.send_verdicts()?;
            self.shape_arrivals()?;
        }
        Ok(())
    }

    fn shape_arrivals(&mut self) -> io::Result<()> {
        let Self { delivery, in_flight: road, shaper, counts: tally, started_at: began, .. } = self;
        let now = began.elapsed();
        let mut decide = |packet: QueuedPacket<'_>| -> Option<PacketVerdict> {
            let flow = PacketFlow::parse(packet.prefix).unwrap_or(PacketFlow::UNKNOWN);
            let is_fully_captured = packet.prefix.len() == packet.total_bytes;
            let fate = match shaper.shape(now, &flow, packet.total_bytes) {
                PacketFate::Arrives { .. } if road.is_full() => PacketFate::Lost,
                // The kernel copies all but the last bytes of the very largest packets; without
                // them there is nothing to send twice.
                PacketFate::Arrives { arrives_at: at, .. } if !is_fully_captured => {
                    PacketFate::Arrives { arrives_at: at, duplicate_at: None }
                }
                fate => fate,
            };
            tally.record(now, &flow, fate);
            let PacketFate::Arrives { arrives_at: at, duplicate_at: again } = fate else {
                return Some(PacketVerdict::Drop);
            };
            road.put(at, PacketPayload::Original(packet.id), packet.total_bytes);
            if let Some(again) = again {
                road.put(again, PacketPayload::Copy(packet.prefix.to_vec()), packet.total_bytes);
            }
            None
        };
        while delivery.receive(&mut decide)? {}
        delivery.send_verdicts()
    }

    fn deliver_due(&mut self) -> io::Result<()> {
        while let Some(load) = self.in_flight.pop_arrived(self.started_at.elapsed()) {
            match load {
                PacketPayload::Original(id) => self.delivery.set_verdict(id, PacketVerdict::Accept),
                PacketPayload::Copy(packet) => {
                    self.delivery.send_verdicts()?;
                    // The kernel may refuse the duplicate of a packet that it has delivered; that
                    // is no error of the link.
                    if let Some(Err(error)) = self.copier.as_ref().map(|c| c.send(&packet)) {
                        tracing::debug!("a copy was not taken: {error}");
                    }
                }
            }
        }
        self.delivery.send_verdicts()
    }

    /// Waits for a packet, for the next delivery, or for the end; true at the end.
    fn wait(&self, stop: &UnixStream) -> io::Result<bool> {
        let left =
            self.in_flight.next_arrival().map(|at| at.saturating_sub(self.started_at.elapsed()));
        let input = PollFlags::POLLIN;
        let mut fds = [
            PollFd::new(stop.as_fd(), input),
            PollFd::new(self.admission.as_fd(), input),
            PollFd::new(self.delivery.as_fd(), input),
        ];
        match ppoll(&mut fds, left.map(TimeSpec::from_duration), None) {
            Ok(_) => Ok(fds[0].any() != Some(false)),
            Err(Errno::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Packets in flight, ordered by arrival.
#[derive(Debug, Default)]
struct PacketsInFlight {
    packets: BinaryHeap<InFlightPacket>,
    bytes: usize,
    sent_count: u64,
}

#[derive(Debug)]
enum PacketPayload {
    /// The id of a packet that waits in the delivery queue.
    Original(u32),
    Copy(Vec<u8>),
}

#[derive(Debug)]
struct InFlightPacket {
    arrives_at: Duration,
    /// Keeps packets with the same arrival in the order in which they were sent.
    sequence: u64,
    bytes: usize,
    payload: PacketPayload,
}

impl PacketsInFlight {
    fn is_full(&self) -> bool {
        self.packets.len() >= MAX_PACKETS_IN_FLIGHT || self.bytes >= MAX_BYTES_IN_FLIGHT
    }

    fn put(&mut self, at: Duration, load: PacketPayload, bytes: usize) {
        self.sent_count += 1;
        self.bytes += bytes;
        self.packets.push(InFlightPacket {
            arrives_at: at,
            sequence: self.sent_count,
            bytes,
            payload: load,
        });
    }

    /// When the next packet is due.
    fn next_arrival(&self) -> Option<Duration> {
        self.packets.peek().map(|parcel| parcel.arrives_at)
    }

    /// Takes out the next packet, if it is due.
    fn pop_arrived(&mut self, now: Duration) -> Option<PacketPayload> {
        if self.next_arrival()? > now {
            return None;
        }
        let parcel = self.packets.pop()?;
        self.bytes -= parcel.bytes;
        Some(parcel.payload)
    }
}

impl Ord for InFlightPacket {
    /// Reversed: `BinaryHeap` pops the greatest, and the earliest is wanted.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrives_at, other.sequence).cmp(&(self.arrives_at, self.sequence))
    }
}

impl PartialOrd for InFlightPacket {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for InFlightPacket {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for InFlightPacket {}

#[cfg(test)]
mod tests {
    use super::*;

    fn deliver_ids(road: &mut PacketsInFlight, now: u64) -> Vec<u32> {
        let arrived = || road.pop_arrived(Duration::from_millis(now));
        let id = |load| match load {
            PacketPayload::Original(id) => id,
            PacketPayload::Copy(_) => u32::MAX,
        };
        std::iter::from_fn(arrived).map(id).collect()
    }

    #[test]
    fn packets_arrive_when_due_and_equal_ones_as_sent() {
        let mut road = PacketsInFlight::default();
        for (at, id) in [(30, 1), (10, 2), (10, 3), (20, 4), (10, 5)] {
            road.put(Duration::from_millis(at), PacketPayload::Original(id), 100);
        }
        assert_eq!(road.next_arrival(), Some(Duration::from_millis(10)));
        assert_eq!(deliver_ids(&mut road, 9), Vec::<u32>::new());
        assert_eq!(deliver_ids(&mut road, 20), [2, 3, 5, 4]);
        assert_eq!(
            (deliver_ids(&mut road, 30), road.bytes, road.next_arrival()),
            (vec![1], 0, None)
        );
    }

    #[test]
    fn a_road_has_an_end() {
        let (mut many, mut large) = (PacketsInFlight::default(), PacketsInFlight::default());
        for id in 0..MAX_PACKETS_IN_FLIGHT as u32 {
            assert!(!many.is_full());
            many.put(Duration::ZERO, PacketPayload::Original(id), 1);
        }
        large.put(Duration::ZERO, PacketPayload::Original(0), MAX_BYTES_IN_FLIGHT);
        assert!(many.is_full() && large.is_full());
        deliver_ids(&mut large, 0);
        assert!(!large.is_full());
    }
}
