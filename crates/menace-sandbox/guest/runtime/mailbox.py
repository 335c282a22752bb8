"""The shared memory through which a call's report reaches init.

Init marks it as running before each call. Invariant: a state is set only after its report is
complete in the memory, and a report never exceeds its part of it; a longer one is shortened until
it fits.
"""

from __future__ import annotations

from marshal import dumps
from mmap import mmap
from posix import close, dup, fstat

REPORT_STATE = 4
# One while the harness does something of its own in a section: then no faults are injected.
FAULTS_MASKED = 5
SHORT_REPORT_LENGTH = 8
FULL_REPORT_LENGTH = 12
SHORT_REPORT = 64
# Violations, written as they happen: their number, and a slot for each.
VIOLATION_COUNT = 44
REFUSED_FORK = 45
# How many violations had no slot.
UNLISTED = slice(56, 60)
# The fault window that is open, or was last; and the last end of one that init saw.
WINDOW = slice(48, 52)
SEEN_WINDOW_END = slice(52, 56)
FORGED_WINDOW = b"\xff\xff\xff\xff"
VIOLATIONS = 32768
VIOLATION_SLOT_BYTES = 704
FULL_REPORT = 65536
SHORT_VALID, FULL_VALID = 2, 3
# Read by the zygote only: requests that it loads the coverage modules before it forks again.
PRELOAD_WANTED = 24


