"""The server ends of a call's connections, and the thread that serves them.

`service` decides what is replied. Invariant: the thread never waits for a client, and once it has
been halted it changes nothing any more, and its descriptors are closed.
"""

from __future__ import annotations

from _socket import SHUT_WR, socket
from _thread import allocate_lock, stack_size, start_new_thread
from fcntl import ioctl
from posix import close, getpid, pipe, read, write
from select import POLLHUP, POLLIN, POLLOUT, poll
from termios import FIONREAD
from time import monotonic

from upstream.http import expects_continue, parse, speaks_http

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable
    from typing import Any

    from upstream.service import Upstream

# What follows a reply.
END, RESET, SILENCE = "end", "reset", "silence"
STACK = 1 << 19
gettimeout = socket.gettimeout
HALT_TIMEOUT_SECONDS = 0.5
# Interval at which idle event loops are checked.
POLL_SECONDS = 0.05
# A client that has waited this long for a reply has set no timeout.
NO_TIMEOUT_SECONDS = 900.0
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Connection:
    """One connection, from the socket's creation on; `far` is the harness's end of it."""

    __slots__ = (
        "buffer",
        "continue_sent",
        "far",
        "fate",
        "fresh",
        "greeted",
        "host",
        "idle",
        "late",
        "look_at",
        "loop",
        "near",
        "number",
        "open",
        "options",
        "out",
        "port",
        "reset",
        "silent",
        "tls",
        "waited",
    )

    def __init__(self, near: Callable, far: socket) -> None:
        self.near = near
        self.far = far
        self.number = far.fileno()
        self.options: list = []
        self.buffer = b""
        self.out: list = []
        self.open = self.reset = self.silent = self.tls = self.greeted = False
        self.fresh = True
        self.continue_sent = False
        self.host: str | None = None
        self.port: int | None = None
        self.fate: tuple | None = None
        self.loop: Any = None
        self.look_at: float | None = None
        self.late = self.waited = 0.0
        self.idle = 0

    def begin(self, host: str, port: int, fate: tuple | None, loop: Any, late: float) -> None:
        """Marks the connection as established."""
        self.host = host
        self.port = port
        self.fate = fate
        self.loop = loop
        self.late = late
        self.open = True

    def place(self) -> str:
        """Host and port that it leads to."""
        return self.host + ":" + str(self.port)

    def is_over(self) -> bool:
        """Whether it was established and the client has closed it."""
        return self.host is not None and not self.open and not self.reset and self.near() is None

    def has_unread(self) -> bool:
        """Whether the client has sent data that has not been read yet."""
        count = bytearray(4)
        ioctl(self.number, FIONREAD, count)
        return any(count)

    def poke(self) -> None:
        """Wakes a client that waits for data."""
        try:
            self.far.shutdown(SHUT_WR)
        except OSError:
            pass

    def close(self) -> None:
        """Closes the harness's end."""
        self.open = False
        self.far.close()


