//! Sends every packet of the network namespace through two queues, and none when it sleeps.
//!
//! ```text
//! sender ──► output ──► ADMISSION ──► lo ──► input ──► DELIVERY ──► receiver
//! ```
//!
//! Two, because each does what the other cannot. At the output a packet still counts against what
//! its sender may have under way, so that nobody sends faster than packets are looked at and none
//! gets lost unasked. At the input it does not any more, so that a delay looks like a long way and
//! not like a clogged interface, which TCP would not send past.
//!
//! The rules are one nftables table. While it sleeps the kernel calls none of it.

use std::io;

use nix::sys::socket::SockProtocol;

use super::netlink::{ACKNOWLEDGE, APPEND, CREATE, Messages, REQUEST, Socket};

/// The queue at the output.
pub(super) const ADMISSION: u16 = 0;
/// The queue at the input.
pub(super) const DELIVERY: u16 = 1;
/// Packets with this mark are left alone.
pub(super) const COPY: u32 = 0x6d65_6e61;
/// The largest segment of TCP, as on an Ethernet; loopback's own are as large as 64 KiB, and few of
/// those make a transfer.
const SEGMENT: u16 = 1440;

const TABLE: &str = "menace";
const OUTPUT: &str = "output";
const INPUT: &str = "input";

// The numbers of linux/netfilter.h and linux/netfilter/nf_tables.h that the C library's bindings lack.
// Both versions of IP are one family.
const FAMILY: u8 = libc::NFPROTO_INET as u8;
const SUBSYSTEM: u16 = libc::NFNL_SUBSYS_NFTABLES as u16;
const ASLEEP: u32 = 1;
const LIST_ELEMENT: u16 = 1;
const REGISTER: u32 = 8;
const VERDICT_REGISTER: u32 = 0;
const MARK: u32 = 3;
const ACCEPT: u32 = libc::NF_ACCEPT as u32;
const EQUAL: u32 = 0;
const TCP_OPTION: u32 = 1;
const MAXIMUM_SEGMENT: u8 = 2;

/// How this kernel lets a rule queue a packet.
#[derive(Debug, Clone, Copy)]
enum Target {
    /// As nftables does itself.
    Native,
    /// Through what iptables has for it.
    Compatible,
}

/// The table, asleep or awake; it goes with the namespace.
#[derive(Debug)]
pub(super) struct Rules(Socket);

impl Rules {
    /// Installs the table, asleep.
    pub(super) fn install() -> io::Result<Self> {
        let mut socket = Socket::open(SockProtocol::NetlinkNetFilter)?;
        let native = socket.ask(&table(Target::Native));
        if native.is_err() {
            // The first error tells what a kernel without either lacks.
            socket.ask(&table(Target::Compatible)).or(native)?;
        }
        Ok(Self(socket))
    }

    pub(super) fn wake(&mut self) -> io::Result<()> {
        self.0.ask(&batch(|batch| describe_table(batch, 0)))
    }

    /// Whatever is in the queues is dropped.
    pub(super) fn sleep(&mut self) -> io::Result<()> {
        self.0.ask(&batch(|batch| describe_table(batch, ASLEEP)))
    }
}

/// All or nothing of what `body` says.
fn batch(body: impl FnOnce(&mut Messages)) -> Messages {
    let mut batch = Messages::default();
    let subsystem = SUBSYSTEM.to_be_bytes();
    let mark = |batch: &mut Messages, kind: libc::c_int| {
        batch.message(kind.cast_unsigned() as u16, REQUEST, |body| {
            body.raw(&[0, 0, subsystem[0], subsystem[1]]);
        });
    };
    mark(&mut batch, libc::NFNL_MSG_BATCH_BEGIN);
    body(&mut batch);
    mark(&mut batch, libc::NFNL_MSG_BATCH_END);
    batch
}

