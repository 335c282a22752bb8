//! Bits that are flipped on their way to the disk.

use nix::errno::Errno;

use super::schedule::Schedule;
use super::{Struck, instead};
use crate::confine::{Answer, Notice};

/// What the kernel copies by itself never comes by here. Some file systems cannot do that: whoever
/// copies then reads and writes.
pub(super) const REFUSED_COPY: Struck = Struck::Answer(Answer::Refuse(Errno::EINVAL));

/// Writes what the guest wants to write, with one bit of it flipped.
pub(super) fn strike(notice: &Notice, schedule: &mut Schedule) -> Option<Struck> {
    if !schedule.strikes() {
        return None;
    }
    let random = schedule.random();
    let written = instead::write(notice, |data| {
        if !data.is_empty() {
            let bit = random.below(data.len() as u64 * 8);
            data[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    });
    if written.is_none() {
        // The guest writes by itself, and nothing is spoilt.
        schedule.missed();
    }
    written.map(|count| Struck::Answer(Answer::Return(count)))
}