class Server:
    """The serving thread, with all connections of this process."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self.process = getpid()
        self.turn = allocate_lock()
        self.poller = poll()
        self.served: dict = {}
        self.added: list = []
        self.woken, self.wake = pipe()
        self.poller.register(self.woken, POLLIN)
        before = stack_size(STACK)
        try:
            self.thread = start_new_thread(self._serve, ())
        finally:
            stack_size(before)

    def add(self, connection: Connection) -> None:
        """Serves this connection, too."""
        self.added.append(connection)
        write(self.wake, b"+")

    def halt(self) -> None:
        """Stops serving for good. The thread stays, since one that is ending cannot be counted."""
        if self.process != getpid() or not self.turn.acquire(timeout=HALT_TIMEOUT_SECONDS):
            return
        for number in (self.woken, self.wake):
            close(number)

    def _serve(self) -> None:
        while True:
            try:
                ready = self.poller.poll(self._next_due())
            except OSError:
                ready = []
            self.turn.acquire()
            for number, _ in ready:
                if number == self.woken:
                    read(number, 4096)
            while self.added:
                connection = self.added.pop()
                connection.far.setblocking(False)
                self.served[connection.number] = connection
            for number, events in ready:
                connection = self.served.get(number)
                if connection is not None and events & (POLLIN | POLLHUP):
                    self._guarded(self._listen, connection)
            for connection in list(self.served.values()):
                self._guarded(self._speak, connection)
            self.turn.release()

    def _guarded(self, action: Callable, connection: Connection) -> None:
        try:
            action(connection)
        except Exception:
            self._drop(connection)

    def _next_due(self) -> float | None:
        """Milliseconds until something has to be done, for the poll."""
        due = None
        for number, connection in self.served.items():
            events = POLLIN
            if connection.out:
                first = connection.out[0][0]
                if first is None:
                    events |= POLLOUT
                else:
                    due = first if due is None else min(due, first)
            if connection.look_at is not None:
                due = connection.look_at if due is None else min(due, connection.look_at)
            self.poller.register(number, events)
        return None if due is None else max(0, (due - monotonic()) * 1000 + 1)

    def _listen(self, connection: Connection) -> None:
        try:
            data = connection.far.recv(1 << 16)
        except BlockingIOError:
            return
        if not data:
            self._drop(connection)
            return
        connection.buffer += data
        while connection.buffer and not connection.silent:
            speaks = speaks_http(connection.buffer)
            if speaks is None:
                return
            if not speaks:
                data, connection.buffer = connection.buffer, b""
                self._answer(connection, self.upstream.echo(connection, data))
                return
            request = parse(connection.buffer)
            if request is None:
                if expects_continue(connection.buffer) and not connection.continue_sent:
                    connection.continue_sent = True
                    connection.out.append((monotonic(), CONTINUE))
                return
            connection.continue_sent = False
            connection.buffer = connection.buffer[request.length :]
            self._answer(connection, self.upstream.answer(connection, request))

    def _answer(self, connection: Connection, answer: tuple) -> None:
        seconds, data, then = answer
        start = monotonic() + seconds
        if data:
            for later, piece in self.upstream.link.pieces(data):
                connection.out.append((start + later, piece))
                last = start + later
            start = last
        if then is not None:
            connection.out.append((start, then))

    def _speak(self, connection: Connection) -> None:
        now = monotonic()
        out = connection.out
        while out and (out[0][0] is None or out[0][0] <= now):
            _, piece = out.pop(0)
            if type(piece) is bytes:
                try:
                    sent = connection.far.send(piece)
                except BlockingIOError:
                    sent = 0
                if sent < len(piece):
                    # The rest is sent as soon as there is room.
                    out.insert(0, (None, piece[sent:]))
                    return
            elif piece is SILENCE:
                self._stop_replying(connection)
            else:
                connection.reset = piece is RESET
                self._drop(connection)
                return
        if connection.look_at is not None and connection.look_at <= now:
            self._look(connection)

    def _stop_replying(self, connection: Connection) -> None:
        near = connection.near()
        if near is not None and gettimeout(near) == 0 and connection.loop is not None:
            # Only the event loop knows whether it will wait for ever.
            connection.look_at = monotonic() + POLL_SECONDS
            return
        connection.silent = True
        connection.poke()

    def _look(self, connection: Connection) -> None:
        """If the client's event loop is idle, advances its clock, or lets it time out."""
        connection.look_at = monotonic() + POLL_SECONDS
        loop = connection.loop
        try:
            idle = not loop._ready
            timers = [timer._when for timer in list(loop._scheduled) if not timer._cancelled]
        except Exception:
            return
        connection.idle = connection.idle + 1 if idle else 0
        if connection.idle < 2:
            return
        if timers and connection.waited < NO_TIMEOUT_SECONDS:
            # The loop only waits for its next timer: advance its clock to it.
            connection.idle = 0
            connection.waited += max(0.0, min(timers) - loop.time())
            loop.call_soon_threadsafe(_pass_time, loop)
            return
        connection.look_at = None
        self.upstream.without_timeout += 1
        connection.silent = True
        connection.poke()

    def _drop(self, connection: Connection) -> None:
        self.served.pop(connection.number, None)
        try:
            self.poller.unregister(connection.number)
        except (KeyError, OSError):
            pass
        connection.close()


def _pass_time(loop: Any) -> None:
    """Advances an event loop's clock to its first timer."""
    timers = [timer._when for timer in loop._scheduled if not timer._cancelled]
    if timers:
        seconds = min(timers) - loop.time()
        if seconds > 0:
            before = loop.time
            loop.time = lambda: before() + seconds
