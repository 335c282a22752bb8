"""Whoever a call talks to: names resolve, connections are answered, and all of it is noted.

What is answered comes from `answering` and `spoiling`, how long it takes from `link`, the sockets
are `plugging`'s and `serving`'s. Invariant: nothing leaves the process, and no internet socket is
made for a connection that is answered here.
"""

from errno import ECONNREFUSED, EHOSTUNREACH
from time import sleep

from _socket import timeout as TimedOut
from _thread import allocate_lock
from answering import Mocks, origin, written
from link import Link
from posix import getpid
from serving import END, RESET, SILENCE, Server
from spoiling import BEFORE_ANSWER, GARBAGE, KINDS, RAW_KINDS, spoilt
from strikes import Dice, take_turns

MOST_REQUESTS = 256
LONGEST = 500
BANNER = b"220 ready\r\n"
# Long enough to be felt, for who waits with a timeout of their own.
SHORTLY = 0.05
TLS_PORTS = (443, 8443)
# Names lead to addresses that nobody has.
PREFIX_4, PREFIX_6 = "198.18.", "fd00::"


class Upstream:
    """The others, as one call sees them."""

    def __init__(self, upstream, network, seed, faults, spared):
        self.spared = spared
        self.mocks = Mocks(upstream)
        self.link = Link(network, Dice(seed, "link"))
        self.flaky = faults.get("flaky_upstream")
        self.drift = faults.get("schema_drift")
        self.broken = faults.get("network")
        self.parted = faults.get("network_partition")
        take_turns((self.parted, self.flaky, self.broken), seed)
        # Whether those that were talked to so far are cut off.
        self.peers = {}
        self.kinds = Dice(seed, "kind of failure")
        # How it fails, if that is not left to the dice.
        self.failure = upstream.get("failure")
        self.requests = []
        # So many of them are noted.
        self.most = MOST_REQUESTS
        self.without_timeout = 0
        self.addresses = {}
        self.names = {}
        # By the inode of the socket that the client has.
        self.connections = {}
        self.own_ports = set()
        self.lock = allocate_lock()
        self.server = None

    def report(self):
        """What was asked and told, once nobody is to be answered any more."""
        if self.server is not None:
            self.server.halt()
        for connection in list(self.connections.values()):
            connection.close()
        requests = [[what, answer] for what, answer in self.requests]
        return {"requests": requests, "without_timeout": self.without_timeout}

    def threads(self):
        """The threads that are ours."""
        return () if self.server is None else (self.server.thread,)

    def address_of(self, name, version=4):
        """The address that a name leads to."""
        with self.lock:
            number = self.addresses.setdefault(name, len(self.addresses) + 1)
            if version == 6:
                address = PREFIX_6 + format(number, "x")
            else:
                address = PREFIX_4 + str(number >> 8 & 255) + "." + str(number & 255)
            self.names[address] = name
            return address

    def connect(self, connection, host, port, patience, loop):
        """Connects, or raises what a kernel would; `patience` is the client's timeout."""
        name = self.names.get(host, host)
        what = "tcp " + name + ":" + str(port)
        with self.lock:
            handshake = self.link.one_way() + self.link.one_way()
            cut = self._is_cut(what, name, host, port)
            known = not cut and self.mocks.knows(name, port)
            fate = self._fate() if known else None
        if patience != 0:
            if patience is not None and handshake > patience:
                sleep(patience)
                self._note(what, "too late")
                raise TimedOut("timed out")
            sleep(handshake)
        if cut:
            self._note(what, "unreachable")
            raise OSError(EHOSTUNREACH, "No route to host")
        if not known or fate is not None and fate[1] == "refused":
            if known:
                fate[0].strike(what + ": refused")
            self._note(what, "refused")
            raise ConnectionRefusedError(ECONNREFUSED, "Connection refused")
        connection.begin(name, port, fate, loop, handshake if patience == 0 else 0.0)
        if self.server is None or self.server.process != getpid():
            with self.spared:
                self.server = Server(self)
        self.server.add(connection)

    def waited(self, patience):
        """Somebody waits for an answer that never comes: raises what a timeout raises."""
        if patience is None:
            self.without_timeout += 1
        else:
            sleep(min(patience, SHORTLY))
        raise TimedOut("timed out")

    def greet(self, connection):
        """Says something to who waits before having said anything."""
        with self.lock:
            self._note("tcp " + connection.place(), "banner")
        return BANNER

    def answer(self, connection, request):
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
            data = written(mock["status"], mock["headers"], body, request.method, request.keeps)
            return seconds, data, None if request.keeps else END
        return self._spoilt(what, fate, seconds, request.method, mock["body"])

    def echo(self, connection, data):
        """`(seconds, bytes, what follows)` for what is no request."""
        what = "tcp " + connection.place()
        with self.lock:
            fate = self._next_fate(connection)
            seconds = self.link.one_way() + self.link.one_way() + connection.late
        if fate is None:
            self._note(what, "echo")
            return seconds, data, None
        felt, kind = fate
        return self._spoilt(
            what, (felt, kind if kind in RAW_KINDS else "garbage"), seconds, None, b""
        )

    def _spoilt(self, what, fate, seconds, method, good):
        felt, kind = fate
        kind = "reset" if kind == "refused" else kind
        felt.strike(what + ": " + kind)
        self._note(what, kind)
        if kind == "silence":
            return seconds, b"", SILENCE
        if kind == "reset":
            return seconds, b"", RESET
        return seconds, GARBAGE if method is None else spoilt(kind, method, good), END

    def _fate(self):
        """What goes wrong at the next request, if anything does: the fault, and how it strikes."""
        if self.flaky is not None and self.flaky.strikes():
            return self.flaky, self.failure or self.kinds.pick(self.flaky.offered, KINDS)
        if self.broken is not None and self.broken.strikes():
            # A link knows nothing of what is said over it.
            return self.broken, self.kinds.pick(self.broken.offered, BEFORE_ANSWER)
        return None

    def _is_cut(self, what, name, host, port):
        """Whether somebody is out of reach: those that were named, else some of them by chance."""
        parted = self.parted
        if parted is None:
            return self.link.cuts((name, host), port)
        peer = (name, port) if self.link.partition else name
        if peer not in self.peers:
            cut = parted.strikes()
            if self.link.partition:
                cut = self.link.cuts((name, host), port)
            self.peers[peer] = cut
            if cut:
                parted.strike(what + ": cut off")
        return self.peers[peer]

    def _next_fate(self, connection):
        """The first request has the one that was decided when it connected."""
        if connection.fresh:
            connection.fresh = False
            return connection.fate
        return self._fate()

    def _drifted(self, what, body):
        if self.drift is None:
            return body
        from drifting import drifted_json

        with self.lock:
            made = drifted_json(body, self.drift.dice, self.drift.offered + 1)
            if made is None or not self.drift.strikes():
                return body
            self.drift.strike(what + ": " + made[1])
        return made[0]

    def _note(self, what, answer):
        if len(self.requests) < self.most:
            self.requests.append((what[:LONGEST], answer))
