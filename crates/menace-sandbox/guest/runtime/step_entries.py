"""The part of the mailbox in which each step of a call writes its report before the next begins.

Entries follow each other, each a length and a `marshal` dictionary. Invariant: the total length is
written only after an entry is complete in the memory, so that earlier entries remain when the
process dies; and every step has at least the same share of the room.
"""

from __future__ import annotations

from runtime.mailbox import shorten_exception, try_encode

if False:  # for type checkers only: nothing is loaded at run time
    from mmap import mmap
    from typing import Any

    from runtime.mailbox import Mailbox

BEGUN = 32
LENGTH = 36
RELEASING = 40
# The most bytes that a bare entry takes.
MIN_ENTRY_BYTES = 800


class StepEntries:
    """The position of the next entry, and how many are still to come."""

    __slots__ = ("at", "end", "left", "map", "share", "start")

    def __init__(self, mailbox: Mailbox, count: int) -> None:
        self.map = mailbox.map
        self.end = mailbox.size
        # The first half is for the report of the call itself.
        self.at = self.start = mailbox.size = mailbox.size // 2
        self.left = count
        self.share = 0

    def begin(self, number: int) -> bool:
        """Begins a step; false when there would be no room for its report."""
        room = self.end - self.at
        self.share = max(room // self.left, MIN_ENTRY_BYTES)
        if room < self.share:
            return False
        self.left -= 1
        _put(self.map, BEGUN, number + 1)
        return True

    def post(self, entry: dict) -> None:
        """Adds the first entry of a step."""
        self._add(encode_to_fit(entry, self.share // 2))

    def replace(self, entry: dict) -> None:
        """Writes a second entry, which replaces the first, if there is room for more."""
        data = encode_to_fit(entry, self.share - 4)
        if len(data) <= self.share - 4:
            self._add(data)

    def _add(self, data: bytes) -> None:
        _put(self.map, self.at, len(data))
        self.map[self.at + 4 : self.at + 4 + len(data)] = data
        self.at += 4 + len(data)
        self.share -= 4 + len(data)
        _put(self.map, LENGTH, self.at - self.start)

    def mark_releasing(self, is_leaving: bool) -> None:
        """Marks whether results of the last step are being released, by code of the guest."""
        self.map[RELEASING] = 1 if is_leaving else 0


def _put(map: mmap, at: int, number: int) -> None:
    map[at : at + 4] = number.to_bytes(4, "little")


def encode_to_fit(entry: dict, room: int) -> bytes:
    """The entry as bytes, shortened until it has at most `room` of them."""
    data = try_encode(entry)
    for shorten in (_with_short_texts, _bare):
        if data is not None and len(data) <= room:
            break
        entry = shorten(dict(entry))
        data = try_encode(entry)
    return data


def _with_short_texts(entry: dict) -> dict:
    if entry["value"] is not None:
        entry["value"] = _cut(entry["value"], 100)
    entry["exception"] = _with_last_bases(shorten_exception(entry["exception"], 200, 4, 0), 8)
    return entry


def _bare(entry: dict) -> dict:
    if entry["value"] is not None:
        entry["value"] = _cut(dict(entry["value"], type=_brief(entry["value"]["type"], 80)), 0)
    exception = _with_last_bases(shorten_exception(entry["exception"], 0, 2, 0), 3)
    if exception is not None:
        exception["type"] = _brief(exception["type"], 80)
        exception["frames"] = [
            dict(frame, file=_brief(frame["file"], 80), function=_brief(frame["function"], 32))
            for frame in exception["frames"][-1:]
        ]
        if type(exception["code"]) is str:
            exception["code"] = None
    entry["exception"] = exception
    return entry


def _brief(text: str, most: int) -> str:
    """The last `most` bytes of a text."""
    return text.encode("utf-8", "replace")[-most:].decode("utf-8", "ignore")


def _cut(value: Any, longest: int) -> dict:
    if len(value["repr"]) <= longest:
        return value
    return dict(value, repr=value["repr"][:longest], truncated=True, value=None)


def _with_last_bases(exception: dict | None, most: int) -> dict:
    """Keeps the last base classes, since builtin types come last."""
    if exception is not None:
        exception["bases"] = [_brief(base, 32) for base in exception["bases"][-most:]]
    return exception
