"""Saves files before they are changed, and restores them.

For runs of a section in processes that share their files with the call. Python's audit events come
before a change. Invariant: `complete` is false when a file could not be saved.
"""

from __future__ import annotations

from _blake2 import blake2b
from _thread import allocate_lock, get_ident
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

from runtime.fixture_files import read_content, write_content
from state.audit import CHANGES, absolute

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

WRITING = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND
MAX_SAVED_BYTES = 4 << 20
MAX_SAVED_FILES = 256
TYPE_MASK, REGULAR, DIRECTORY, LINK = 0o170000, 0o100000, 0o040000, 0o120000
NOT_FILES = ("/dev/", "/proc/")
# Suffixes of the files that SQLite writes beside a database.
BESIDE = ("", "-journal", "-wal", "-shm")


class FileRollback:
    """The changed files, with their content before the first change."""

    __slots__ = ("before", "busy", "complete", "lock", "on")

    def __init__(self) -> None:
        self.before: dict = {}
        self.complete = True
        self.on = True
        self.lock = allocate_lock()
        self.busy: int | None = None

        def hook(event: str, args: tuple) -> None:
            if event in EVENTS and self.on and self.busy != get_ident():
                try:
                    self._event(event, args)
                except BaseException:
                    self.complete = False

        addaudithook(hook)

    def changed_files(self) -> list:
        """The content of files whose content differs from the saved one, in no order."""
        changes = []
        for path, before in self.before.items():
            now = _content_of(path)
            if now != before:
                place = path.rpartition("/")[0] if path.startswith("/tmp/") else path
                changes.append([place, blake2b(repr(now).encode(), digest_size=16).hexdigest()])
        return changes

    def restore(self) -> bool:
        """Restores all files; false when that is not certain."""
        self.on = False
        for path, before in reversed(list(self.before.items())):
            try:
                if _content_of(path) != before:
                    _restore(path, before)
            except OSError:
                self.complete = False
        return self.complete

    def _event(self, event: str, args: tuple) -> None:
        if event == "open":
            if type(args[2]) is int and args[2] & WRITING:
                self._save(args[0], None)
        elif event == "sqlite3.connect":
            for end in BESIDE:
                if type(args[0]) is str and args[0] != ":memory:":
                    self._save(args[0] + end, None)
        else:
            for position, start in CHANGES[event][1]:
                from_descriptor = args[start] if start is not None and start < len(args) else None
                content = self._save(args[position], from_descriptor)
                if event == "os.rename" and content == ("directory",) and listdir(args[position]):
                    # Moving a directory moves its content, which was not saved.
                    self.complete = False

    def _save(self, path: object, start: object) -> tuple | None:
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
                content = _content_of(path)
                if content is _TOO_MUCH or len(self.before) >= MAX_SAVED_FILES:
                    self.complete = False
                    return None
                return self.before.setdefault(path, content)
            finally:
                self.busy = None


_TOO_MUCH = ("too much",)


def _content_of(path: Any) -> tuple | None:
    """The content of a path: nothing, a file, a link, or the entries of a directory."""
    try:
        found = lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    kind = found.st_mode & TYPE_MASK
    if kind == REGULAR:
        content = read_content(path, MAX_SAVED_BYTES)
        return _TOO_MUCH if content is None else ("file", content)
    if kind == LINK:
        return ("link", readlink(path))
    return ("directory",) if kind == DIRECTORY else _TOO_MUCH


def _restore(path: Any, before: tuple | None) -> None:
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
        write_content(path, before[1])
    elif before[0] == "link":
        symlink(before[1], path)
    elif before[0] == "directory":
        mkdir(path)


EVENTS = frozenset(CHANGES) | {"open", "sqlite3.connect"}
