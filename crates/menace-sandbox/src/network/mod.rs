//! Degrades the network of one call, on the sandbox's own loopback interface.
//!
//! ```text
//!             rules: every packet goes through two netfilter queues
//!               │
//! guest ── lo ──┼── queue ──► pump, a thread of init ──► guest
//!               │               │
//!               │             shaper: when, how often, or never; from the call's seed
//!               └── copier: sends duplicates
//! ```
//!
//! Invariant: before the first call that needs it and after each call, no rule and no queue is
//! active in the kernel; nothing but the sandbox's own network namespace is ever changed.

mod connections;
mod copier;
mod fault_counts;
mod netlink;
mod packet;
mod partition;
mod pump;
mod queue;
mod rules;
mod shaper;
mod shaping_trial;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use packet::PacketFlow;

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::JoinHandle;

use menace_model::{
    CallConditions, FaultMode, FaultStats, FaultTrigger, Limit, LimitMechanism, NetworkConditions,
    Seed,
};

use self::fault_counts::LinkFaultCounts;
use self::partition::LinkPartition;
use self::pump::PacketPump;
use self::rules::NftablesRules;
use self::shaper::LinkShaper;
use crate::init::{InitError, InitErrorContext};
use crate::wire::messages::{InitReport, InitRequest};

pub(crate) use shaping_trial::try_shaping;

/// The thread's stack; its data is on the heap.
const PUMP_STACK_BYTES: usize = 256 << 10;

/// The degradable network of a sandbox.
#[derive(Debug)]
pub(crate) struct NetworkLink {
    /// Whether the guest has a network of its own.
    is_available: bool,
    /// A `/proc` that is mounted writable, to set sysctls of the network namespace.
    proc: PathBuf,
    /// Installed by the first call that needs them, disabled between calls.
    rules: Option<NftablesRules>,
    /// The rules or queues could not be set up on this kernel: it is not tried again.
    is_unsupported: bool,
    running: Option<RunningPump>,
}

/// The network conditions of one call.
#[derive(Debug, Clone)]
struct LinkRequest {
    network: NetworkConditions,
    /// Set for `network_partition`: cuts off the peers of `network.partition`, or, if there are
    /// none, some peers by chance.
    partition_trigger: Option<FaultTrigger>,
    /// Whether the preset has the `network` fault, so that its figures are reported even without an
    /// effect.
    has_network_fault: bool,
}

#[derive(Debug)]
struct RunningPump {
    request: LinkRequest,
    pump: JoinHandle<io::Result<LinkFaultCounts>>,
    /// Closing this end stops the pump.
    stop: UnixStream,
}

impl NetworkLink {
    pub(crate) fn new(is_available: bool, proc: PathBuf) -> Self {
        Self { is_available, proc, rules: None, is_unsupported: false, running: None }
    }

    /// Before the call starts: degrades its network if its conditions say so.
    pub(crate) fn begin_call(&mut self, request: &InitRequest, report: &mut InitReport) {
        let link_request = LinkRequest::from_conditions(&request.conditions);
        if link_request.is_perfect() {
            return;
        }
        if !self.is_available || self.is_unsupported {
            report.unenforced.extend(link_request.limits());
        } else if let Err(error) = self.start(&link_request, Seed(request.seed)) {
            tracing::debug!("the network cannot be made worse: {error}");
            self.is_unsupported = true;
            report.unenforced.extend(link_request.limits());
        }
    }

    /// Whether guests have a network of their own.
    pub(crate) fn is_available(&self) -> bool {
        self.is_available
    }

    /// Once no process of the call is alive: restores its network.
    pub(crate) fn end_call(&mut self, report: &mut InitReport) {
        let Some(link_request) = self.running.as_ref().map(|running| running.request.clone())
        else {
            return;
        };
        match self.stop() {
            Ok(Ok(tally)) => {
                let by = link_request.limits().map(|limit| (limit, vec![LimitMechanism::Nfqueue]));
                report.enforced_by.extend(by);
                let [link, partition] = tally.into_fault_stats();
                // A slow link is no requested fault: it is reported only when it had an effect.
                if link_request.partition_trigger.is_some() || partition.injected > 0 {
                    merge_fault_stats(&mut report.fault_stats, partition);
                }
                if link_request.has_network_fault && link_request.has_link_faults()
                    || link.injected > 0
                {
                    merge_fault_stats(&mut report.fault_stats, link);
                }
            }
            Ok(Err(error)) => {
                tracing::debug!("the network did not stay as bad as it was to be: {error}");
                report.unenforced.extend(link_request.limits());
            }
            Err(error) => {
                report.unenforced.extend(link_request.limits());
                report.unusable_reason =
                    Some(format!("its network could not be restored: {error}"));
            }
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a file of the kernel, and one that init has written"
    )]
    fn start(&mut self, link_request: &LinkRequest, seed: Seed) -> Result<(), InitError> {
        let network = &link_request.network;
        if self.rules.is_none() {
            // Otherwise the kernel would start the next call's connections with the round-trip
            // times that it measured under this call's network.
            fs::write(self.proc.join("sys/net/ipv4/tcp_no_metrics_save"), "1")
                .with_context(|| "cannot make TCP forget".to_owned())?;
            let rules = NftablesRules::install()
                .with_context(|| "cannot send packets to a queue".to_owned())?;
            self.rules = Some(rules);
        }
        let partition = match link_request.partition_trigger {
            Some(when) if network.partition.is_empty() => LinkPartition::random(when, seed),
            _ if network.partition.is_empty() => LinkPartition::default(),
            _ => {
                let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
                LinkPartition::new(&network.partition, &hosts)
            }
        };
        let pump = PacketPump::new(network, LinkShaper::new(network, partition, seed))
            .with_context(|| "cannot open a queue of packets".to_owned())?;
        let (stop, stopped) =
            UnixStream::pair().with_context(|| "cannot make a socket".to_owned())?;
        let pump = std::thread::Builder::new()
            .name("network".to_owned())
            .stack_size(PUMP_STACK_BYTES)
            .spawn(move || pump.run(&stopped))
            .with_context(|| "cannot start a thread".to_owned())?;
        self.running = Some(RunningPump { request: link_request.clone(), pump, stop });
        let woken = self.rules.as_mut().map_or(Ok(()), NftablesRules::enable);
        woken
            .or_else(|error| self.stop().and(Err(error)))
            .with_context(|| "cannot wake the rules".to_owned())
    }

