//! Tests whether this machine can shape packets, by shaping some.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use menace_model::{NetworkConditions, Seed};

use super::{LinkRequest, NetworkLink};
use crate::init::{InitError, InitErrorContext};

const TRIAL_LATENCY: Duration = Duration::from_millis(2);
const TRIAL_RECEIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends packets over a degraded link; to be called in a network namespace that is used for nothing
/// else.
pub(crate) fn try_shaping(proc: PathBuf) -> Result<(), InitError> {
    let mut link = NetworkLink::new(true, proc);
    let network = NetworkConditions {
        latency_ms: TRIAL_LATENCY.as_secs_f64() * 1000.0,
        ..NetworkConditions::default()
    };
    link.start(
        &LinkRequest { network, partition_trigger: None, has_network_fault: false },
        Seed(0),
    )?;
    let sent = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()].map(send_to_itself);
    link.stop()
        .flatten()
        .and_then(|_| sent.into_iter().collect())
        .with_context(|| "cannot hold packets up".to_owned())
}

fn send_to_itself(address: IpAddr) -> io::Result<()> {
    let socket = match UdpSocket::bind((address, 0)) {
        // A kernel without IPv6 has no such address.
        Err(_) if address.is_ipv6() => return Ok(()),
        bound => bound?,
    };
    socket.set_read_timeout(Some(TRIAL_RECEIVE_TIMEOUT))?;
    let began = Instant::now();
    socket.send_to(b"?", socket.local_addr()?)?;
    socket.recv(&mut [0])?;
    if began.elapsed() < TRIAL_LATENCY {
        return Err(io::Error::other(format!("packets to {address} are not delayed")));
    }
    Ok(())
}
