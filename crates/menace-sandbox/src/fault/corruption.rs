//! The `disk_corruption` fault: flips bits of data that the guest writes.

use nix::errno::Errno;

use super::schedule::FaultSchedule;
use super::{InjectedFault, substitute_write};
use crate::confine::{SyscallNotification, SyscallResponse};

/// Refuses `sendfile` and `copy_file_range`, whose data never passes through init and so cannot be
/// corrupted. `EINVAL` is what file systems without such copies return: programs fall back to
/// reading and writing.
pub(super) const REFUSE_KERNEL_COPY: InjectedFault =
    InjectedFault::Answer(SyscallResponse::Refuse(Errno::EINVAL));

/// Makes the guest's write in its place, with one bit of the data flipped.
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
        // Init could not read the data or make the write: the kernel makes it, uncorrupted.
        schedule.undo_last_injection();
    }
    written.map(|count| InjectedFault::Answer(SyscallResponse::Return(count)))
}
