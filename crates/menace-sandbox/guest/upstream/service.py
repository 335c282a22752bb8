"""The services that a call connects to: resolves names, replies, and records the requests.

Replies come from `http` and `corrupt_replies`, delays from `link`, the sockets from `sockets` and
`server`. Invariant: nothing leaves the process, and no internet socket is created for a connection
that is answered here.
"""

from __future__ import annotations

from _socket import timeout as TimedOut
from _thread import allocate_lock
from errno import ECONNREFUSED, EHOSTUNREACH
from posix import getpid
from time import sleep

from faults.injection import FaultRandom, choose_first_fault
from upstream.corrupt_replies import BEFORE_ANSWER, GARBAGE, KINDS, RAW_KINDS, corrupt_reply
from upstream.http import Mocks, encode_reply, origin
from upstream.link import Link
from upstream.server import END, RESET, SILENCE, Server

if False:  # for type checkers only: nothing is loaded at run time
    from faults.injection import FaultMask
    from upstream.http import Request
    from upstream.server import Connection

MAX_REQUESTS = 256
MAX_REQUEST_CHARS = 500
BANNER = b"220 ready\r\n"
# A client with a timeout waits at most this long for a reply that never comes.
MAX_TIMEOUT_SLEEP_SECONDS = 0.05
TLS_PORTS = (443, 8443)
# Names resolve to addresses of ranges that no host has.
PREFIX_4, PREFIX_6 = "198.18.", "fd00::"


