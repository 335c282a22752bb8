//! The `disk_corruption` fault: flips bits of data that the guest writes.

use nix::errno::Errno;

use super::schedule::FaultSchedule;
use super::{InjectedFault, substitute_write};
use crate::confine::{SyscallNotification, SyscallResponse};

/// Data that the kernel copies by itself cannot be changed here. Some file systems do not support
/// such copies: programs then read and write.
pub(super) const REFUSE_KERNEL_COPY: InjectedFault =
    InjectedFault::Answer(SyscallResponse::Refuse(Errno::EINVAL));

/// Writes what the guest wants to write, with one bit of it flipped.
pub(super) fn inject(
    notice: &SyscallNotification,
    schedule: &mut FaultSchedule,
) -> Option<InjectedFault> {
    if !schedule.should_inject() {
        return None;
    }
    let random = schedule.rng();
    let written = substitute_write::write_for_guest(notice, |data| {
        if !data.is_empty() {
            let bit = random.next_below(data.len() as u64 * 8);
            data[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    });
    if written.is_none() {
        // The guest writes by itself, and nothing is corrupted.
        schedule.undo_last_injection();
    }
    written.map(|count| InjectedFault::Answer(SyscallResponse::Return(count)))
}
