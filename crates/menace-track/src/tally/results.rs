//! Checks whether equal calls have equal results.
//!
//! Calls are equal when they have the same input and the same seed, and no faults, which may be
//! injected elsewhere the next time. Calls that exceeded a limit are left out: they have no result.

use std::collections::BTreeMap;
use std::io::{self, Write};

use menace_model::{Call, CallStep, Outcome, Seed, Verdict};
use serde::{Deserialize, Serialize};

/// The most different calls that are tracked: those with the smallest hashes.
const MAX_TRACKED_CALLS: usize = 256;

/// By hash of the call: the smallest and the largest hash of its results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ResultHashes(BTreeMap<u64, (u64, u64)>);

impl ResultHashes {
    pub(super) fn add(&mut self, call: &Call, outcome: &Outcome) {
        if !call.conditions.is_fault_free() {
            return;
        }
        if let Some(result) = hash_result(outcome) {
            self.record_result(hash_input(call), (result, result));
            self.limit_tracked_calls();
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (call, ends) in &other.0 {
            self.record_result(*call, *ends);
        }
        self.limit_tracked_calls();
    }

    pub(super) fn count_unequal(&self) -> u64 {
        self.0.values().filter(|(least, most)| least != most).count() as u64
    }

    fn record_result(&mut self, call: u64, (least, most): (u64, u64)) {
        let own = self.0.entry(call).or_insert((least, most));
        *own = (own.0.min(least), own.1.max(most));
    }

    fn limit_tracked_calls(&mut self) {
        while self.0.len() > MAX_TRACKED_CALLS {
            self.0.pop_last();
        }
    }
}

fn hash_result(outcome: &Outcome) -> Option<u64> {
    let text = match outcome.verdict {
        Verdict::Returned => outcome.value.as_ref()?.hash.as_ref()?,
        // Only the type counts: messages contain addresses and times.
        Verdict::Raised | Verdict::Refused => &outcome.exception.as_ref()?.kind,
        _ => return None,
    };
    Some(Seed(outcome.verdict as u64).derive(text).0)
}

fn hash_input(call: &Call) -> u64 {
    let Call { step, seed, fixtures, .. } = call;
    let CallStep { target, receiver, args, kwargs, .. } = step;
    let mut digest = FnvDigest(Seed(*seed).derive("call").0);
    // For values that JSON cannot hold the hash is only less specific.
    let _ = serde_json::to_writer(&mut digest, &(target, receiver, args, kwargs, fixtures));
    digest.0
}

/// FNV-1a hash of the written bytes.
struct FnvDigest(u64);

impl Write for FnvDigest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
