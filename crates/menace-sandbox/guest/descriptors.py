"""Which descriptors are open and what they are, from `/proc/self/fd` or by trying numbers.

Invariant: looking changes nothing; the descriptor used for looking is not among those found.
"""

from posix import fstat, listdir, readlink, stat
from resource import RLIMIT_NOFILE, getrlimit

LISTING = "/proc/self/fd"
HIGHEST_TRIED = 4096
MOST_REPORTED = 64
# Whoever lowers the limit later keeps what is open.
HIGHEST_EVER = getrlimit(RLIMIT_NOFILE)[1]
TYPE_MASK = 0o170000
KINDS = {0o010000: "pipe", 0o140000: "socket", 0o040000: "directory", 0o020000: "device"}


class Descriptors:
    """Those open at one moment."""

    __slots__ = ("_count", "_same", "numbers")

    def __init__(self, not_counted=()):
        self._take(frozenset(filter(_is_open, _open_now())).difference(not_counted))

    def _take(self, numbers):
        self.numbers = numbers
        # Since Linux 6.2 the size of the listing is the number of open descriptors.
        self._count = len(self.numbers) if _listed() > 0 else -1
        # A listing shows itself too, under the lowest free number. Equal sets mean nothing new.
        own = 0
        while own in self.numbers:
            own += 1
        self._same = frozenset(str(number) for number in self.numbers) | {str(own)}

    def accept(self):
        """What has been opened so far counts as open before."""
        found = self.opened_since()
        if found:
            self._take(self.numbers.union([number for number, _ in found]))

    def opened_since(self):
        """What has been opened and is still open, as `[number, what]`."""
        if _listed() == self._count:
            return []
        try:
            if self._same == frozenset(listdir(LISTING)):
                return []
        except OSError:
            pass
        found = []
        for number in _open_now():
            if number not in self.numbers:
                kind = what(number)
                if kind is not None and len(found) < MOST_REPORTED:
                    found.append([number, kind])
        return found


def what(number):
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


def identity(number):
    """Equal for two descriptors only when they lead to the same; `None` when it is closed."""
    try:
        found = fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def all_open():
    """Every open number, however high."""
    try:
        numbers = [int(name) for name in listdir(LISTING)]
    except OSError:
        numbers = range(HIGHEST_EVER if HIGHEST_EVER >= 0 else 1 << 20)
    return list(filter(_is_open, numbers))


def _listed():
    """How many are open, where the kernel tells; looking opens none."""
    try:
        return stat(LISTING).st_size
    except OSError:
        return 0


def _open_now():
    """The open numbers; that of the listing itself may be among them."""
    try:
        return [int(name) for name in listdir(LISTING)]
    except OSError:
        # No /proc, or no number left to open it with.
        soft = getrlimit(RLIMIT_NOFILE)[0]
        end = HIGHEST_TRIED if soft < 0 else min(soft, HIGHEST_TRIED)
        return list(filter(_is_open, range(end)))


def _is_open(number):
    try:
        fstat(number)
    except OSError:
        return False
    return True
