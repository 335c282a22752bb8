"""Writes the stack of a process that crashes, or that init is about to kill.

`faulthandler` writes the frames, so this works while the guest holds the interpreter lock, waits
for ever or has corrupted its memory. The handlers are installed once, before the first fork, and
cost a call nothing. When the guest closes the descriptor or sets other handlers, no stack is
reported.
"""

from __future__ import annotations

from faulthandler import enable, register
from posix import set_inheritable

from runtime.guest_mode import STACK_REQUEST


def install_handlers(descriptor: int) -> None:
    """Installs the handlers in this process and all its forks."""
    set_inheritable(descriptor, False)
    enable(descriptor, all_threads=False)
    register(STACK_REQUEST, descriptor, all_threads=False, chain=False)
