"""Finds what an import left in the process that a fork does not copy.

Threads stay behind, child processes belong to the parent alone, and pipes, sockets, unlinked files
and shared memory would connect calls that must know nothing of each other.
"""

from posix import P_ALL, WEXITED, WNOHANG, WNOWAIT, close, open, read, waitid, waitpid

from state import threads_since

SHARED = [
    "eventpoll",
    "eventfd",
    "timerfd",
    "signalfd",
    "inotify",
    "fanotify",
    "io_uring",
    "userfaultfd",
    "bpf-map",
    "perf_event",
    "pidfd",
]


def kept(state, written, mailbox):
    """The reasons why a fork would not be a private copy."""
    reasons = ["thread " + name for name in threads_since(state.threads)]
    if _has_children():
        reasons.append("child process")
    for number, kind in state.descriptors.opened_since():
        if kind in ("pipe", "socket") or kind in SHARED:
            reasons.append(kind + " " + str(number))
    for file in written:
        if file.path.endswith(" (deleted)"):
            reasons.append("unlinked file " + file.path[:-10])
    reasons += _mappings(mailbox.inode)
    return reasons


def _has_children():
    while True:
        try:
            ended = waitid(P_ALL, 0, WEXITED | WNOHANG | WNOWAIT)
            if ended is None:
                return True
            waitpid(ended.si_pid, 0)
        except ChildProcessError:
            return False


def _mappings(own_inode):
    """Shared memory that can be written, the mailbox apart."""
    found = []
    for line in _maps().split("\n"):
        fields = line.split(None, 5)
        if len(fields) >= 5 and fields[1][:4] == "rw-s" and fields[4] != str(own_inode):
            found.append("shared mapping " + (fields[5] if len(fields) > 5 else "(anonymous)"))
    return found


def _maps():
    try:
        file = open("/proc/self/maps", 0)
    except OSError:
        return ""
    chunks = []
    try:
        while True:
            chunk = read(file, 65536)
            if not chunk:
                return b"".join(chunks).decode("utf-8", "surrogateescape")
            chunks.append(chunk)
    finally:
        close(file)
