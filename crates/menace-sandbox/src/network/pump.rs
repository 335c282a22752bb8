//! Takes packets out of one queue after the other and lets them go when their time has come.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use menace_model::Network;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::copier::Copier;
use super::packet::{self, Flow};
use super::queue::{Manner, Queue, Verdict, Waiting};
use super::rules;
use super::shaper::{Fate, Shaper};
use super::tally::Tally;

/// What may be on its way at once; more does not fit into the link and gets lost.
const PARCELS: usize = 1 << 14;
const BYTES: usize = 16 << 20;
/// How many packets are admitted before others get their turn.
const TURN: usize = 64;

#[derive(Debug)]
pub(super) struct Pump {
    admission: Queue,
    delivery: Queue,
    copier: Option<Copier>,
    road: Road,
    shaper: Shaper,
    began: Instant,
    tally: Tally,
}

impl Pump {
    pub(super) fn new(network: &Network, shaper: Shaper) -> io::Result<Self> {
        let doubles = network.duplication > 0.0;
        let longest = 2 * PARCELS as u32;
        Ok(Self {
            admission: Queue::open(
                rules::ADMISSION,
                Manner { seen: 0, longest, whole: true, fails_open: true },
            )?,
            delivery: Queue::open(
                rules::DELIVERY,
                Manner {
                    seen: if doubles { u32::from(u16::MAX) } else { packet::SEEN },
                    longest,
                    whole: false,
                    fails_open: false,
                },
            )?,
            copier: doubles.then(Copier::open).transpose()?,
            road: Road::default(),
            shaper,
            began: Instant::now(),
            tally: Tally::default(),
        })
    }

    /// Until the other end of `stop` is closed.
    pub(super) fn run(mut self, stop: &UnixStream) -> io::Result<Tally> {
        // To the microsecond instead of to the twentieth of a millisecond.
        nix::sys::prctl::set_timerslack(1)?;
        loop {
            self.admit()?;
            self.take_in()?;
            self.let_go()?;
            if self.wait(stop)? {
                return Ok(self.tally);
            }
        }
    }

    /// One at a time, so that what comes out of it never overfills the other queue.
    fn admit(&mut self) -> io::Result<()> {
        for _ in 0..TURN {
            if !self.admission.receive(|_| Some(Verdict::Accept))? {
                break;
            }
            self.admission.speak()?;
            self.take_in()?;
        }
        Ok(())
    }

    fn take_in(&mut self) -> io::Result<()> {
        let Self { delivery, road, shaper, tally, began, copier, .. } = self;
        let now = began.elapsed();
        let mut judge = |packet: Waiting<'_>| -> Option<Verdict> {
            let flow = Flow::of(packet.start).unwrap_or(Flow::UNKNOWN);
            let mut fate = shaper.judge(now, &flow, packet.bytes);
            if road.is_full() && matches!(fate, Fate::Arrives { .. }) {
                fate = Fate::Lost;
            }
            tally.add(now, &flow, fate);
            let Fate::Arrives { at, again } = fate else { return Some(Verdict::Drop) };
            road.put(at, Load::Original(packet.id), packet.bytes);
            if let Some(again) = again
                && copier.is_some()
            {
                road.put(again, Load::Copy(packet.start.to_vec()), packet.bytes);
            }
            None
        };
        while delivery.receive(&mut judge)? {}
        delivery.speak()
    }

    fn let_go(&mut self) -> io::Result<()> {
        while let Some(load) = self.road.arrived(self.began.elapsed()) {
            match load {
                Load::Original(id) => self.delivery.decide(id, Verdict::Accept),
                Load::Copy(packet) => {
                    self.delivery.speak()?;
                    // The receiver's system may refuse a packet that it took before, which is not
                    // the link's business.
                    if let Some(Err(error)) = self.copier.as_ref().map(|c| c.send(&packet)) {
                        tracing::debug!("a copy was not taken: {error}");
                    }
                }
            }
        }
        self.delivery.speak()
    }

    /// Until there is something to do; true when it is to stop.
    fn wait(&self, stop: &UnixStream) -> io::Result<bool> {
        let left = self.road.next().map(|at| at.saturating_sub(self.began.elapsed()));
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

/// What is on its way, in the order of arrival.
#[derive(Debug, Default)]
struct Road {
    parcels: BinaryHeap<Parcel>,
    bytes: usize,
    sent: u64,
}

#[derive(Debug)]
enum Load {
    /// A packet that waits in the kernel.
    Original(u32),
    Copy(Vec<u8>),
}

#[derive(Debug)]
struct Parcel {
    at: Duration,
    /// Who was sent first arrives first.
    number: u64,
    bytes: usize,
    load: Load,
}

impl Road {
    fn is_full(&self) -> bool {
        self.parcels.len() >= PARCELS || self.bytes >= BYTES
    }

    fn put(&mut self, at: Duration, load: Load, bytes: usize) {
        self.sent += 1;
        self.bytes += bytes;
        self.parcels.push(Parcel { at, number: self.sent, bytes, load });
    }

    /// When the next one arrives.
    fn next(&self) -> Option<Duration> {
        self.parcels.peek().map(|parcel| parcel.at)
    }

    /// The next one, once it is there.
    fn arrived(&mut self, now: Duration) -> Option<Load> {
        if self.next()? > now {
            return None;
        }
        let parcel = self.parcels.pop()?;
        self.bytes -= parcel.bytes;
        Some(parcel.load)
    }
}

impl Ord for Parcel {
    /// A heap gives out the greatest: the earliest is.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Parcel {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Parcel {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Parcel {}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(road: &mut Road, now: u64) -> Vec<u32> {
        let arrived = || road.arrived(Duration::from_millis(now));
        let id = |load| match load {
            Load::Original(id) => id,
            Load::Copy(_) => u32::MAX,
        };
        std::iter::from_fn(arrived).map(id).collect()
    }

    #[test]
    fn who_is_due_first_arrives_first_and_equals_as_they_were_sent() {
        let mut road = Road::default();
        for (at, id) in [(30, 1), (10, 2), (10, 3), (20, 4), (10, 5)] {
            road.put(Duration::from_millis(at), Load::Original(id), 100);
        }
        assert_eq!(road.next(), Some(Duration::from_millis(10)));
        assert_eq!(ids(&mut road, 9), Vec::<u32>::new());
        assert_eq!(ids(&mut road, 20), [2, 3, 5, 4]);
        assert_eq!((ids(&mut road, 30), road.bytes, road.next()), (vec![1], 0, None));
    }

    #[test]
    fn a_road_has_an_end() {
        let (mut many, mut large) = (Road::default(), Road::default());
        for id in 0..PARCELS as u32 {
            assert!(!many.is_full());
            many.put(Duration::ZERO, Load::Original(id), 1);
        }
        large.put(Duration::ZERO, Load::Original(0), BYTES);
        assert!(many.is_full() && large.is_full());
        ids(&mut large, 0);
        assert!(!large.is_full());
    }
}
