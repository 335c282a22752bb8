"""Reaches for services of the host and for other hosts."""

import array
import ctypes
import os
import socket
import struct

from hostile_tools import *


def fine():
    return "fine"


def connect_by_tcp():
    """A service of the host is connected to by every name of the loopback."""
    names = ("127.0.0.1", "localhost", "0.0.0.0", "127.1.2.3")
    return must_fail(
        *[lambda n=n: connect(socket.AF_INET, socket.SOCK_STREAM, (n, TCP_PORT)) for n in names]
    )


def connect_by_tcp_over_ip6():
    """The same over IPv6, also with addresses that stand for IPv4."""
    names = ("::1", "::ffff:127.0.0.1", "::")
    return must_fail(
        *[lambda n=n: connect(socket.AF_INET6, socket.SOCK_STREAM, (n, TCP_PORT)) for n in names]
    )


def connect_without_waiting():
    """A connection is begun and left half open."""
    one = socket.socket()
    one.setblocking(False)
    error = one.connect_ex(("127.0.0.1", TCP_PORT))
    return "ESCAPED" if error == 0 else "refused"


def connect_with_the_first_packet():
    """Data is sent with the first packet, without a call to connect."""
    return must_fail(lambda: socket.socket().sendto(b"hi", 0x20000000, ("127.0.0.1", TCP_PORT)))


def connect_by_multipath_tcp():
    """The same by another protocol, which rules by port may not know."""
    def reach():
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as one:
            one.settimeout(0.3)
            one.connect(("127.0.0.1", TCP_PORT))
            return "reached"

    return must_fail(reach)


def connect_by_other_protocols():
    """SCTP, DCCP and UDP-Lite to the same port.

    verdict: returned violated
    """
    def reach(kind, protocol):
        with socket.socket(socket.AF_INET, kind, protocol) as one:
            one.settimeout(0.3)
            one.connect(("127.0.0.1", TCP_PORT if kind == socket.SOCK_STREAM else UDP_PORT))
            one.send(b"hi")
            if kind == socket.SOCK_STREAM:
                return "reached"
            raise OSError("what arrived is seen outside")

    return must_fail(lambda: reach(1, 132), lambda: reach(6, 33), lambda: reach(2, 136))


def send_datagrams():
    """Datagrams are sent to a service of the host: what arrives is seen outside."""
    for family, name in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as one:
                one.sendto(b"hi", (name, UDP_PORT))
                one.connect((name, UDP_PORT))
                one.sendmsg([b"hi"])
        except OSError:
            pass


def send_to_all_hosts():
    """Datagrams are sent to all hosts of a network: what arrives is seen outside.

    verdict: returned violated
    """
    for name in ("255.255.255.255", "224.0.0.1", "127.255.255.255"):
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
                one.sendto(b"hi", (name, UDP_PORT))
        except OSError:
            pass


def connect_to_another_host():
    """Hosts of the internet and the address with a cloud's credentials."""
    names = ("1.1.1.1", "169.254.169.254", "10.0.0.1", "192.168.0.1")
    return must_fail(
        *[lambda n=n: connect(socket.AF_INET, socket.SOCK_STREAM, (n, 80)) for n in names]
    )


def ask_for_a_name():
    """A name is resolved, which would tell a server about it."""
    return must_fail(lambda: socket.gethostbyname("secret.example.com"))


def connect_by_name():
    """A socket with a name in the kernel is connected to."""
    return must_fail(
        lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + STREAM_NAME),
        lambda: connect(socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + DATAGRAM_NAME),
    )


def connect_by_path():
    """A socket with a path on the host is connected to."""
    return must_fail(
        lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, STREAM_PATH),
        lambda: connect(socket.AF_UNIX, socket.SOCK_DGRAM, DATAGRAM_PATH),
    )


def connect_through_a_link():
    """A link in the repository leads to a socket of the host."""
    os.symlink(STREAM_PATH, "socket")
    return must_fail(lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "socket"))


def redirect_a_pair():
    """One end of a pair is pointed at another socket: what arrives is seen outside."""
    for kind, names in (
        (socket.SOCK_STREAM, ("\0" + STREAM_NAME, STREAM_PATH)),
        (socket.SOCK_DGRAM, ("\0" + DATAGRAM_NAME, DATAGRAM_PATH)),
    ):
        mine, _ = socket.socketpair(socket.AF_UNIX, kind)
        for name in names:
            for action in (
                lambda: mine.sendto(b"hi", name),
                lambda: mine.sendmsg([b"hi"], [], 0, name),
                lambda: mine.connect(name),
                lambda: mine.send(b"hi"),
            ):
                try:
                    action()
                except OSError:
                    pass


