"""The shared memory through which a report leaves a call.

The init marks it as running before each call. Invariant: a phase is announced only after its report lies complete in the memory, and a report
never runs past its part of it; one that is too long is shortened step by step until it fits.
"""

from marshal import dumps
from mmap import mmap
from posix import close, dup, fstat

PHASE = 4
ACTIVE = 5
SHORT_LENGTH = 8
FULL_LENGTH = 12
SHORT_AT = 64
# Attempts at forbidden things, as they happen: how many, and a slot for each.
ATTEMPTS = 44
REFUSED_FORK = 45
ATTEMPTS_AT = 32768
SLOT = 1024
FULL_AT = 65536
SHORT_VALID, FULL_VALID = 2, 3
# Not for the init: whether the interpreter should have loaded more before it forked.
WISH = 24


class Mailbox:
    """The mapping, and the inode by which `/proc/self/maps` knows it."""

    __slots__ = ("inode", "map", "size")

    def __init__(self, descriptor, size):
        self.inode = fstat(descriptor).st_ino
        self.size = size
        # mmap keeps a duplicate of the descriptor, which takes the lowest free number; it is of
        # no use to us, and the guest shall not find it.
        lowest = dup(descriptor)
        close(lowest)
        self.map = mmap(descriptor, size)
        close(descriptor)
        try:
            if fstat(lowest).st_ino == self.inode:
                close(lowest)
        except OSError:
            pass

    def wish(self):
        """Lets the interpreter know that calls like this one have more to load."""
        self.map[WISH] = 1

    def holds_wish(self):
        """Whether the last call had one; the guest may have forged it."""
        return self.map[WISH] != 0

    def tell(self, kind, detail):
        """Publishes an attempt at once: who makes it may not live to report it."""
        number = self.map[ATTEMPTS]
        if number >= (FULL_AT - ATTEMPTS_AT) // SLOT:
            return
        data = dumps([kind, detail], 2)
        if len(data) > SLOT - 2:
            data = dumps([kind, detail[: SLOT // 5]], 2)
        at = ATTEMPTS_AT + number * SLOT
        self.map[at : at + 2 + len(data)] = len(data).to_bytes(2, "little") + data
        self.map[ATTEMPTS] = number + 1

    def refuse_fork(self):
        """Tells that there was no room for one more process."""
        self.map[REFUSED_FORK] = 1

    def post_short(self, report):
        """Publishes the report that needed nothing from the guest."""
        data = fitting(report, ATTEMPTS_AT - SHORT_AT)
        self.map[SHORT_AT : SHORT_AT + len(data)] = data
        self.map[SHORT_LENGTH : SHORT_LENGTH + 4] = len(data).to_bytes(4, "little")
        self.map[PHASE] = SHORT_VALID

    def post_full(self, report):
        """Publishes the complete report."""
        data = fitting(report, self.size - FULL_AT)
        self.map[FULL_AT : FULL_AT + len(data)] = data
        self.map[FULL_LENGTH : FULL_LENGTH + 4] = len(data).to_bytes(4, "little")
        self.map[PHASE] = FULL_VALID


def fitting(report, room):
    """The report as bytes, shortened until it has at most `room` of them."""
    data = dumped(report)
    for shorten in (_without_copy, _without_coverage, _with_short_texts, _with_bare_exception, _bare):
        if data is not None and len(data) <= room:
            return data
        report = shorten(dict(report))
        data = dumped(report)
    return data


def dumped(report):
    """The report as bytes, or `None` when that cannot be."""
    try:
        return dumps(report, 2)
    except (ValueError, MemoryError):
        return None


def _without_copy(report):
    if report["value"] is not None:
        report["value"] = dict(report["value"], value=None)
    return report


def _without_coverage(report):
    if report.pop("coverage", None) is not None:
        report["notes"] = report["notes"] + ["what was reached did not fit into the report"]
    return report


def _with_short_texts(report):
    value = report["value"]
    if value is not None and len(value["repr"]) > 2000:
        report["value"] = dict(value, repr=value["repr"][:2000], truncated=True)
    report["exception"] = shorter(report["exception"], 1000, 16, 3)
    report["descriptors_left"] = report["descriptors_left"][:8]
    report["threads_left"] = report["threads_left"][:8]
    report["attempts"] = report["attempts"][:8]
    report["notes"] = [note[:200] for note in report["notes"][:8]] + ["the report was shortened"]
    changed = report["changed"]
    report["changed"] = dict(changed, environ=changed["environ"][:32])
    return report


def _with_bare_exception(report):
    report["exception"] = shorter(report["exception"], 200, 4, 0)
    return report


def shorter(exception, message, frames, chain):
    """The exception with shorter texts, fewer frames and a shorter chain."""
    if exception is None:
        return None
    short = dict(exception)
    short["type"] = short["type"][:200]
    short["message"] = short["message"][:message]
    kept = short["frames"]
    if len(kept) > frames:
        kept = kept[: frames // 2] + kept[-(frames // 2) :]
    short["frames"] = [
        dict(frame, file=frame["file"][-400:], function=frame["function"][:200]) for frame in kept
    ]
    short["notes"] = [note[:message] for note in short["notes"][:2]]
    if type(short["code"]) is str:
        short["code"] = short["code"][:message]
    short["group"] = []
    for link in ("cause", "context"):
        short[link] = shorter(short[link], message, frames, chain - 1) if chain > 0 else None
    return short


def _bare(report):
    """What is left when even the short texts did not fit."""
    exception = report["exception"]
    if exception is not None:
        exception = dict(exception, frames=[], message="", notes=[], code=None)
    changed = dict(report["changed"], environ=[], cwd=None)
    return dict(
        report,
        value=None,
        exception=exception,
        threads_left=[],
        descriptors_left=[],
        attempts=[],
        changed=changed,
        notes=["the report did not fit"],
    )
