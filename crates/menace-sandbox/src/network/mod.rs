//! A bad network for one call, on the sandbox's own loopback interface.
//!
//! ```text
//!             rules: every packet goes through two queues of the kernel's
//!               │
//! guest ── lo ──┼── queue ──► pump, a thread of the init ──► guest
//!               │               │
//!               │             shaper: when, how often, or never; from the call's seed
//!               └── copier: what arrives twice
//! ```
//!
//! Invariant: before the first call that asks for it and after each, the kernel knows nothing of all
//! this; nothing but the sandbox's own network namespace is ever touched.

mod connections;
mod copier;
mod netlink;
mod packet;
mod partition;
mod pump;
mod queue;
mod rules;
mod shaper;
mod tally;
mod trial;

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::JoinHandle;

use menace_model::{Conditions, FaultMode, Felt, Limit, Mechanism, Network, Seed, When};

use self::partition::Partition;
use self::pump::Pump;
use self::rules::Rules;
use self::shaper::Shaper;
use self::tally::Tally;
use crate::init::{During, InitError};
use crate::wire::messages::{Report, Request};

pub(crate) use trial::try_out;

/// The thread has little to remember.
const STACK: usize = 256 << 10;

/// The network of a sandbox.
#[derive(Debug)]
pub(crate) struct Link {
    /// Guests have one, and it is nobody else's.
    is_there: bool,
    /// A `/proc` that can be written to.
    proc: PathBuf,
    /// Asleep between calls; there after the first call that wants it.
    rules: Option<Rules>,
    /// It was tried, and cannot be had here.
    is_hopeless: bool,
    running: Option<Running>,
}

/// What is asked of the link for one call.
#[derive(Debug, Clone)]
struct Wanted {
    network: Network,
    /// The failure mode: those who were named are cut off, else some by chance.
    parted: Option<When>,
    /// The failure mode of the link is among what was asked for.
    is_failing: bool,
}

#[derive(Debug)]
struct Running {
    wanted: Wanted,
    pump: JoinHandle<io::Result<Tally>>,
    /// The pump stops when this goes.
    stop: UnixStream,
}

impl Link {
    pub(crate) fn new(is_there: bool, proc: PathBuf) -> Self {
        Self { is_there, proc, rules: None, is_hopeless: false, running: None }
    }

    /// Before the call starts: makes its network as bad as it has to be.
    pub(crate) fn begin(&mut self, request: &Request, report: &mut Report) {
        let wanted = Wanted::of(&request.conditions);
        if wanted.is_nothing() {
            return;
        }
        if !self.is_there || self.is_hopeless {
            report.unenforced.extend(wanted.names());
        } else if let Err(error) = self.start(&wanted, Seed(request.seed)) {
            tracing::debug!("the network cannot be made worse: {error}");
            self.is_hopeless = true;
            report.unenforced.extend(wanted.names());
        }
    }

    /// Whether guests have a network at all.
    pub(crate) fn is_there(&self) -> bool {
        self.is_there
    }

    /// Once nothing of the call is alive: makes its network as good as it was.
    pub(crate) fn end(&mut self, report: &mut Report) {
        let Some(wanted) = self.running.as_ref().map(|running| running.wanted.clone()) else {
            return;
        };
        match self.stop() {
            Ok(Ok(tally)) => {
                let by = wanted.names().map(|limit| (limit, vec![Mechanism::Nfqueue]));
                report.enforced_by.extend(by);
                let [link, partition] = tally.felt();
                // A slow link is no fault that was asked for: it is told when it struck.
                if wanted.parted.is_some() || partition.struck > 0 {
                    add(&mut report.felt, partition);
                }
                if wanted.is_failing && wanted.slows() || link.struck > 0 {
                    add(&mut report.felt, link);
                }
            }
            Ok(Err(error)) => {
                tracing::debug!("the network did not stay as bad as it was to be: {error}");
                report.unenforced.extend(wanted.names());
            }
            Err(error) => {
                report.unenforced.extend(wanted.names());
                report.spent = Some(format!("its network could not be mended: {error}"));
            }
        }
    }

    fn start(&mut self, wanted: &Wanted, seed: Seed) -> Result<(), InitError> {
        let network = &wanted.network;
        if self.rules.is_none() {
            // What TCP learns about one call's network is not true of the next one's.
            fs::write(self.proc.join("sys/net/ipv4/tcp_no_metrics_save"), "1")
                .during(|| "cannot make TCP forget".to_owned())?;
            let rules = Rules::install().during(|| "cannot send packets to a queue".to_owned())?;
            self.rules = Some(rules);
        }
        let partition = match wanted.parted {
            Some(when) if network.partition.is_empty() => Partition::by_chance(when, seed),
            _ if network.partition.is_empty() => Partition::default(),
            _ => {
                let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
                Partition::new(&network.partition, &hosts)
            }
        };
        let pump = Pump::new(network, Shaper::new(network, partition, seed))
            .during(|| "cannot open a queue of packets".to_owned())?;
        let (stop, stopped) = UnixStream::pair().during(|| "cannot make a socket".to_owned())?;
        let pump = std::thread::Builder::new()
            .name("network".to_owned())
            .stack_size(STACK)
            .spawn(move || pump.run(&stopped))
            .during(|| "cannot start a thread".to_owned())?;
        self.running = Some(Running { wanted: wanted.clone(), pump, stop });
        let woken = self.rules.as_mut().map_or(Ok(()), Rules::wake);
        woken
            .or_else(|error| self.stop().and(Err(error)))
            .during(|| "cannot wake the rules".to_owned())
    }