fn request(batch: &mut Messages, kind: libc::c_int, flags: u16, body: impl FnOnce(&mut Messages)) {
    let kind = SUBSYSTEM << 8 | kind.cast_unsigned() as u16;
    batch.message(kind, REQUEST | ACKNOWLEDGE | flags, |message| {
        message.raw(&[FAMILY, 0, 0, 0]);
        body(message);
    });
}

fn table(target: Target) -> Messages {
    batch(|batch| {
        describe_table(batch, ASLEEP);
        chain(batch, OUTPUT, libc::NF_INET_LOCAL_OUT);
        rule(batch, OUTPUT, clamp_segments);
        rule(batch, OUTPUT, let_copies_pass);
        rule(batch, OUTPUT, |rule| to_queue(rule, ADMISSION, target));
        chain(batch, INPUT, libc::NF_INET_LOCAL_IN);
        rule(batch, INPUT, let_copies_pass);
        rule(batch, INPUT, |rule| to_queue(rule, DELIVERY, target));
    })
}

fn describe_table(batch: &mut Messages, flags: u32) {
    request(batch, libc::NFT_MSG_NEWTABLE, CREATE, |table| {
        table.text(1, TABLE);
        table.number(2, flags);
    });
}

fn chain(batch: &mut Messages, name: &str, hook: libc::c_int) {
    request(batch, libc::NFT_MSG_NEWCHAIN, CREATE, |chain| {
        chain.text(1, TABLE);
        chain.text(3, name);
        chain.nest(4, |place| {
            place.number(1, hook.cast_unsigned());
            place.number(2, 0);
        });
        chain.text(7, "filter");
    });
}

fn rule(batch: &mut Messages, chain: &str, expressions: impl FnOnce(&mut Messages)) {
    request(batch, libc::NFT_MSG_NEWRULE, CREATE | APPEND, |rule| {
        rule.text(1, TABLE);
        rule.text(2, chain);
        rule.nest(4, expressions);
    });
}

fn expression(rule: &mut Messages, name: &str, data: impl FnOnce(&mut Messages)) {
    rule.nest(LIST_ELEMENT, |expression| {
        expression.text(1, name);
        expression.nest(2, data);
    });
}

/// Only ever makes it smaller; packets without the option are not for this rule.
fn clamp_segments(rule: &mut Messages) {
    expression(rule, "immediate", |data| {
        data.number(1, REGISTER);
        data.nest(2, |value| value.attribute(1, &SEGMENT.to_be_bytes()));
    });
    expression(rule, "exthdr", |data| {
        data.attribute(2, &[MAXIMUM_SEGMENT]);
        // Two bytes, behind its kind and its length.
        data.number(3, 2);
        data.number(4, 2);
        data.number(6, TCP_OPTION);
        data.number(7, REGISTER);
    });
}

fn let_copies_pass(rule: &mut Messages) {
    expression(rule, "meta", |data| {
        data.number(1, REGISTER);
        data.number(2, MARK);
    });
    expression(rule, "cmp", |data| {
        data.number(1, REGISTER);
        data.number(2, EQUAL);
        data.nest(3, |value| value.attribute(1, &COPY.to_ne_bytes()));
    });
    expression(rule, "immediate", |data| {
        data.number(1, VERDICT_REGISTER);
        data.nest(2, |value| value.nest(2, |verdict| verdict.number(1, ACCEPT)));
    });
}

fn to_queue(rule: &mut Messages, queue: u16, target: Target) {
    match target {
        Target::Native => expression(rule, "queue", |data| {
            data.attribute(1, &queue.to_be_bytes());
            data.attribute(2, &1_u16.to_be_bytes());
        }),
        Target::Compatible => expression(rule, "target", |data| {
            data.text(1, "NFQUEUE");
            data.number(2, 3);
            // The first queue, how many, no flags, and room up to a multiple of eight.
            let info = [queue, 1, 0, 0].map(u16::to_ne_bytes);
            data.attribute(3, info.as_flattened());
        }),
    }
}
