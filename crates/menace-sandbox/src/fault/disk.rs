//! A disk that is full, slow, or fails to read.

use std::time::Duration;

use nix::errno::Errno;

use super::Struck;
use super::files::Touch;
use super::instead;
use super::schedule::Schedule;
use crate::confine::{Answer, Notice};

/// Of those that strike by chance, so many are only slow.
const SLOW: f64 = 0.5;
const DELAY_MS: (i64, i64) = (2, 50);

pub(super) fn strike(notice: &Notice, touch: &Touch, schedule: &mut Schedule) -> Option<Struck> {
    if schedule.is_aimed() {
        // A single failing read tells little: what is aimed at are changes. A full disk still lets
        // go of files, and gives them other names.
        let is_full = schedule.struck > 0;
        if touch.reads() || is_full && !touch.takes_space() {
            return None;
        }
        let strikes = schedule.strikes_for_good();
        return strikes.then(|| cut_off(notice, touch, is_full).unwrap_or_else(|| failure(touch)));
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

/// The disk is full in the middle of a write: half of it still fits.
fn cut_off(notice: &Notice, touch: &Touch, is_full: bool) -> Option<Struck> {
    if is_full || !touch.writes_data() {
        return None;
    }
    let written = instead::write(notice, |data| data.truncate(data.len() / 2))?;
    Some(Struck::Answer(Answer::Return(written)))
}

fn failure(touch: &Touch) -> Struck {
    let broken = touch.reads() || touch.is_sync();
    Struck::Answer(Answer::Refuse(if broken { Errno::EIO } else { Errno::ENOSPC }))
}