    /// What the pump says; an error when the network is not as it was.
    fn stop(&mut self) -> io::Result<io::Result<Tally>> {
        let Some(running) = self.running.take() else { return Ok(Ok(Tally::default())) };
        let slept = self.rules.as_mut().map_or(Ok(()), Rules::sleep);
        drop(running.stop);
        let said = running.pump.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")));
        slept?;
        if let Err(error) = connections::end_all() {
            tracing::debug!("connections are left to end by themselves: {error}");
        }
        Ok(said)
    }
}

impl Wanted {
    fn of(conditions: &Conditions) -> Self {
        let of_mode = |mode| conditions.faults.iter().find(|it| it.mode == mode);
        Self {
            network: conditions.network.clone(),
            parted: of_mode(FaultMode::NetworkPartition).map(|fault| fault.when),
            is_failing: of_mode(FaultMode::Network).is_some(),
        }
    }

    fn is_nothing(&self) -> bool {
        self.network.is_perfect() && self.parted.is_none()
    }

    /// Those who are not cut off notice something, too.
    fn slows(&self) -> bool {
        !Network { partition: Vec::new(), ..self.network.clone() }.is_perfect()
    }

    /// What a call was to be troubled with, by name.
    fn names(&self) -> impl Iterator<Item = Limit> + use<> {
        let parted = self.parted.map(|_| Limit::FaultNetworkPartition);
        asked_for(&self.network).chain(parted)
    }
}

/// The figures of a link that are not perfect, by name.
pub(crate) fn asked_for(network: &Network) -> impl Iterator<Item = Limit> + use<> {
    let all = [
        (network.latency_ms > 0.0, Limit::NetworkLatency),
        (network.jitter_ms > 0.0, Limit::NetworkJitter),
        (network.loss > 0.0, Limit::PacketLoss),
        (network.duplication > 0.0, Limit::PacketDuplication),
        (network.bits_per_second.is_some(), Limit::Bandwidth),
        (!network.partition.is_empty(), Limit::Partition),
    ];
    all.into_iter().filter_map(|(asked, limit)| asked.then_some(limit))
}

/// Others may have to do with the network too.
pub(crate) fn add(felt: &mut Vec<Felt>, more: Felt) {
    let Felt { mode, offered, struck, first, last_ms } = more;
    match felt.iter_mut().find(|felt| felt.mode == mode) {
        Some(same) => {
            same.offered += offered;
            same.struck += struck;
            same.first = same.first.take().or(first);
            let times = same.last_ms.into_iter().chain(last_ms);
            same.last_ms = times.reduce(f64::max);
        }
        None => felt.push(Felt { mode, offered, struck, first, last_ms }),
    }
}

#[cfg(test)]
mod tests {
    use menace_model::Peer;

    use super::*;

    #[test]
    fn what_is_asked_for_has_a_name() {
        let everything = Network {
            latency_ms: 1.0,
            jitter_ms: 1.0,
            loss: 0.1,
            duplication: 0.1,
            bits_per_second: Some(1),
            partition: vec![Peer::default()],
        };
        let names: Vec<&str> = asked_for(&everything).map(Limit::as_str).collect();
        assert_eq!(
            names,
            [
                "network_latency",
                "network_jitter",
                "packet_loss",
                "packet_duplication",
                "bandwidth",
                "partition"
            ]
        );
        assert_eq!(asked_for(&Network::default()).count(), 0);
    }

    #[test]
    fn what_others_did_to_the_network_is_added_up() {
        let felt = |mode, struck, first: Option<&str>, last_ms| Felt {
            mode,
            offered: 10,
            struck,
            first: first.map(str::to_owned),
            last_ms,
        };
        let mut all = vec![felt(FaultMode::Network, 1, None, Some(7.0))];
        add(&mut all, felt(FaultMode::Network, 2, Some("a packet"), Some(5.0)));
        add(&mut all, felt(FaultMode::NetworkPartition, 3, None, None));
        let link = Felt { offered: 20, ..felt(FaultMode::Network, 3, Some("a packet"), Some(7.0)) };
        assert_eq!(all, [link, felt(FaultMode::NetworkPartition, 3, None, None)]);
    }
}