    /// The pump's counts, or its error. The outer error: the rules could not be disabled, and the
    /// sandbox is unusable.
    fn stop(&mut self) -> io::Result<io::Result<LinkFaultCounts>> {
        let Some(running) = self.running.take() else { return Ok(Ok(LinkFaultCounts::default())) };
        let slept = self.rules.as_mut().map_or(Ok(()), NftablesRules::disable);
        drop(running.stop);
        let counts = running.pump.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")));
        slept?;
        if let Err(error) = connections::destroy_all() {
            tracing::debug!("connections are left to end by themselves: {error}");
        }
        Ok(counts)
    }
}

impl LinkRequest {
    fn from_conditions(conditions: &CallConditions) -> Self {
        let of_mode = |mode| conditions.faults.iter().find(|it| it.mode == mode);
        Self {
            network: conditions.network.clone(),
            partition_trigger: of_mode(FaultMode::NetworkPartition).map(|fault| fault.trigger),
            has_network_fault: of_mode(FaultMode::Network).is_some(),
        }
    }

    fn is_perfect(&self) -> bool {
        self.network.is_perfect() && self.partition_trigger.is_none()
    }

    /// Whether there are conditions other than the partition.
    fn has_link_faults(&self) -> bool {
        !NetworkConditions { partition: Vec::new(), ..self.network.clone() }.is_perfect()
    }

    /// The conditions and faults of the network that this call requests.
    fn limits(&self) -> impl Iterator<Item = Limit> + use<> {
        let parted = self.partition_trigger.map(|_| Limit::FaultNetworkPartition);
        imperfect_limits(&self.network).chain(parted)
    }
}

/// The requested network conditions, as limits that can be enforced or not.
pub(crate) fn imperfect_limits(network: &NetworkConditions) -> impl Iterator<Item = Limit> + use<> {
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

/// Adds to the entry of the same fault mode, since the harness and the syscall faults may report
/// `network`, too.
pub(crate) fn merge_fault_stats(stats: &mut Vec<FaultStats>, more: FaultStats) {
    let FaultStats {
        mode,
        opportunities: offered,
        injected,
        first_injected: first,
        last_injected_ms: last_ms,
    } = more;
    match stats.iter_mut().find(|stats| stats.mode == mode) {
        Some(same) => {
            same.opportunities += offered;
            same.injected += injected;
            same.first_injected = same.first_injected.take().or(first);
            let times = same.last_injected_ms.into_iter().chain(last_ms);
            same.last_injected_ms = times.reduce(f64::max);
        }
        None => stats.push(FaultStats {
            mode,
            opportunities: offered,
            injected,
            first_injected: first,
            last_injected_ms: last_ms,
        }),
    }
}

#[cfg(test)]
mod tests {
    use menace_model::PartitionPeer;

    use super::*;

    #[test]
    fn what_is_asked_for_has_a_name() {
        let everything = NetworkConditions {
            latency_ms: 1.0,
            jitter_ms: 1.0,
            loss: 0.1,
            duplication: 0.1,
            bits_per_second: Some(1),
            partition: vec![PartitionPeer::default()],
        };
        let names: Vec<&str> = imperfect_limits(&everything).map(Limit::as_str).collect();
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
        assert_eq!(imperfect_limits(&NetworkConditions::default()).count(), 0);
    }

    #[test]
    fn what_others_did_to_the_network_is_added_up() {
        let stats_of = |mode, injected, first: Option<&str>, last_ms| FaultStats {
            mode,
            opportunities: 10,
            injected,
            first_injected: first.map(str::to_owned),
            last_injected_ms: last_ms,
        };
        let mut all = vec![stats_of(FaultMode::Network, 1, None, Some(7.0))];
        merge_fault_stats(&mut all, stats_of(FaultMode::Network, 2, Some("a packet"), Some(5.0)));
        merge_fault_stats(&mut all, stats_of(FaultMode::NetworkPartition, 3, None, None));
        let link = FaultStats {
            opportunities: 20,
            ..stats_of(FaultMode::Network, 3, Some("a packet"), Some(7.0))
        };
        assert_eq!(all, [link, stats_of(FaultMode::NetworkPartition, 3, None, None)]);
    }
}
