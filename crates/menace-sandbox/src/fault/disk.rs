//! The `disk` fault: a disk that is full, slow, or fails to read.

use std::time::Duration;

use nix::errno::Errno;

use super::InjectedFault;
use super::file_access::FileAccess;
use super::schedule::FaultSchedule;
use super::substitute_write;
use crate::confine::{SyscallNotification, SyscallResponse};

/// The share of faults injected by rate that are a delay instead of an error.
const SLOW_SHARE: f64 = 0.5;
const SLOW_DELAY_MS: (i64, i64) = (2, 50);

pub(super) fn inject(
    notice: &SyscallNotification,
    touch: &FileAccess,
    schedule: &mut FaultSchedule,
) -> Option<InjectedFault> {
    if schedule.is_single_target() {
        // With a chosen opportunity the fault targets changes: a single failing read reveals
        // little. Files can still be removed and renamed on a full disk.
        let is_full = schedule.injected > 0;
        if touch.is_read() || is_full && !touch.needs_disk_space() {
            return None;
        }
        let injects = schedule.should_inject_persistent();
        return injects.then(|| {
            inject_partial_write(notice, touch, is_full).unwrap_or_else(|| disk_error(touch))
        });
    }
    if !schedule.should_inject() {
        return None;
    }
    let random = schedule.rng();
    if random.chance(SLOW_SHARE) {
        let delay = random.next_between(SLOW_DELAY_MS.0, SLOW_DELAY_MS.1).unsigned_abs();
        return Some(InjectedFault::Delay(Duration::from_millis(delay)));
    }
    Some(disk_error(touch))
}

/// The first write to a full disk is cut to half of its data; later ones fail.
fn inject_partial_write(
    notice: &SyscallNotification,
    touch: &FileAccess,
    is_full: bool,
) -> Option<InjectedFault> {
    if is_full || !touch.is_data_write() {
        return None;
    }
    let written = substitute_write::write_for_guest(notice, |data| data.truncate(data.len() / 2))?;
    Some(InjectedFault::Answer(SyscallResponse::Return(written)))
}

fn disk_error(touch: &FileAccess) -> InjectedFault {
    let broken = touch.is_read() || touch.is_sync();
    InjectedFault::Answer(SyscallResponse::Refuse(if broken { Errno::EIO } else { Errno::ENOSPC }))
}
