"""Tells where the code is when it cannot tell by itself: as it crashes, and when the init asks.

The interpreter's own handlers write the frames, so that it works while the guest holds the interpreter,
waits for ever or has spoilt its memory. They are set once, before the first fork: a call pays nothing.
Whoever closes the descriptor or sets other handlers is not told of, and nothing else changes.
"""

from faulthandler import enable, register
from posix import set_inheritable

from guest_mode import ASKED


def tell(descriptor):
    """From here on, also in every fork."""
    set_inheritable(descriptor, False)
    enable(descriptor, all_threads=False)
    register(ASKED, descriptor, all_threads=False, chain=False)
