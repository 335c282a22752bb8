//! Which kinds of system calls Menace wants to be asked about, beyond those that the policy forbids.

use serde::{Deserialize, Serialize};

/// Which system calls ask Menace before they happen, so that it can let them fail. Decided when the
/// interpreter starts, and not for free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Interpose {
    /// Opening, reading, writing files.
    pub files: bool,
    /// Asking for memory.
    pub memory: bool,
    /// Connecting, sending, receiving.
    pub sockets: bool,
}