class Mailbox:
    """The mapping, and its inode in `/proc/self/maps`."""

    __slots__ = ("inode", "map", "size", "windows")

    def __init__(self, descriptor: int, size: int) -> None:
        self.inode = fstat(descriptor).st_ino
        self.size = size
        self.windows = 0
        # mmap keeps a duplicate of the descriptor under the lowest free number. It is not needed,
        # and the guest must not find it.
        lowest = dup(descriptor)
        close(lowest)
        self.map = mmap(descriptor, size)
        close(descriptor)
        try:
            if fstat(lowest).st_ino == self.inode:
                close(lowest)
        except OSError:
            pass

    def request_preload(self) -> None:
        """Requests that the zygote loads the coverage modules before later forks."""
        self.map[PRELOAD_WANTED] = 1

    def wants_preload(self) -> bool:
        """Whether the last call requested it; the guest may have forged that."""
        return self.map[PRELOAD_WANTED] != 0

    def next_fault_window(self) -> tuple:
        """The marks of the next fault window of this call: while it is open, and once it is closed.

        Numbers only go up: odd ones are open. What opens twice, or closes twice, was forged.
        """
        self.windows += 2
        is_open = (self.windows - 1).to_bytes(4, "little")
        return is_open, self.windows.to_bytes(4, "little")

    def report_violation(self, kind: str, detail: str) -> None:
        """Writes a violation at once, since its process may be killed before it reports."""
        number = self.map[VIOLATION_COUNT]
        if number >= (FULL_REPORT - VIOLATIONS) // VIOLATION_SLOT_BYTES:
            self.report_unlisted(kind)
            return
        data = dumps([kind, detail], 2)
        if len(data) > VIOLATION_SLOT_BYTES - 2:
            data = dumps([kind, detail[: VIOLATION_SLOT_BYTES // 5]], 2)
        at = VIOLATIONS + number * VIOLATION_SLOT_BYTES
        self.map[at : at + 2 + len(data)] = len(data).to_bytes(2, "little") + data
        self.map[VIOLATION_COUNT] = number + 1

    def report_unlisted(self, kind: str) -> None:
        """Counts a violation for which there is no slot; of reads, the init keeps account."""
        if kind != "read":
            count = int.from_bytes(self.map[UNLISTED], "little")
            self.map[UNLISTED] = (count + 1).to_bytes(4, "little")

    def report_refused_fork(self) -> None:
        """Reports that the limit on processes refused a fork."""
        self.map[REFUSED_FORK] = 1

    def post_short(self, report: dict) -> None:
        """Publishes the report without the parts that need the guest's methods."""
        data = encode_to_fit(report, VIOLATIONS - SHORT_REPORT)
        self.map[SHORT_REPORT : SHORT_REPORT + len(data)] = data
        self.map[SHORT_REPORT_LENGTH : SHORT_REPORT_LENGTH + 4] = len(data).to_bytes(4, "little")
        self.map[REPORT_STATE] = SHORT_VALID

    def post_full(self, report: dict) -> None:
        """Publishes the complete report."""
        data = encode_to_fit(report, self.size - FULL_REPORT)
        self.map[FULL_REPORT : FULL_REPORT + len(data)] = data
        self.map[FULL_REPORT_LENGTH : FULL_REPORT_LENGTH + 4] = len(data).to_bytes(4, "little")
        self.map[REPORT_STATE] = FULL_VALID


def encode_to_fit(report: dict, room: int) -> bytes:
    """The report as bytes, shortened until it has at most `room` of them."""
    data = try_encode(report)
    for shorten in (
        _without_copy,
        _without_coverage,
        _with_short_texts,
        _with_bare_exception,
        _bare,
    ):
        if data is not None and len(data) <= room:
            return data
        report = shorten(dict(report))
        data = try_encode(report)
    return data


def try_encode(report: dict) -> bytes:
    """The report as bytes, or `None` if marshal cannot encode it."""
    try:
        return dumps(report, 2)
    except (ValueError, MemoryError):
        return None


def _without_copy(report: dict) -> dict:
    if report["value"] is not None:
        report["value"] = dict(report["value"], value=None)
    return report


def _without_coverage(report: dict) -> dict:
    if report.pop("coverage", None) is not None:
        report["notes"] = report["notes"] + ["what was reached did not fit into the report"]
    return report


def _with_short_texts(report: dict) -> dict:
    value = report["value"]
    if value is not None and len(value["repr"]) > 2000:
        report["value"] = dict(value, repr=value["repr"][:2000], truncated=True)
    report["exception"] = shorten_exception(report["exception"], 1000, 16, 3)
    report["leaked_descriptors"] = report["leaked_descriptors"][:8]
    report["leaked_threads"] = report["leaked_threads"][:8]
    report["violations"] = report["violations"][:8]
    report["notes"] = [note[:200] for note in report["notes"][:8]] + ["the report was shortened"]
    changed = report["state_changes"]
    report["state_changes"] = dict(changed, environ=changed["environ"][:32])
    return report


def _with_bare_exception(report: dict) -> dict:
    report["exception"] = shorten_exception(report["exception"], 200, 4, 0)
    return report


def shorten_exception(exception: dict | None, message: int, frames: int, chain: int) -> dict | None:
    """The exception with shorter texts, fewer frames and a shorter chain."""
    if exception is None:
        return None
    short = dict(exception)
    short["type"] = short["type"][:200]
    short["message"] = short["message"][:message]
    frames_kept = short["frames"]
    if len(frames_kept) > frames:
        frames_kept = frames_kept[: frames // 2] + frames_kept[-(frames // 2) :]
    short["frames"] = [
        dict(frame, file=frame["file"][-400:], function=frame["function"][:200])
        for frame in frames_kept
    ]
    short["notes"] = [note[:message] for note in short["notes"][:2]]
    if type(short["code"]) is str:
        short["code"] = short["code"][:message]
    short["group"] = []
    for link in ("cause", "context"):
        short[link] = (
            shorten_exception(short[link], message, frames, chain - 1) if chain > 0 else None
        )
    return short


def _bare(report: dict) -> dict:
    """The report without everything optional, for when even short texts do not fit."""
    exception = report["exception"]
    if exception is not None:
        exception = dict(exception, frames=[], message="", notes=[], code=None)
    changed = dict(report["state_changes"], environ=[], cwd=None)
    return dict(
        report,
        value=None,
        exception=exception,
        leaked_threads=[],
        leaked_descriptors=[],
        violations=[],
        state_changes=changed,
        notes=["the report did not fit"],
    )
