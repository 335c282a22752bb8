"""Connects `socket` with the services of `upstream`: an internet socket becomes one end of a pair.

A socket that is bound, or connects to a port of this process, becomes a real one. Invariant:
sockets of other families are not changed.
"""

from __future__ import annotations

import _socket
import sys
from _socket import (
    AF_INET,
    AF_INET6,
    AF_UNIX,
    SOCK_CLOEXEC,
    SOCK_DGRAM,
    SOCK_NONBLOCK,
    SOCK_STREAM,
    SOL_SOCKET,
)
from _weakref import ref
from errno import ECONNRESET, EISCONN, ENOTCONN
from posix import dup2, fstat
from select import POLLIN, poll

from upstream.server import Connection

if False:  # for type checkers only: nothing is loaded at run time
    from _socket import socket
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from upstream.service import Upstream

_Raw = _socket.socket
_gettimeout = _Raw.gettimeout
INTERNET = (AF_INET, AF_INET6)
FLAGS = SOCK_NONBLOCK | SOCK_CLOEXEC
LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")
# A client that has sent nothing gets a banner after this time.
GREETING_MS = 100
TCP, UDP = 6, 17
SERVICES = {"http": 80, "https": 443, "ftp": 21, "smtp": 25, "domain": 53, "ssh": 22}
_getaddrinfo = _socket.getaddrinfo


