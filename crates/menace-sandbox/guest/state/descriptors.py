"""Lists open descriptors and what they refer to, from `/proc/self/fd` or by trying numbers.

Invariant: listing changes nothing, and does not list the descriptor that it uses.
"""

from __future__ import annotations

from posix import fstat, listdir, readlink, stat
from resource import RLIMIT_NOFILE, getrlimit

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Iterable

LISTING = "/proc/self/fd"
MAX_TRIED_DESCRIPTOR = 4096
MAX_REPORTED = 64
# Descriptors stay open when the limit is lowered later.
MAX_DESCRIPTOR = getrlimit(RLIMIT_NOFILE)[1]
TYPE_MASK = 0o170000
KINDS = {0o010000: "pipe", 0o140000: "socket", 0o040000: "directory", 0o020000: "device"}


class Descriptors:
    """The descriptors that were open at one moment."""

    __slots__ = ("_count", "_same", "numbers")

    def __init__(self, not_counted: tuple = ()) -> None:
        self._take(frozenset(filter(_is_open, _open_now())).difference(not_counted))

    def _take(self, numbers: frozenset) -> None:
        self.numbers = numbers
        # Since Linux 6.2 the size of the listing is the number of open descriptors.
        self._count = len(self.numbers) if _listed() > 0 else -1
        # A listing contains its own descriptor, under the lowest free number. If the sets are
        # equal, nothing was opened.
        own = 0
        while own in self.numbers:
            own += 1
        self._same = frozenset(str(number) for number in self.numbers) | {str(own)}

    def exclude_opened(self) -> None:
        """Treats all descriptors that are open now as open before."""
        found = self.opened_since()
        if found:
            self._take(self.numbers.union([number for number, _ in found]))

    def opened_since(self) -> list:
        """The descriptors opened since and still open, as `[number, what]`."""
        if _listed() == self._count:
            return []
        try:
            if self._same == frozenset(listdir(LISTING)):
                return []
        except OSError:
            pass
        found: list = []
        for number in _open_now():
            if number not in self.numbers:
                kind = describe_descriptor(number)
                if kind is not None and len(found) < MAX_REPORTED:
                    found.append([number, kind])
        return found


def describe_descriptor(number: int) -> str | None:
    """A path, `pipe`, `socket`, `eventpoll` and the like; `None` when it is closed."""
    try:
        target = readlink(LISTING + "/" + str(number))
    except OSError:
        try:
            mode = fstat(number).st_mode
        except OSError:
            return None
        return KINDS.get(mode & TYPE_MASK, "file")
    if target[:1] == "/":
        return target
    if target.startswith("anon_inode:"):
        return target[11:].strip("[]")
    return target.partition(":")[0]


def identity(number: int) -> tuple | None:
    """Equal for two descriptors only if they refer to the same file; `None` if it is closed."""
    try:
        found = fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def all_open() -> list:
    """All open descriptors, however high their numbers."""
    try:
        numbers: Iterable[int] = [int(name) for name in listdir(LISTING)]
    except OSError:
        numbers = range(MAX_DESCRIPTOR if MAX_DESCRIPTOR >= 0 else 1 << 20)
    return list(filter(_is_open, numbers))


def _listed() -> int:
    """The number of open descriptors, where the kernel shows it without opening one."""
    try:
        return stat(LISTING).st_size
    except OSError:
        return 0


def _open_now() -> list:
    """The open descriptors, possibly including that of the listing itself."""
    try:
        return [int(name) for name in listdir(LISTING)]
    except OSError:
        # There is no /proc, or no free descriptor to open it with.
        soft = getrlimit(RLIMIT_NOFILE)[0]
        end = MAX_TRIED_DESCRIPTOR if soft < 0 else min(soft, MAX_TRIED_DESCRIPTOR)
        return list(filter(_is_open, range(end)))


def _is_open(number: int) -> bool:
    try:
        fstat(number)
    except OSError:
        return False
    return True
