"""Which descriptors are open and what they are, from `/proc/self/fd` or by trying numbers.

Invariant: looking changes nothing; the descriptor used for looking is not among those found.
"""

from fcntl import F_GETFL, fcntl
from posix import (
    O_ACCMODE,
    O_CREAT,
    O_EXCL,
    O_TRUNC,
    close,
    dup2,
    fstat,
    get_inheritable,
    listdir,
    lseek,
    open,
    readlink,
    stat,
)
from resource import RLIMIT_NOFILE, getrlimit

LISTING = "/proc/self/fd"
SEEK_SET, SEEK_CUR = 0, 1
HIGHEST_TRIED = 4096
MOST_REPORTED = 64
TYPE_MASK, REGULAR = 0o170000, 0o100000
KINDS = {0o010000: "pipe", 0o140000: "socket", 0o040000: "directory", 0o020000: "device"}


class Descriptors:
    """Those open at one moment."""

    __slots__ = ("_count", "_same", "numbers")

    def __init__(self, not_counted=()):
        self.numbers = frozenset(filter(_is_open, _open_now())).difference(not_counted)
        # Since Linux 6.2 the size of the listing is the number of open descriptors.
        self._count = len(self.numbers) if _listed() > 0 else -1
        # A listing shows itself too, under the lowest free number. Equal sets mean nothing new.
        own = 0
        while own in self.numbers:
            own += 1
        self._same = frozenset(str(number) for number in self.numbers) | {str(own)}

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

    def written_since(self):
        """The regular files opened for writing since then."""
        found = []
        for number, path in self.opened_since():
            if path[:1] == "/" and fstat(number).st_mode & TYPE_MASK == REGULAR:
                flags = _flags(number)
                if flags & O_ACCMODE:
                    found.append(Written(number, path, flags))
        return found


class Written:
    """A regular file that is open for writing, to be opened anew after a fork."""

    __slots__ = ("flags", "number", "path")

    def __init__(self, number, path, flags):
        self.number = number
        self.path = path
        self.flags = flags & ~(O_CREAT | O_EXCL | O_TRUNC)

    def separate(self):
        """Gives this process an open file of its own, at the same place."""
        place = lseek(self.number, 0, SEEK_CUR)
        own = open(self.path, self.flags)
        try:
            lseek(own, place, SEEK_SET)
            dup2(own, self.number, get_inheritable(self.number))
        finally:
            close(own)


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


def _flags(number):
    try:
        return fcntl(number, F_GETFL)
    except OSError:
        return 0
