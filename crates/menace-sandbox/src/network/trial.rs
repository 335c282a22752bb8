//! Finds out whether a network can be made bad here, by making one so.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use menace_model::{Network, Seed};

use super::{Link, Wanted};
use crate::init::{During, InitError};

const LATENCY: Duration = Duration::from_millis(2);
const PATIENCE: Duration = Duration::from_secs(5);

/// In a network namespace of one's own that nobody needs.
pub(crate) fn try_out(proc: PathBuf) -> Result<(), InitError> {
    let mut link = Link::new(true, proc);
    let network = Network { latency_ms: LATENCY.as_secs_f64() * 1000.0, ..Network::default() };
    link.start(&Wanted { network, parted: None, is_failing: false }, Seed(0))?;
    let sent = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()].map(send_to_itself);
    link.stop()
        .flatten()
        .and_then(|_| sent.into_iter().collect())
        .during(|| "cannot hold packets up".to_owned())
}

fn send_to_itself(address: IpAddr) -> io::Result<()> {
    let socket = match UdpSocket::bind((address, 0)) {
        // A kernel without it has no such address.
        Err(_) if address.is_ipv6() => return Ok(()),
        bound => bound?,
    };
    socket.set_read_timeout(Some(PATIENCE))?;
    let began = Instant::now();
    socket.send_to(b"?", socket.local_addr()?)?;
    socket.recv(&mut [0])?;
    if began.elapsed() < LATENCY {
        return Err(io::Error::other(format!("packets to {address} are not delayed")));
    }
    Ok(())
}
