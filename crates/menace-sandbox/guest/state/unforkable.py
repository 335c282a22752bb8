"""Finds what an import left in the process that a fork does not copy.

Threads remain in the parent, child processes belong to it alone, and pipes, sockets, unlinked files
and shared memory would connect calls that have to be independent.
"""

from __future__ import annotations

from posix import P_ALL, WEXITED, WNOHANG, WNOWAIT, close, open, read, waitid, waitpid

from state.snapshot import threads_since

if False:  # for type checkers only: nothing is loaded at run time
    from runtime.mailbox import Mailbox


def find_unforkable(threads: int, shared: list, mailbox: Mailbox) -> list:
    """The reasons why a fork would not be a private copy.

    `threads` is how many there were before, `shared` names files that cannot be opened again.
    """
    reasons = ["thread " + name for name in threads_since(threads)]
    if _has_children():
        reasons.append("child process")
    return reasons + shared + _mappings(mailbox.inode)


def _has_children() -> bool:
    while True:
        try:
            ended = waitid(P_ALL, 0, WEXITED | WNOHANG | WNOWAIT)
            if ended is None:
                return True
            waitpid(ended.si_pid, 0)
        except ChildProcessError:
            return False


def _mappings(own_inode: int) -> list:
    """Writable shared memory, except the mailbox."""
    found = []
    for line in _maps().split("\n"):
        fields = line.split(None, 5)
        if len(fields) >= 5 and fields[1][3:] == "s" and fields[4] != str(own_inode):
            name = fields[5] if len(fields) > 5 else "(anonymous)"
            # An unnamed mapping was made to be written to, even if it is read-only at the moment.
            if "w" in fields[1] or name.endswith("(deleted)"):
                found.append("mapping " + name)
    return found


def _maps() -> str:
    try:
        file = open("/proc/self/maps", 0)
    except OSError:
        return ""
    chunks: list = []
    try:
        while True:
            chunk = read(file, 65536)
            if not chunk:
                return b"".join(chunks).decode("utf-8", "surrogateescape")
            chunks.append(chunk)
    finally:
        close(file)
