"""Tries ways out that were open once."""

import ctypes
import errno
import fcntl
import os
import socket
import sys
import time


def connect(path):
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(path)
            one.sendall(b"hi from the guest")
            return "reached"
    except OSError as error:
        return repr(error)


def sees(path):
    return os.path.exists(path)


def send(path):
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
            one.sendto(b"hi from the guest", path)
            return "reached"
    except OSError as error:
        return repr(error)


def own_sockets():
    path = os.environ["TMPDIR"] + "/own.sock"
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(path)
        service.listen()
        return connect(path)


def plant():
    found, planted = "nothing found", "nothing planted"
    for place in ("/tmp", os.environ["TMPDIR"]):
        if os.path.exists(place + "/planted"):
            found = "found in " + place
    for place in ("a", "b", "import"):
        try:
            with open("/layers/" + place + "/scratch/tmp/planted", "w") as file:
                file.write("by an earlier call")
            planted = "planted in " + place
        except OSError:
            pass
    return found + ", " + planted


HERE = os.open(".", os.O_RDONLY)


def ways():
    """Every directory that can be reached past the call's own paths."""
    interpreter = "/proc/%d/" % os.getppid()
    numbers = {HERE}
    for pid in ("self", os.getppid()):
        try:
            numbers.update(int(name) for name in os.listdir("/proc/%s/fd" % pid))
        except OSError:
            pass
    yield interpreter + "cwd/"
    for number in sorted(numbers):
        yield interpreter + "fd/%d/" % number
    for number in sorted(numbers):
        yield "/proc/self/fd/%d/" % number


def leave_traces():
    """What other calls left; leaves something for the next one."""
    found = []
    for way in ways():
        for look in (
            lambda: os.path.exists(way + "trace"),
            lambda: os.path.exists(way + "repo/trace"),
            lambda: os.stat(way + "data.txt").st_mtime == 7,
            lambda: os.stat(way + "data.txt").st_mode & 0o777 == 0o751,
            lambda: b"trace" in os.getxattr(way + "data.txt", "user.trace"),
        ):
            try:
                if look():
                    found.append(way)
            except OSError:
                pass
    for way in ways():
        for leave in (
            lambda: open(way + "trace", "w").close(),
            lambda: open(way + "repo/trace", "w").close(),
            lambda: os.utime(way + "data.txt", (7, 7)),
            lambda: os.chmod(way + "data.txt", 0o751),
            lambda: os.setxattr(way + "data.txt", "user.trace", b"trace"),
        ):
            try:
                leave()
            except OSError:
                pass
    return found


def packets():
    flags = fcntl.fcntl(1, fcntl.F_GETFL)
    fcntl.fcntl(1, fcntl.F_SETFL, flags | os.O_DIRECT)
    for _ in range(200):
        os.write(1, b"LEAK")
    os._exit(0)


def quiet():
    sys.stdout.flush()


def own_to_parent():
    one, other = socket.socketpair()
    fcntl.fcntl(one, 10, 9)  # F_SETSIG, SIGKILL
    fcntl.fcntl(one, fcntl.F_SETOWN, os.getppid())
    fcntl.fcntl(one, fcntl.F_SETFL, fcntl.fcntl(one, fcntl.F_GETFL) | os.O_ASYNC)
    other.send(b"!")
    return os.getppid()


def fine():
    return "fine"


def hold_lock(path):
    """Holds all locks of a file for a moment that can be had."""
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return "held by another"
    time.sleep(0.5)
    return "had"


def own_locks():
    """Whether locks of a file of its own keep another process out."""
    file = os.open("own", os.O_CREAT | os.O_RDWR)
    fcntl.lockf(file, fcntl.LOCK_EX)
    fcntl.flock(file, fcntl.LOCK_EX)
    child = os.fork()
    if child == 0:
        refused = 0
        other = os.open("own", os.O_RDWR)
        for lock in (fcntl.lockf, fcntl.flock):
            try:
                lock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                refused += 1
        os._exit(refused)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def read_pipe(path):
    try:
        pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        return os.read(pipe, 100).decode()
    except OSError as error:
        return errno.errorcode[error.errno]


def watch(path, touch):
    """What a watch of the directory sees within a moment, in which it may touch a file there."""
    libc = ctypes.CDLL(None, use_errno=True)
    events = libc.inotify_init1(os.O_NONBLOCK)
    all_events = 0xFFF
    if libc.inotify_add_watch(events, path.encode(), all_events) < 0:
        return errno.errorcode[ctypes.get_errno()]
    if touch:
        with open(os.path.join(path, "touched"), "w"):
            pass
    time.sleep(0.5)
    try:
        return "events" if os.read(events, 4096) else "nothing"
    except BlockingIOError:
        return "nothing"
