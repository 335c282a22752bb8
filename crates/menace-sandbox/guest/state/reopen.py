"""Gives each call its own open files, in place of those that the import left open.

A fork shares open files with its parent: the position, the flags and the locks. And such a file
leads into the layer that the import wrote to, instead of the call's own. So each call opens them
again by their path, and the zygote closes them. Invariant: files that cannot be opened again are
reported as unforkable state, so that no two calls share them.
"""

from __future__ import annotations

from fcntl import F_GETFL, fcntl
from posix import (
    O_CREAT,
    O_EXCL,
    O_PATH,
    O_RDONLY,
    O_TRUNC,
    close,
    dup2,
    fstat,
    get_inheritable,
    lseek,
    major,
    open,
)

from state.descriptors import KINDS, TYPE_MASK, describe_descriptor

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Iterable
    from os import stat_result

SEEK_SET, SEEK_CUR = 0, 1
REGULAR, DIRECTORY, LINK, DEVICE = 0o100000, 0o040000, 0o120000, 0o020000
# The major number of null, zero, full, random and urandom: opening them has no effects.
MEMORY_DEVICES = 1
DELETED = " (deleted)"
# A flag without meaning for the kernel; with it the filters do not notify init of the opening.
HARNESS_OPEN_FLAG = 1 << 30


class ReopenableFile:
    """The path, flags and position that are needed to open a file again."""

    __slots__ = ("flags", "inheritable", "is_device", "number", "path", "place")

    def __init__(self, number: int, path: str, found: stat_result) -> None:
        self.number = number
        self.path = path
        self.is_device = found.st_mode & TYPE_MASK == DEVICE
        self.flags = fcntl(number, F_GETFL) & ~(O_CREAT | O_EXCL | O_TRUNC)
        self.inheritable = get_inheritable(number)
        self.place = 0 if self.flags & O_PATH else lseek(number, 0, SEEK_CUR)

    def open(self) -> int:
        """Opens the file at the same position; no other process shares the descriptor."""
        own = open(self.path, self.flags | HARNESS_OPEN_FLAG)
        try:
            if self.place:
                lseek(own, self.place, SEEK_SET)
        except OSError:
            close(own)
            raise
        return own

    def reopen_for_call(self, notes: list) -> None:
        """Replaces the shared file by one of this process; if that fails, the number is closed."""
        try:
            own = self.open()
        except OSError as error:
            notes.append("`" + self.path + "` could not be opened for this call: " + str(error))
            close(self.number)
            return
        if own != self.number:
            dup2(own, self.number, self.inheritable)
            close(own)


def find_reopenable(numbers: Iterable) -> tuple:
    """The files that can be opened again, and descriptions of those that cannot."""
    files, shared = [], []
    for number in numbers:
        kind = describe_descriptor(number)
        if kind is None:
            continue
        try:
            found = fstat(number)
            if kind[:1] == "/" and _can_be_opened(found):
                file = ReopenableFile(number, kind, found)
                if _leads_to(file, found):
                    files.append(file)
                    continue
        except OSError:
            pass
        shared.append(_described(number, kind))
    return files, shared


def replace_with_placeholders(files: list) -> None:
    """Replaces the files by placeholders, which cannot be used, and keep the numbers taken."""
    if files:
        nothing = open("/dev/null", O_RDONLY | O_PATH)
        for file in files:
            dup2(nothing, file.number, file.inheritable)
        close(nothing)


def _can_be_opened(found: stat_result) -> bool:
    kind = found.st_mode & TYPE_MASK
    if kind == DEVICE:
        return major(found.st_rdev) == MEMORY_DEVICES
    return kind in (REGULAR, DIRECTORY, LINK)


def _leads_to(file: ReopenableFile, found: stat_result) -> bool:
    own = file.open()
    try:
        reached = fstat(own)
    finally:
        close(own)
    return (reached.st_dev, reached.st_ino) == (found.st_dev, found.st_ino)


def _described(number: int, kind: str) -> str:
    if kind[:1] != "/":
        return kind + " " + str(number)
    if kind.endswith(DELETED):
        return "unlinked file " + kind[: -len(DELETED)]
    try:
        return KINDS.get(fstat(number).st_mode & TYPE_MASK, "file") + " " + kind
    except OSError:
        return "file " + kind
