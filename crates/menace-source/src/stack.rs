//! Room on the stack for trees that are deeper than any that people write.

/// What the frames between two probes may need, with a wide margin.
const RED_ZONE: usize = 128 * 1024;
const SEGMENT: usize = 4 * 1024 * 1024;

/// Only what is used takes memory.
pub(crate) const ROOMY: usize = 256 << 20;

/// Runs `visit`, on a larger stack when this one is nearly used up.
///
/// The parser grows its stack too, so a tree may be as deep as the file is long.
pub(crate) fn grown<R>(visit: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(RED_ZONE, SEGMENT, visit)
}

/// Runs `visit` on a stack that has room for any tree that `parse` lets through.
pub(crate) fn roomy<R>(visit: impl FnOnce() -> R) -> R {
    stacker::grow(ROOMY, visit)
}