class Upstream:
    """All services of one call."""

    def __init__(
        self, upstream: dict, network: dict, seed: int, faults: dict, fault_mask: FaultMask
    ) -> None:
        self.fault_mask = fault_mask
        self.mocks = Mocks(upstream)
        self.link = Link(network, FaultRandom(seed, "link"))
        self.flaky = faults.get("flaky_upstream")
        self.drift = faults.get("schema_drift")
        self.network_fault = faults.get("network")
        self.partition_fault = faults.get("network_partition")
        choose_first_fault((self.partition_fault, self.flaky, self.network_fault), seed)
        # For each peer that was connected to, whether it is cut off.
        self.peers: dict = {}
        self.kinds = FaultRandom(seed, "kind of failure")
        # How the service fails; with `None` the seed chooses.
        self.failure = upstream.get("failure")
        self.requests: list = []
        # How many requests are recorded.
        self.most = MAX_REQUESTS
        self.without_timeout = 0
        self.addresses: dict = {}
        self.names: dict = {}
        # Connections by the inode of the client's socket.
        self.connections: dict = {}
        self.own_ports: set = set()
        self.lock = allocate_lock()
        self.server: Server | None = None

    def report(self) -> dict:
        """The requests and their replies; stops the server."""
        if self.server is not None:
            self.server.halt()
        for connection in list(self.connections.values()):
            connection.close()
        requests = [[what, answer] for what, answer in self.requests]
        return {"requests": requests, "without_timeout": self.without_timeout}

    def threads(self) -> tuple:
        """The threads of the harness."""
        return () if self.server is None else (self.server.thread,)

    def address_of(self, name: str, version: int = 4) -> str:
        """The address to which a name resolves."""
        with self.lock:
            number = self.addresses.setdefault(name, len(self.addresses) + 1)
            if version == 6:
                address = PREFIX_6 + format(number, "x")
            else:
                address = PREFIX_4 + str(number >> 8 & 255) + "." + str(number & 255)
            self.names[address] = name
            return address

    def connect(
        self, connection: Connection, host: str, port: int, timeout: float | None, loop: object
    ) -> None:
        """Connects, or raises what the kernel would; `timeout` is the client's."""
        name = self.names.get(host, host)
        what = "tcp " + name + ":" + str(port)
        with self.lock:
            handshake = self.link.one_way() + self.link.one_way()
            cut = self._is_cut(what, name, host, port)
            known = not cut and self.mocks.knows(name, port)
            fate = self._fate() if known else None
        if timeout != 0:
            if timeout is not None and handshake > timeout:
                sleep(timeout)
                self._note(what, "too late")
                raise TimedOut("timed out")
            sleep(handshake)
        if cut:
            self._note(what, "unreachable")
            raise OSError(EHOSTUNREACH, "No route to host")
        if not known or fate is not None and fate[1] == "refused":
            if known:
                fate[0].record(what + ": refused")
            self._note(what, "refused")
            raise ConnectionRefusedError(ECONNREFUSED, "Connection refused")
        connection.begin(name, port, fate, loop, handshake if timeout == 0 else 0.0)
        if self.server is None or self.server.process != getpid():
            with self.fault_mask:
                self.server = Server(self)
        self.server.add(connection)

    def waited(self, timeout: float | None) -> None:
        """Raises the exception of a timeout, for a client whose reply never comes."""
        if timeout is None:
            self.without_timeout += 1
        else:
            sleep(min(timeout, MAX_TIMEOUT_SLEEP_SECONDS))
        raise TimedOut("timed out")

    def greet(self, connection: Connection) -> bytes:
        """The banner for a client that reads before it has sent anything."""
        with self.lock:
            self._note("tcp " + connection.place(), "banner")
        return BANNER

    def answer(self, connection: Connection, request: Request) -> tuple:
        """`(seconds, bytes, what follows)` for a request."""
        scheme = "https" if connection.tls or connection.port in TLS_PORTS else "http"
        url = request.url(origin(scheme, connection.host, connection.port))
        what = request.method + " " + url
        with self.lock:
            fate = self._next_fate(connection)
            mock = self.mocks.find(request.method, url)
            seconds = self.link.one_way() + self.link.one_way() + self.link.transfer(request.length)
        if mock is None:
            self._note(what, "refused")
            return 0.0, b"", RESET
        seconds += mock["delay_ms"] / 1000 + connection.late
        connection.late = 0.0
        if fate is None:
            self._note(what, str(mock["status"]))
            body = self._drifted(what, mock["body"])
            data = encode_reply(
                mock["status"], mock["headers"], body, request.method, request.keep_alive
            )
            return seconds, data, None if request.keep_alive else END
        return self._corrupted(what, fate, seconds, request.method, mock["body"])

    def echo(self, connection: Connection, data: bytes) -> tuple:
        """`(seconds, bytes, what follows)` for data that is no HTTP request."""
        what = "tcp " + connection.place()
        with self.lock:
            fate = self._next_fate(connection)
            seconds = self.link.one_way() + self.link.one_way() + connection.late
        if fate is None:
            self._note(what, "echo")
            return seconds, data, None
        injector, kind = fate
        return self._corrupted(
            what, (injector, kind if kind in RAW_KINDS else "garbage"), seconds, None, b""
        )

    def _corrupted(
        self, what: str, fate: tuple, seconds: float, method: str | None, good: bytes
    ) -> tuple:
        injector, kind = fate
        kind = "reset" if kind == "refused" else kind
        injector.record(what + ": " + kind)
        self._note(what, kind)
        if kind == "silence":
            return seconds, b"", SILENCE
        if kind == "reset":
            return seconds, b"", RESET
        return seconds, GARBAGE if method is None else corrupt_reply(kind, method, good), END

    def _fate(self) -> tuple | None:
        """The fault of the next request and the kind of its failure, or `None`."""
        if self.flaky is not None and self.flaky.should_inject():
            return self.flaky, self.failure or self.kinds.pick(self.flaky.opportunities, KINDS)
        if self.network_fault is not None and self.network_fault.should_inject():
            # Failures of the link do not depend on the content: there are no corrupted replies.
            return self.network_fault, self.kinds.pick(
                self.network_fault.opportunities, BEFORE_ANSWER
            )
        return None

    def _is_cut(self, what: str, name: str, host: str, port: int) -> bool:
        """Whether a peer is cut off: a configured one, else one chosen by the seed."""
        partition_fault = self.partition_fault
        if partition_fault is None:
            return self.link.cuts((name, host), port)
        peer = (name, port) if self.link.partition else name
        if peer not in self.peers:
            cut = partition_fault.should_inject()
            if self.link.partition:
                cut = self.link.cuts((name, host), port)
            self.peers[peer] = cut
            if cut:
                partition_fault.record(what + ": cut off")
        return self.peers[peer]

    def _next_fate(self, connection: Connection) -> tuple | None:
        """The fate of the next request; that of the first was decided when it connected."""
        if connection.fresh:
            connection.fresh = False
            return connection.fate
        return self._fate()

    def _drifted(self, what: str, body: bytes) -> bytes:
        if self.drift is None:
            return body
        from faults.schema_drift import drifted_json

        with self.lock:
            made = drifted_json(body, self.drift.random, self.drift.opportunities + 1)
            if made is None or not self.drift.should_inject():
                return body
            self.drift.record(what + ": " + made[1])
        return made[0]

    def _note(self, what: str, answer: str) -> None:
        if len(self.requests) < self.most:
            self.requests.append((what[:MAX_REQUEST_CHARS], answer))
