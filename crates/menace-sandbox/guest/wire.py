# ruff: noqa: BLE001 (the guest may raise anything, anywhere)
"""Frames on the control socket: `MNC1`, a little-endian u32 length, a marshalled dictionary.

What the frames mean belongs to `zygote`. Invariant: when the other side is gone or talks nonsense,
the process ends; there is nobody left to tell.
"""

from marshal import dumps, loads
from posix import _exit, read, write

MAGIC = b"MNC1"
LARGEST = 16 << 20
NOBODY_THERE = 0
NONSENSE = 71


class Wire:
    """One end of the control socket."""

    __slots__ = ("descriptor", "pending")

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.pending = b""

    def _fill(self, wanted):
        """Reads until `wanted` bytes are pending; most frames come with one read."""
        while len(self.pending) < wanted:
            try:
                chunk = read(self.descriptor, max(65536, wanted - len(self.pending)))
            except InterruptedError:
                continue
            except OSError:
                _exit(NOBODY_THERE)
            if not chunk:
                _exit(NOBODY_THERE)
            self.pending = self.pending + chunk if self.pending else chunk

    def receive(self):
        """The next frame's dictionary."""
        self._fill(8)
        length = int.from_bytes(self.pending[4:8], "little")
        if self.pending[:4] != MAGIC or length > LARGEST:
            _exit(NONSENSE)
        end = 8 + length
        self._fill(end)
        body = self.pending[8:end]
        self.pending = self.pending[end:]
        try:
            message = loads(body)
        except Exception:
            _exit(NONSENSE)
        if type(message) is not dict:
            _exit(NONSENSE)
        return message

    def send(self, message):
        """Sends one frame completely."""
        body = dumps(message, 2)
        rest = MAGIC + len(body).to_bytes(4, "little") + body
        while rest:
            try:
                sent = write(self.descriptor, rest)
            except InterruptedError:
                continue
            except OSError:
                _exit(NOBODY_THERE)
            rest = rest[sent:]
