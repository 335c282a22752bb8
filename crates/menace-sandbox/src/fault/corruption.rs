//! Bits that are flipped on their way to the disk.

use menace_model::Random;

use super::instead;
use crate::confine::Notice;

/// Writes what the guest wants to write, with one bit of it flipped.
pub(super) fn write(notice: &Notice, random: &mut Random) -> Option<i64> {
    instead::write(notice, |data| {
        if !data.is_empty() {
            let bit = random.below(data.len() as u64 * 8);
            data[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    })
}
