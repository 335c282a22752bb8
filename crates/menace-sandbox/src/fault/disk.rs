//! A disk that is full, slow, or fails to read.

use std::time::Duration;

use nix::errno::Errno;

use super::Struck;
use super::files::Touch;
use super::schedule::Schedule;
use crate::confine::Answer;

/// Of those that strike by chance, so many are only slow.
const SLOW: f64 = 0.5;
const DELAY_MS: (i64, i64) = (2, 50);

pub(super) fn strike(touch: &Touch, schedule: &mut Schedule) -> Option<Struck> {
    if schedule.is_aimed() {
        // A single failing read tells little: what is aimed at are changes.
        if touch.reads() {
            return None;
        }
        return schedule.strikes_for_good().then(|| failure(touch));
    }
    if !schedule.strikes() {
        return None;
    }
    let random = schedule.random();
    if random.chance(SLOW) {
        let delay = random.between(DELAY_MS.0, DELAY_MS.1).unsigned_abs();
        return Some(Struck::Delay(Duration::from_millis(delay)));
    }
    Some(failure(touch))
}

fn failure(touch: &Touch) -> Struck {
    let broken = touch.reads() || touch.is_sync();
    Struck::Answer(Answer::Refuse(if broken { Errno::EIO } else { Errno::ENOSPC }))
}
