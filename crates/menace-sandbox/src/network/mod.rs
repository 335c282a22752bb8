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

use menace_model::{Felt, Limit, Mechanism, Network, Seed};

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

#[derive(Debug)]
struct Running {
    network: Network,
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
        let network = &request.conditions.network;
        if network.is_perfect() {
            return;
        }
        if !self.is_there || self.is_hopeless {
            report.unenforced.extend(asked_for(network));
        } else if let Err(error) = self.start(network, Seed(request.seed)) {
            tracing::debug!("the network cannot be made worse: {error}");
            self.is_hopeless = true;
            report.unenforced.extend(asked_for(network));
        }
    }

    /// Once nothing of the call is alive: makes its network as good as it was.
    pub(crate) fn end(&mut self, report: &mut Report) {
        let Some(network) = self.running.as_ref().map(|running| running.network.clone()) else {
            return;
        };
        match self.stop() {
            Ok(Ok(tally)) => {
                let by = asked_for(&network).map(|limit| (limit, vec![Mechanism::Nfqueue]));
                report.enforced_by.extend(by);
                let [link, partition] = tally.felt();
                if !network.partition.is_empty() {
                    add(&mut report.felt, partition);
                }
                if (Network { partition: Vec::new(), ..network }) != Network::default() {
                    add(&mut report.felt, link);
                }
            }
            Ok(Err(error)) => {
                tracing::debug!("the network did not stay as bad as it was to be: {error}");
                report.unenforced.extend(asked_for(&network));
            }
            Err(error) => report.spent = Some(format!("its network could not be mended: {error}")),
        }
    }

    fn start(&mut self, network: &Network, seed: Seed) -> Result<(), InitError> {
        if self.rules.is_none() {
            // What TCP learns about one call's network is not true of the next one's.
            fs::write(self.proc.join("sys/net/ipv4/tcp_no_metrics_save"), "1")
                .during(|| "cannot make TCP forget".to_owned())?;
            let rules = Rules::install().during(|| "cannot send packets to a queue".to_owned())?;
            self.rules = Some(rules);
        }
        let hosts = if network.partition.is_empty() {
            String::new()
        } else {
            fs::read_to_string("/etc/hosts").unwrap_or_default()
        };
        let partition = Partition::new(&network.partition, &hosts);
        let pump = Pump::new(network, Shaper::new(network, partition, seed))
            .during(|| "cannot open a queue of packets".to_owned())?;
        let (stop, stopped) = UnixStream::pair().during(|| "cannot make a socket".to_owned())?;
        let pump = std::thread::Builder::new()
            .name("network".to_owned())
            .stack_size(STACK)
            .spawn(move || pump.run(&stopped))
            .during(|| "cannot start a thread".to_owned())?;
        self.running = Some(Running { network: network.clone(), pump, stop });
        let woken = self.rules.as_mut().map_or(Ok(()), Rules::wake);
        woken
            .or_else(|error| self.stop().and(Err(error)))
            .during(|| "cannot wake the rules".to_owned())
    }

    /// What the pump says; an error when the network is not as it was.
    fn stop(&mut self) -> io::Result<io::Result<Tally>> {
        let slept = self.rules.as_mut().map_or(Ok(()), Rules::sleep);
        let Some(running) = self.running.take() else {
            return slept.map(|()| Ok(Tally::default()));
        };
        drop(running.stop);
        let said = running.pump.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")));
        slept?;
        if let Err(error) = connections::end_all() {
            tracing::debug!("connections are left to end by themselves: {error}");
        }
        Ok(said)
    }
}

/// What a call was to be troubled with, by name.
fn asked_for(network: &Network) -> impl Iterator<Item = Limit> + use<> {
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
fn add(felt: &mut Vec<Felt>, more: Felt) {
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