def dissolve_a_pair():
    """A pair is disconnected, and connected again to a socket of the host."""
    mine, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    nothing = struct.pack("H", socket.AF_UNSPEC) + b"\0" * 14
    libc.connect(mine.fileno(), nothing, 16)
    return must_fail(lambda: mine.connect("\0" + DATAGRAM_NAME))


def connect_to_services_of_the_system():
    """Sockets of usual services: containers, the system bus, the display."""
    paths = ("/var/run/docker.sock", "/run/podman/podman.sock", "/run/dbus/system_bus_socket")
    paths += ("/run/systemd/private", "/tmp/.X11-unix/X0", "\0/tmp/.X11-unix/X0")
    return must_fail(
        *[lambda p=path: connect(socket.AF_UNIX, socket.SOCK_STREAM, p) for path in paths]
    )


def use_raw_sockets():
    """Raw sockets and packets.

    verdict: violated
    """
    return must_fail(
        lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58),
        lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 768),
        lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 768),
    )


def use_other_families():
    """Sockets of virtual machines, of cryptography, of radios, of the kernel's audit.

    verdict: violated
    """
    families = (
        (socket.AF_VSOCK, socket.SOCK_STREAM, 0),
        (38, 5, 0),
        (31, 3, 1),
        (44, 3, 0),
        (16, 3, 9),
        (16, 3, 15),
        (16, 3, 12),
        (30, 1, 0),
    )
    return must_fail(*[lambda family=family: socket.socket(*family) for family in families])


def send_a_ping():
    """A socket for pings, which needs no rights on some machines."""
    def ping():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as one:
            one.settimeout(0.2)
            one.sendto(b"\x08\0\0\0\0\0\0\0", ("127.0.0.2", 0))
            # Its own loopback may answer.
            raise OSError

    return must_fail(ping)


def change_the_network():
    """An address is added to the loopback, and a way to other hosts."""
    header = struct.pack("=IHHII", 32, 20, 0x605, 1, 0)
    body = struct.pack("=BBBBI", 2, 8, 0, 0, 1) + struct.pack("=HH4s", 8, 2, b"\x7f\0\0\x09")
    def change():
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as one:
            one.settimeout(0.3)
            one.send(header + body)
            answer = one.recv(4096)
            code = struct.unpack_from("=i", answer, 16)[0]
            if code:
                raise OSError(-code, "refused")
            return "changed"

    return must_fail(change)


def make_a_tunnel():
    """A device for a network is made."""
    return must_fail(lambda: os.open("/dev/net/tun", os.O_RDWR))


def filter_packets():
    """Packets are marked, and bound to an interface of the host."""
    def mark():
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, 36, 7)
            return "marked"

    return must_fail(mark)


def pass_descriptors():
    """Descriptors are sent over every socket that is open, to have them acted upon."""
    for fd in fds():
        try:
            with socket.fromfd(fd, socket.AF_UNIX, socket.SOCK_STREAM) as one:
                one.setblocking(False)
                rights = array.array("i", [os.open("data.txt", os.O_RDONLY)])
                one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        except OSError:
            pass


def serve_the_host():
    """A service of the guest waits for connections of the host, at a port that the host uses."""
    try:
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        server.bind(("0.0.0.0", TCP_PORT))
        server.listen()
    except OSError:
        return "refused"


def reach_out_without_sockets():
    """The shell's own way to connect.

    verdict: returned violated
    """
    import subprocess

    command = "exec 3<>/dev/tcp/127.0.0.1/%d && echo reached" % TCP_PORT
    done = subprocess.run(["bash", "-c", command], capture_output=True)
    return "ESCAPED" if b"reached" in done.stdout else "refused"


def reach_out_by_another_architecture():
    """A 32-bit system call makes the socket, with a number that means something else.

    verdict: violated returned crashed
    """
    import mmap
    import platform

    if platform.machine() != "x86_64":
        return "no such calls"
    # mov eax, 359 (socket); mov ebx, 2; mov ecx, 1; xor edx, edx; int 0x80; ret
    code = bytes.fromhex("53 b867010000 bb02000000 b901000000 31d2 cd80 5b c3")
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    made = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
    return "ESCAPED: %d" % made if made >= 0 else "refused"
