//! Sends every packet of the network namespace through two queues while enabled, and through none
//! while dormant.
//!
//! ```text
//! sender ──► output ──► ADMISSION ──► lo ──► input ──► DELIVERY ──► receiver
//! ```
//!
//! There are two queues, because each does what the other cannot. At the output hook a packet still
//! counts against its sender's socket buffer, so that no process sends faster than packets are
//! admitted, and none is lost. At the input hook it does not, so that a delay looks to TCP like a
//! long link, not like a full interface, past which it would not send.
//!
//! The rules are one nftables table. While it is dormant the kernel evaluates none of it.

use std::io;

use nix::sys::socket::SockProtocol;

use super::netlink::{NLM_ACK, NLM_APPEND, NLM_CREATE, NLM_REQUEST, NetlinkSocket, NetlinkWriter};

/// The queue at the output hook.
pub(super) const ADMISSION_QUEUE: u16 = 0;
/// The queue at the input hook.
pub(super) const DELIVERY_QUEUE: u16 = 1;
/// The mark of duplicates that [`super::copier`] sends: the rules accept them without queueing.
pub(super) const COPY_MARK: u32 = 0x6d65_6e61;
/// The largest TCP segment that connections negotiate, as on an Ethernet. Loopback would use 64
/// KiB, so that a transfer would have too few packets for loss to show.
const MAX_SEGMENT_BYTES: u16 = 1440;

const TABLE_NAME: &str = "menace";
const OUTPUT_CHAIN: &str = "output";
const INPUT_CHAIN: &str = "input";

// Numbers of linux/netfilter.h and linux/netfilter/nf_tables.h that the libc crate lacks. The
// family `inet` covers both versions of IP.
const NFPROTO_FAMILY: u8 = libc::NFPROTO_INET as u8;
const NFNL_SUBSYSTEM_NFTABLES: u16 = libc::NFNL_SUBSYS_NFTABLES as u16;
const TABLE_DORMANT_FLAG: u32 = 1;
const NFTA_LIST_ELEM: u16 = 1;
const DATA_REGISTER: u32 = 8;
const VERDICT_REGISTER: u32 = 0;
const META_MARK_KEY: u32 = 3;
const VERDICT_ACCEPT: u32 = libc::NF_ACCEPT as u32;
const CMP_EQUAL: u32 = 0;
const EXTHDR_TCP_OPTION: u32 = 1;
const TCP_OPTION_MSS: u8 = 2;

/// The expression with which a rule queues a packet.
#[derive(Debug, Clone, Copy)]
enum QueueTarget {
    /// nftables' own `queue`.
    Native,
    /// The `NFQUEUE` target of iptables, for kernels without the former.
    IptablesCompat,
}

/// The nftables table, dormant or enabled. It disappears with the network namespace.
#[derive(Debug)]
pub(super) struct NftablesRules(NetlinkSocket);

impl NftablesRules {
    /// Installs the table, dormant.
    pub(super) fn install() -> io::Result<Self> {
        let mut socket = NetlinkSocket::open(SockProtocol::NetlinkNetFilter)?;
        let native = socket.request(&build_table(QueueTarget::Native));
        if native.is_err() {
            // Where neither works, the error of the first says what the kernel lacks.
            socket.request(&build_table(QueueTarget::IptablesCompat)).or(native)?;
        }
        Ok(Self(socket))
    }

    pub(super) fn enable(&mut self) -> io::Result<()> {
        self.0.request(&build_batch(|batch| write_table(batch, 0)))
    }

    /// Makes the table dormant; the kernel drops the packets that wait in the queues.
    pub(super) fn disable(&mut self) -> io::Result<()> {
        self.0.request(&build_batch(|batch| write_table(batch, TABLE_DORMANT_FLAG)))
    }
}

/// A transaction: the kernel applies all messages that `body` writes, or none.
fn build_batch(body: impl FnOnce(&mut NetlinkWriter)) -> NetlinkWriter {
    let mut batch = NetlinkWriter::default();
    let subsystem = NFNL_SUBSYSTEM_NFTABLES.to_be_bytes();
    let mark = |batch: &mut NetlinkWriter, kind: libc::c_int| {
        batch.write_message(kind.cast_unsigned() as u16, NLM_REQUEST, |body| {
            body.write_raw(&[0, 0, subsystem[0], subsystem[1]]);
        });
    };
    mark(&mut batch, libc::NFNL_MSG_BATCH_BEGIN);
    body(&mut batch);
    mark(&mut batch, libc::NFNL_MSG_BATCH_END);
    batch
}

fn write_request(
    batch: &mut NetlinkWriter,
    kind: libc::c_int,
    flags: u16,
    body: impl FnOnce(&mut NetlinkWriter),
) {
    let kind = NFNL_SUBSYSTEM_NFTABLES << 8 | kind.cast_unsigned() as u16;
    batch.write_message(kind, NLM_REQUEST | NLM_ACK | flags, |message| {
        message.write_raw(&[NFPROTO_FAMILY, 0, 0, 0]);
        body(message);
    });
}

