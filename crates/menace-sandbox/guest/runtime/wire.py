"""Frames on the control socket: `MNC2`, a little-endian u32 length, a marshalled dictionary.

`zygote` interprets them. Invariant: when init is gone or a frame is invalid, the process ends.
"""

from __future__ import annotations

from marshal import dumps, loads
from posix import _exit, read, write

MAGIC = b"MNC2"
MAX_FRAME_BYTES = 16 << 20
EXIT_INIT_GONE = 0
EXIT_INVALID_FRAME = 71


class Wire:
    """One end of the control socket."""

    __slots__ = ("descriptor", "pending")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.pending = b""

    def _fill(self, wanted: int) -> None:
        """Reads until `wanted` bytes are pending; most frames arrive in one read."""
        while len(self.pending) < wanted:
            try:
                chunk = read(self.descriptor, max(65536, wanted - len(self.pending)))
            except InterruptedError:
                continue
            except OSError:
                _exit(EXIT_INIT_GONE)
            if not chunk:
                _exit(EXIT_INIT_GONE)
            self.pending = self.pending + chunk if self.pending else chunk

    def receive(self) -> dict:
        """Receives a frame; returns its dictionary."""
        self._fill(8)
        length = int.from_bytes(self.pending[4:8], "little")
        if self.pending[:4] != MAGIC or length > MAX_FRAME_BYTES:
            _exit(EXIT_INVALID_FRAME)
        end = 8 + length
        self._fill(end)
        body = self.pending[8:end]
        self.pending = self.pending[end:]
        try:
            message = loads(body)
        except Exception:
            _exit(EXIT_INVALID_FRAME)
        if type(message) is not dict:
            _exit(EXIT_INVALID_FRAME)
        return message

    def send(self, message: dict) -> None:
        """Sends one frame."""
        body = dumps(message, 2)
        rest = MAGIC + len(body).to_bytes(4, "little") + body
        while rest:
            try:
                sent = write(self.descriptor, rest)
            except InterruptedError:
                continue
            except OSError:
                _exit(EXIT_INIT_GONE)
            rest = rest[sent:]
