"""What the attempts share: where things of the host are, and how an attempt reports an escape."""

import ctypes
import errno
import os
import socket
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

# A file of the host that every user may read and write, and the directory that it is in.
CANARY = os.environ["HOSTILE_CANARY"]
CANARY_DIRECTORY = os.path.dirname(CANARY)
# The repository under its path on the host.
HOST_REPO = os.environ["HOSTILE_REPO"]
# Where services of the host listen.
TCP_PORT = int(os.environ["HOSTILE_TCP"])
UDP_PORT = int(os.environ["HOSTILE_UDP"])
STREAM_NAME, STREAM_PATH, DATAGRAM_NAME, DATAGRAM_PATH = os.environ["HOSTILE_UNIX"].split(":")
# System calls by name, with the numbers of this architecture.
NUMBERS = {
    name: int(number)
    for name, number in (pair.split("=") for pair in os.environ["HOSTILE_CALLS"].split(","))
}
TMP = os.environ["TMPDIR"]


class AttemptBroken(Exception):
    """The attempt did not do what it says; the suite fails, whatever the verdict is."""


def system_call(name, *arguments):
    """The answer of a system call, and its error."""
    ctypes.set_errno(0)
    converted = [ctypes.c_long(it) if isinstance(it, int) else it for it in arguments]
    answer = libc.syscall(ctypes.c_long(NUMBERS[name]), *converted)
    return answer, errno.errorcode.get(ctypes.get_errno(), "0")


def must_fail(*actions):
    """Tries each action; one that succeeds is an escape."""
    if not actions:
        raise AttemptBroken("there is nothing to try")
    escaped = []
    for action in actions:
        try:
            escaped.append(repr(action())[:200])
        except (OSError, ValueError):
            pass
    return "ESCAPED: " + "; ".join(escaped) if escaped else "refused"


def read(path):
    """The beginning of a file, or the names in a directory."""
    if os.path.isdir(path):
        return os.listdir(path)
    with open(path, "rb") as file:
        return file.read(4096)


def read_in_c(path):
    """The same through the C library, unseen by Python's audit events."""
    fd = libc.open(path.encode(), os.O_RDONLY)
    if fd < 0:
        raise OSError(ctypes.get_errno(), path)
    return os.read(fd, 4096)


def write(path, text="tampered"):
    """Appends to a file."""
    with open(path, "a") as file:
        file.write(text)
    return "wrote " + path


def is_host(path):
    """Whether a path leads to the host's canary, and not to something of the call's own."""
    return os.path.exists(path) and b"canary-" in read(path)


def frame_with(*names):
    """The nearest frame of the harness with these local variables."""
    frame = sys._getframe()
    while frame is not None:
        if all(name in frame.f_locals for name in names):
            return frame
        frame = frame.f_back
    raise AttemptBroken("no frame has %r" % (names,))


def mailbox():
    """The shared memory of the call's report, as the harness has mapped it."""
    memory = frame_with("zygote").f_locals["zygote"].mailbox.map
    # Other places in it are taken from `init/mailbox.rs`.
    if memory[:4] != b"MNB1" or memory[4] != 1:
        raise AttemptBroken("the mailbox is laid out otherwise: %r" % memory[:8])
    return memory


def shared_mappings():
    """The first and the last address of each mapping that is shared and can be written, as far
    as there is a list of them."""
    try:
        with open("/proc/self/maps") as file:
            lines = file.readlines()
    except OSError:
        return []
    found = [line.split()[0].split("-") for line in lines if line.split()[1] == "rw-s"]
    if not found:
        raise AttemptBroken("not even the mailbox is shared")
    return [(int(start, 16), int(end, 16)) for start, end in found]


def fds():
    """Every open descriptor, found without /proc."""
    found = []
    for fd in range(1024):
        try:
            os.fstat(fd)
            found.append(fd)
        except OSError:
            pass
    return found


def connect(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(0.3)
        one.connect(address)
        one.sendall(b"hi from the guest")
        return "reached"


def fork(action):
    """Runs an action in a child; its exit status."""
    pid = os.fork()
    if pid == 0:
        try:
            action()
        finally:
            os._exit(0)
    return os.waitpid(pid, 0)[1]


def forever():
    while True:
        time.sleep(1)