fn build_table(target: QueueTarget) -> NetlinkWriter {
    build_batch(|batch| {
        write_table(batch, TABLE_DORMANT_FLAG);
        write_chain(batch, OUTPUT_CHAIN, libc::NF_INET_LOCAL_OUT);
        write_rule(batch, OUTPUT_CHAIN, write_mss_clamp);
        write_rule(batch, OUTPUT_CHAIN, write_copy_exemption);
        write_rule(batch, OUTPUT_CHAIN, |rule| write_queue_target(rule, ADMISSION_QUEUE, target));
        write_chain(batch, INPUT_CHAIN, libc::NF_INET_LOCAL_IN);
        write_rule(batch, INPUT_CHAIN, write_copy_exemption);
        write_rule(batch, INPUT_CHAIN, |rule| write_queue_target(rule, DELIVERY_QUEUE, target));
    })
}

fn write_table(batch: &mut NetlinkWriter, flags: u32) {
    write_request(batch, libc::NFT_MSG_NEWTABLE, NLM_CREATE, |table| {
        table.write_text(1, TABLE_NAME);
        table.write_number(2, flags);
    });
}

fn write_chain(batch: &mut NetlinkWriter, name: &str, hook: libc::c_int) {
    write_request(batch, libc::NFT_MSG_NEWCHAIN, NLM_CREATE, |chain| {
        chain.write_text(1, TABLE_NAME);
        chain.write_text(3, name);
        chain.write_nested(4, |place| {
            place.write_number(1, hook.cast_unsigned());
            place.write_number(2, 0);
        });
        chain.write_text(7, "filter");
    });
}

fn write_rule(
    batch: &mut NetlinkWriter,
    chain: &str,
    expressions: impl FnOnce(&mut NetlinkWriter),
) {
    write_request(batch, libc::NFT_MSG_NEWRULE, NLM_CREATE | NLM_APPEND, |rule| {
        rule.write_text(1, TABLE_NAME);
        rule.write_text(2, chain);
        rule.write_nested(4, expressions);
    });
}

fn write_expression(rule: &mut NetlinkWriter, name: &str, data: impl FnOnce(&mut NetlinkWriter)) {
    rule.write_nested(NFTA_LIST_ELEM, |expression| {
        expression.write_text(1, name);
        expression.write_nested(2, data);
    });
}

/// Writes [`MAX_SEGMENT_BYTES`] into the MSS option of TCP packets. The kernel never raises the
/// option, and skips packets without it.
fn write_mss_clamp(rule: &mut NetlinkWriter) {
    write_expression(rule, "immediate", |data| {
        data.write_number(1, DATA_REGISTER);
        data.write_nested(2, |value| value.write_attribute(1, &MAX_SEGMENT_BYTES.to_be_bytes()));
    });
    write_expression(rule, "exthdr", |data| {
        data.write_attribute(2, &[TCP_OPTION_MSS]);
        // Two bytes, after the option's kind and length.
        data.write_number(3, 2);
        data.write_number(4, 2);
        data.write_number(6, EXTHDR_TCP_OPTION);
        data.write_number(7, DATA_REGISTER);
    });
}

fn write_copy_exemption(rule: &mut NetlinkWriter) {
    write_expression(rule, "meta", |data| {
        data.write_number(1, DATA_REGISTER);
        data.write_number(2, META_MARK_KEY);
    });
    write_expression(rule, "cmp", |data| {
        data.write_number(1, DATA_REGISTER);
        data.write_number(2, CMP_EQUAL);
        data.write_nested(3, |value| value.write_attribute(1, &COPY_MARK.to_ne_bytes()));
    });
    write_expression(rule, "immediate", |data| {
        data.write_number(1, VERDICT_REGISTER);
        data.write_nested(2, |value| {
            value.write_nested(2, |verdict| verdict.write_number(1, VERDICT_ACCEPT));
        });
    });
}

fn write_queue_target(rule: &mut NetlinkWriter, queue: u16, target: QueueTarget) {
    match target {
        QueueTarget::Native => write_expression(rule, "queue", |data| {
            data.write_attribute(1, &queue.to_be_bytes());
            data.write_attribute(2, &1_u16.to_be_bytes());
        }),
        QueueTarget::IptablesCompat => write_expression(rule, "target", |data| {
            data.write_text(1, "NFQUEUE");
            data.write_number(2, 3);
            // `struct xt_NFQ_info_v3`: first queue, number of queues, no flags; padded to a
            // multiple of eight.
            let info = [queue, 1, 0, 0].map(u16::to_ne_bytes);
            data.write_attribute(3, info.as_flattened());
        }),
    }
}
