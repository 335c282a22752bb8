"""Talks to itself over the network, and says what that was like."""

import errno
import select
import socket
import sys
import threading
import time

ADDRESSES = {4: "127.0.0.1", 6: "::1"}
FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}


def fine():
    return "fine"


def bound(kind, version=4, port=0, address=None):
    server = socket.socket(FAMILIES[version], kind)
    server.bind((address or ADDRESSES[version], port))
    return server


def listening(version=4, port=0, address=None):
    server = bound(socket.SOCK_STREAM, version, port, address)
    server.listen(8)
    return server


def connected(server, timeout=None):
    return socket.create_connection(server.getsockname()[:2], timeout)


def datagrams_pair(version):
    server, client = bound(socket.SOCK_DGRAM, version), bound(socket.SOCK_DGRAM, version)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    return server, client


def started(work, *args):
    thread = threading.Thread(target=work, args=args, daemon=True)
    thread.start()
    return thread


def milliseconds(work):
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def round_trips(count):
    """Milliseconds that it takes to ask and to be answered, in each way that there is."""
    took = {}

    def measure(name, trips, version):
        took[name] = trips(count, version)

    ways = [
        ("udp4", datagram_round_trips, 4),
        ("udp6", datagram_round_trips, 6),
        ("tcp4", stream_round_trips, 4),
        ("tcp6", stream_round_trips, 6),
        ("refused", refusals, 4),
    ]
    threads = [started(measure, *way) for way in ways]
    for thread in threads:
        thread.join()
    return took


def datagram_round_trips(count, version):
    server, client = datagrams_pair(version)

    def echo():
        while True:
            server.sendto(*server.recvfrom(100))

    def ask():
        client.sendto(b"?", server.getsockname())
        client.recv(100)

    started(echo)
    return [milliseconds(ask) for _ in range(count)]


def alone(count):
    """The same over datagrams, while nothing else is on its way."""
    return datagram_round_trips(count, 4)


def stream_round_trips(count, version):
    """The first is that of connecting."""
    server = listening(version)

    def echo():
        peer = server.accept()[0]
        while True:
            peer.sendall(peer.recv(100))

    started(echo)
    client = socket.socket(FAMILIES[version], socket.SOCK_STREAM)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask():
        client.sendall(b"?")
        client.recv(100)

    connecting = milliseconds(lambda: client.connect(server.getsockname()))
    return [connecting] + [milliseconds(ask) for _ in range(count)]


def refusals(count, version):
    """Of connections to ports without a listener."""
    server = listening(version)
    address = server.getsockname()
    server.close()

    def connect():
        client = socket.socket(FAMILIES[version], socket.SOCK_STREAM)
        assert client.connect_ex(address) == errno.ECONNREFUSED
        client.close()

    return [milliseconds(connect) for _ in range(count)]


def stream_rate(size, version=4):
    """Bits per second that arrive of a transfer, and whether all of it does."""
    server = listening(version)
    client = connected(server)
    receiver = server.accept()[0]
    sent = bytes(range(256)) * (size // 256)

    def send():
        client.sendall(sent)
        client.close()

    started(send)
    # From when the first arrives on: what follows it is what takes time.
    received = bytearray(receiver.recv(1))
    began = time.perf_counter()
    while True:
        piece = receiver.recv(1 << 16)
        if not piece:
            break
        received += piece
    took = time.perf_counter() - began
    return [len(received) * 8 / took, bytes(received) == sent]


def datagram_rate(count, size, version=4):
    """Bits per second that arrive of datagrams sent at once."""
    server, client = datagrams_pair(version)

    def send():
        for _ in range(count):
            client.sendto(bytes(size), server.getsockname())

    started(send)
    server.recv(1 << 16)
    began = time.perf_counter()
    for _ in range(count - 1):
        server.recv(1 << 16)
    return (count - 1) * size * 8 / (time.perf_counter() - began)


def datagrams(count, version=4, size=2, quiet=1.0):
    """The numbers of the datagrams that arrive, until it has been quiet for some time."""
    server, client = datagrams_pair(version)
    arrived = []
    for number in range(count):
        client.sendto(number.to_bytes(size, "big"), server.getsockname())
        arrived += pending(server, 0)
    return arrived + pending(server, quiet)


def pending(server, quiet):
    arrived = []
    while select.select([server], [], [], quiet)[0]:
        arrived.append(int.from_bytes(server.recv(1 << 16), "big"))
    return arrived


def reach(ports, version=4):
    """For each port, how it goes to connect to it and to ask it something."""
    return [[reach_stream(port, version), reach_datagram(port, version)] for port in ports]


def reach_stream(port, version):
    server = listening(version, port)
    try:
        connected(server, 0.5).close()
        return "connected"
    except OSError as error:
        return type(error).__name__


def reach_datagram(port, version):
    server, client = bound(socket.SOCK_DGRAM, version, port), bound(socket.SOCK_DGRAM, version)
    started(lambda: server.sendto(*server.recvfrom(100)))
    client.settimeout(0.5)
    try:
        client.sendto(b"?", server.getsockname())
        client.recv(100)
        return "answered"
    except OSError as error:
        return type(error).__name__


def reach_addresses(addresses):
    """How it goes to connect to each."""
    results = []
    for address in addresses:
        version = 6 if ":" in address else 4
        server = listening(version, 0, address)
        try:
            connected(server, 0.5).close()
            results.append("connected")
        except OSError as error:
            results.append(type(error).__name__)
    return results


def connect_patiently(port):
    """Without a timeout of its own."""
    connected(listening(4, port))


def leave_a_transfer(port):
    """Ends in the middle of it."""
    server = listening(4, port)
    client = connected(server)
    leave_a_transfer.kept = [server, client, server.accept()[0]]
    client.setblocking(False)
    return client.send(bytes(1 << 16))


def converse():
    """Talks over a connection and ends it as one should."""
    server = listening()
    client = connected(server)
    peer = server.accept()[0]
    for one, other in [(client, peer), (peer, client)] * 2:
        one.sendall(b"?")
        other.recv(100)
    client.close()
    peer.recv(100)
    peer.close()
    # The last of it is still on its way.
    time.sleep(0.5)


def retransmission_timeout_ms():
    """After how long a fresh connection sends again what was not acknowledged."""
    server = listening()
    info = connected(server).getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 12)
    return int.from_bytes(info[8:], sys.byteorder) / 1000


def is_free(port):
    """For a socket that does not ask to share it."""
    try:
        listening(4, port).close()
        return True
    except OSError as error:
        assert error.errno == errno.EADDRINUSE, error
        return False


def threads(count):
    """How many can be started beside the first."""
    done, begun = threading.Event(), 0
    try:
        for _ in range(count):
            started(done.wait)
            begun += 1
    except RuntimeError:
        pass
    done.set()
    return begun
