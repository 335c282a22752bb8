# ruff: noqa: BLE001, S110 (whatever goes wrong here, the guest goes on)
"""Keeps files as they are before they are changed, and puts them back.

For runs of a section in processes that share their files with the call. Python's audit events tell
of a change before it happens. Invariant: what could not be kept is known, so that nobody compares.
"""

from posix import (
    O_ACCMODE,
    O_APPEND,
    O_CREAT,
    O_TRUNC,
    listdir,
    lstat,
    mkdir,
    readlink,
    rmdir,
    symlink,
    unlink,
)
from sys import addaudithook

from _blake2 import blake2b
from _thread import allocate_lock, get_ident
from audit import CHANGES, absolute
from planted import put, take

WRITING = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND
LARGEST = 4 << 20
MOST = 256
TYPE_MASK, REGULAR, DIRECTORY, LINK = 0o170000, 0o100000, 0o040000, 0o120000
NOT_FILES = ("/dev/", "/proc/")
# What SQLite writes beside a database.
BESIDE = ("", "-journal", "-wal", "-shm")


class Undoing:
    """The files that were changed, as they were before."""

    __slots__ = ("before", "busy", "complete", "lock", "on")

    def __init__(self):
        self.before = {}
        self.complete = True
        self.on = True
        self.lock = allocate_lock()
        self.busy = None

        def hook(event, args):
            if event in EVENTS and self.on and self.busy != get_ident():
                try:
                    self._event(event, args)
                except BaseException:
                    self.complete = False

        addaudithook(hook)

    def left(self):
        """What the changed files hold now, in no order; those that are as before do not count."""
        told = []
        for path, before in self.before.items():
            now = _kept(path)
            if now != before:
                place = path.rpartition("/")[0] if path.startswith("/tmp/") else path
                told.append([place, blake2b(repr(now).encode(), digest_size=16).hexdigest()])
        return told

    def undo(self):
        """Puts everything back; false when that is not sure."""
        self.on = False
        for path, before in reversed(list(self.before.items())):
            try:
                if _kept(path) != before:
                    _restore(path, before)
            except OSError:
                self.complete = False
        return self.complete

    def _event(self, event, args):
        if event == "open":
            if type(args[2]) is int and args[2] & WRITING:
                self._keep(args[0], None)
        elif event == "sqlite3.connect":
            for end in BESIDE:
                if type(args[0]) is str and args[0] != ":memory:":
                    self._keep(args[0] + end, None)
        else:
            for position, start in CHANGES[event][1]:
                from_descriptor = args[start] if start is not None and start < len(args) else None
                kept = self._keep(args[position], from_descriptor)
                if event == "os.rename" and kept == ("directory",) and listdir(args[position]):
                    # It takes along what is in it.
                    self.complete = False

    def _keep(self, path, start):
        if type(path) is bytes:
            path = path.decode("utf-8", "surrogateescape")
        if type(path) is not str:
            return None
        path = absolute(path, start)
        if path.startswith(NOT_FILES) or path in self.before:
            return self.before.get(path)
        with self.lock:
            self.busy = get_ident()
            try:
                kept = _kept(path)
                if kept is _TOO_MUCH or len(self.before) >= MOST:
                    self.complete = False
                    return None
                return self.before.setdefault(path, kept)
            finally:
                self.busy = None


_TOO_MUCH = ("too much",)


def _kept(path):
    """What is there: nothing, a file with its content, a link, a directory and what is in it."""
    try:
        found = lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    kind = found.st_mode & TYPE_MASK
    if kind == REGULAR:
        content = take(path, LARGEST)
        return _TOO_MUCH if content is None else ("file", content)
    if kind == LINK:
        return ("link", readlink(path))
    return ("directory",) if kind == DIRECTORY else _TOO_MUCH


def _restore(path, before):
    try:
        found = lstat(path)
        if found.st_mode & TYPE_MASK == DIRECTORY:
            rmdir(path)
        elif before is None or before[0] != "file":
            unlink(path)
    except FileNotFoundError:
        pass
    if before is None:
        return
    if before[0] == "file":
        put(path, before[1])
    elif before[0] == "link":
        symlink(before[1], path)
    elif before[0] == "directory":
        mkdir(path)


EVENTS = frozenset(CHANGES) | {"open", "sqlite3.connect"}