class SocketReplacement:
    """The methods that sockets get, and the state that they share."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self.connections = upstream.connections

    def of(self, sock: socket) -> Connection | None:
        """The connection of a socket, if the harness answers it."""
        number = _Raw.fileno(sock)
        return self.connections.get(fstat(number).st_ino) if number >= 0 else None

    def pair(self, sock: socket, initialise: Callable, family: int, kind: int, proto: int) -> None:
        """Makes the socket one end of a pair."""
        self.forget()
        near, far = _socket.socketpair(AF_UNIX, SOCK_STREAM)
        inode = fstat(near.fileno()).st_ino
        initialise(sock, family, kind & ~FLAGS, max(proto, 0), near.detach())
        if kind & SOCK_NONBLOCK:
            _Raw.setblocking(sock, False)
        self.connections[inode] = Connection(ref(sock), far)

    def forget(self) -> None:
        """Drops closed connections, which would count as memory that calls retain."""
        for inode, connection in list(self.connections.items()):
            if connection.is_over():
                self.connections.pop(inode, None)

    def make_real(self, sock: socket, connection: Connection) -> None:
        """Replaces the pair by a real internet socket with the options that were set."""
        self.connections.pop(fstat(_Raw.fileno(sock)).st_ino)
        connection.close()
        real = _Raw(sock.family, sock.type, sock.proto)
        dup2(real.fileno(), _Raw.fileno(sock), False)
        real.close()
        _Raw.settimeout(sock, _gettimeout(sock))
        for option in connection.options:
            _Raw.setsockopt(sock, *option)

    def wait(self, sock: socket) -> None:
        """Waits like the kernel until there is data to read; raises what it would."""
        connection = self.of(sock)
        if connection is None or not connection.open and not connection.host:
            return
        timeout = _gettimeout(sock)
        if timeout != 0:
            self._wait(sock, connection, timeout)
        if connection.silent:
            self.upstream.waited(0 if timeout == 0 else timeout)
        if connection.reset:
            raise ConnectionResetError(ECONNRESET, "Connection reset by peer")

    def _wait(self, sock: socket, connection: Connection, timeout: float | None) -> None:
        poller = poll()
        poller.register(_Raw.fileno(sock), POLLIN)
        if connection.greeted or not connection.fresh:
            poller.poll(None if timeout is None else timeout * 1000)
            return
        short = GREETING_MS if timeout is None else min(GREETING_MS, timeout * 1000)
        if poller.poll(short) or not connection.fresh or connection.has_unread():
            poller.poll(None if timeout is None else max(0, timeout * 1000 - short))
            return
        connection.greeted = True
        connection.far.send(self.upstream.greet(connection))


def replace_sockets(upstream: Upstream, module: ModuleType) -> SocketReplacement:
    """Replaces methods of `socket.socket`, and name lookup."""
    replacement = SocketReplacement(upstream)
    cls = module.socket
    initialise = cls.__init__
    methods: dict = {}

    def method(function):
        methods[function.__name__] = function
        return function

    @method
    def __init__(self, family=-1, type=-1, proto=-1, fileno=None) -> None:
        kind = SOCK_STREAM if type == -1 else int(type)
        wanted = AF_INET if family == -1 else int(family)
        if fileno is None and wanted in INTERNET and kind & ~FLAGS == SOCK_STREAM:
            replacement.pair(self, initialise, wanted, kind, proto)
        else:
            initialise(self, family, type, proto, fileno)

    @method
    def connect(self, address):
        connection = replacement.of(self)
        if connection is None:
            return _Raw.connect(self, address)
        if connection.open:
            raise OSError(EISCONN, "Transport endpoint is already connected")
        host, port = address[:2]
        if port in upstream.own_ports and str(host).startswith(LOOPBACK):
            replacement.make_real(self, connection)
            return _Raw.connect(self, address)
        return upstream.connect(connection, str(host), port, _gettimeout(self), _running_loop())

    @method
    def connect_ex(self, address):
        if replacement.of(self) is None:
            return _Raw.connect_ex(self, address)
        try:
            self.connect(address)
        except OSError as error:
            if error.errno is None:
                raise
            return error.errno
        return 0

    @method
    def bind(self, address):
        connection = replacement.of(self)
        if connection is not None:
            replacement.make_real(self, connection)
        return _Raw.bind(self, address)

    @method
    def listen(self, *backlog) -> None:
        connection = replacement.of(self)
        if connection is not None:
            replacement.make_real(self, connection)
        _Raw.listen(self, *backlog)
        name = _Raw.getsockname(self)
        if type(name) is tuple and len(name) > 1:
            upstream.own_ports.add(name[1])

    @method
    def setsockopt(self, level, option, *value):
        connection = replacement.of(self)
        if connection is None:
            return _Raw.setsockopt(self, level, option, *value)
        connection.options.append((level, option, *value))
        return None

    @method
    def getsockopt(self, level, option, *length):
        if replacement.of(self) is None or level == SOL_SOCKET:
            return _Raw.getsockopt(self, level, option, *length)
        return bytes(length[0]) if length else 0

    @method
    def getpeername(self):
        connection = replacement.of(self)
        if connection is None:
            return _Raw.getpeername(self)
        if connection.host is None:
            raise OSError(ENOTCONN, "Transport endpoint is not connected")
        return _address(self.family, connection.host, connection.port, upstream)

    @method
    def getsockname(self):
        connection = replacement.of(self)
        if connection is None:
            return _Raw.getsockname(self)
        here = ("::1", 0, 0, 0) if self.family == AF_INET6 else ("127.0.0.1", 0)
        return (here[0], 32768 + connection.number, *here[2:])

    for name in ("recv", "recv_into", "recvfrom", "recvfrom_into", "recvmsg", "recvmsg_into"):
        method(_receiving(name, replacement))
    for name, function in methods.items():
        function.__qualname__ = "socket." + name
        setattr(cls, name, function)
    _replace_name_lookup(upstream, module)
    return replacement


def replace_name_lookup(module: ModuleType) -> None:
    """Lets event loops resolve names at once, without a thread of their own for it."""

    async def getaddrinfo(self, host, port, *, family=0, type=0, proto=0, flags=0):
        return _socket.getaddrinfo(host, port, family, type, proto, flags)

    module.BaseEventLoop.getaddrinfo = getaddrinfo


def _receiving(name: str, replacement: SocketReplacement) -> object:
    receive = getattr(_Raw, name)

    def receiving(self, *args, **kwargs):
        replacement.wait(self)
        return receive(self, *args, **kwargs)

    receiving.__name__ = name
    return receiving


def _replace_name_lookup(upstream: Upstream, module: ModuleType) -> None:
    def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
        return _found(upstream, host, port, family, type, proto, flags)

    def gethostbyname(name):
        return _found(upstream, name, 0, AF_INET, SOCK_STREAM, 0, 0)[0][4][0]

    def gethostbyname_ex(name):
        return str(name), [], [gethostbyname(name)]

    # `socket.getaddrinfo` calls this one, even where a module holds it under another name.
    _socket.getaddrinfo = getaddrinfo
    for function in (gethostbyname, gethostbyname_ex):
        setattr(_socket, function.__name__, function)
        setattr(module, function.__name__, function)


def _found(
    upstream: Upstream, host: Any, port: Any, family: int, kind: int, proto: int, flags: int
) -> list:
    name = _text(host)
    if name is None or name == "" or name.startswith(LOOPBACK) or _is_address(name):
        return _getaddrinfo(host, port, family, kind, proto, flags)
    number = _port(port)
    place: tuple
    if family == AF_INET6:
        place = (upstream.address_of(name, 6), number, 0, 0)
    else:
        family, place = AF_INET, (upstream.address_of(name), number)
    kinds = [(SOCK_STREAM, TCP), (SOCK_DGRAM, UDP)]
    wanted = [pair for pair in kinds if kind in (0, pair[0]) and proto in (0, pair[1])]
    return [(family, each, protocol, "", place) for each, protocol in wanted]


def _port(port: Any) -> int:
    text = _text(port)
    if text is None:
        return 0 if port is None else int(port)
    return int(text) if text.isdigit() else SERVICES.get(text, 0)


def _text(value: object) -> str | None:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    return "".join((value,)) if isinstance(value, str) else None


def _is_address(name: str) -> bool:
    for family in INTERNET:
        try:
            _socket.inet_pton(family, name)
        except (OSError, ValueError):
            continue
        return True
    return False


def _address(family: int, host: Any, port: Any, upstream: Upstream) -> tuple:
    if family == AF_INET6:
        return (host if ":" in host else upstream.address_of(host, 6), port, 0, 0)
    return (host if _is_address(host) else upstream.address_of(host), port)


def _running_loop() -> object:
    events = sys.modules.get("asyncio.events")
    return None if events is None else events._get_running_loop()
