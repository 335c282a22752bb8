//! Grows the stack for syntax trees that are deeper than hand-written code.

/// Stack that the frames between two checks may need, with a wide margin.
const STACK_RED_ZONE_BYTES: usize = 128 * 1024;
const STACK_SEGMENT_BYTES: usize = 4 * 1024 * 1024;

/// Unused stack takes no memory.
pub(crate) const LARGE_STACK_BYTES: usize = 256 << 20;

/// Runs `visit`, on a larger stack when this one is nearly used up.
///
/// The parser grows its stack too, so a tree may be as deep as the file is long.
pub(crate) fn with_growing_stack<R>(visit: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, visit)
}

/// Runs `visit` on a stack that has room for any tree that `parse` lets through.
pub(crate) fn with_large_stack<R>(visit: impl FnOnce() -> R) -> R {
    stacker::grow(LARGE_STACK_BYTES, visit)
}
