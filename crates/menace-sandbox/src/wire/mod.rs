//! Messages between the host, init and the guest harness: see `docs/guest-protocol.md`.

pub(crate) mod channel;
pub(crate) mod harness;
pub(crate) mod marshal;
pub(crate) mod messages;
pub(crate) mod values;
