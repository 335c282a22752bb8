"""A `repr` of bounded length that never builds the whole text of a huge object.

Where it is not truncated it equals Python's own `repr`, with two exceptions: sets are sorted, so
that equal sets have equal texts, and very large integers are hexadecimal. The `repr` of an object
of the guest is called once.
"""

from __future__ import annotations

from describe.introspect import exact, full_name, in_class, is_one_of, is_slot

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from describe.time_budget import TimeBudget

# More digits take quadratic time, and Python 3.11 and later refuse them.
MAX_DECIMAL_BITS = 8192
MAX_SORTED_SET_ITEMS = 4096
# C code cannot be interrupted while it writes a container of this length.
MAX_FOREIGN_ITEMS = 100_000
BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("{", "}"),
    dict: ("{", "}"),
}


class ReprLimitReached(Exception):
    pass


class ForeignObject:
    """The texts of objects of the guest, each obtained once."""

    __slots__ = ("budget", "incomplete", "notes", "texts")

    def __init__(self, budget: TimeBudget | None, notes: list) -> None:
        self.budget = budget
        self.texts: dict = {}
        self.notes = notes
        self.incomplete = False

    def text(self, subject: object) -> str:
        """The object's `repr`, or a placeholder when it fails."""
        known = self.texts.get(id(subject))
        if known is None:
            known = self.texts[id(subject)] = self._asked(subject)
        return known

    def _asked(self, subject: object) -> str:
        cls = type(subject)
        name = full_name(cls)
        length = _length_in_c(cls, subject)
        if length is not None and length > MAX_FOREIGN_ITEMS:
            self._miss(name, "it has " + str(length) + " items")
            return "<" + name + " of " + str(length) + " items>"
        text, problem = self.budget.ask(repr, subject)
        if problem is not None:
            self._miss(name, problem)
            return "<" + name + ">"
        return exact(text)

    def _miss(self, name: str, problem: str) -> None:
        self.incomplete = True
        if len(self.notes) < 16:
            self.notes.append("no repr of " + name + ": " + problem)


def _length_in_c(cls: type, subject: Any) -> int | None:
    """The length of a container whose items C code would write one by one."""
    if in_class(cls, "__len__") is None or not is_slot(cls, "__len__"):
        return None
    if not is_slot(cls, "__repr__") or full_name(cls).startswith("numpy."):
        return None
    try:
        return len(subject)
    except Exception:
        return None


class Printer:
    """Collects the pieces of one `repr` up to a maximum length."""

    __slots__ = ("cut", "deepest", "foreign", "path", "pieces", "room")

    def __init__(self, room: int, deepest: int, foreign: ForeignObject) -> None:
        self.pieces: list = []
        self.room = room
        self.deepest = deepest
        self.foreign = foreign
        self.cut = False
        self.path: set = set()

    def text(self, subject: object) -> tuple[str, bool]:
        """The `repr`, and whether it was truncated."""
        try:
            self._show(subject, 0)
        except ReprLimitReached:
            self.cut = True
        return "".join(self.pieces), self.cut

    def _put(self, text: str) -> None:
        if len(text) > self.room:
            self.pieces.append(text[: self.room])
            self.room = 0
            raise ReprLimitReached
        self.room -= len(text)
        self.pieces.append(text)

    def _show(self, subject: Any, depth: int) -> None:
        cls = type(subject)
        if cls is str or cls is bytes or cls is bytearray:
            if len(subject) > self.room:
                subject = subject[: self.room]
                self._put(repr(subject))
                raise ReprLimitReached
            self._put(repr(subject))
        elif cls is int:
            self._put(shown_int(subject, self.room))
        elif is_one_of(cls, BRACKETS):
            self._container(subject, cls, depth)
        elif cls is float or cls is bool or subject is None or cls is complex:
            self._put(repr(subject))
        else:
            self._put(self.foreign.text(subject))

    def _container(self, subject: Any, cls: type, depth: int) -> None:
        opening, closing = BRACKETS[cls]
        if id(subject) in self.path:
            self._put(opening + "..." + closing)
            return
        if not subject and cls is not list and cls is not tuple and cls is not dict:
            self._put(cls.__name__ + "()")
            return
        if depth >= self.deepest and subject:
            self.cut = True
            self._put(opening + "..." + closing)
            return
        self.path.add(id(subject))
        if cls is frozenset:
            self._put("frozenset(")
        self._put(opening)
        if cls is dict:
            self._pairs(subject, depth + 1)
        elif cls is set or cls is frozenset:
            self._sorted(subject, depth + 1)
        else:
            first = True
            for item in subject:
                if not first:
                    self._put(", ")
                first = False
                self._show(item, depth + 1)
            if cls is tuple and len(subject) == 1:
                self._put(",")
        self._put(closing)
        if cls is frozenset:
            self._put(")")
        self.path.discard(id(subject))

    def _pairs(self, subject: Any, depth: int) -> None:
        first = True
        for key, value in subject.items():
            if not first:
                self._put(", ")
            first = False
            self._show(key, depth)
            self._put(": ")
            self._show(value, depth)

    def _sorted(self, subject: Any, depth: int) -> None:
        texts: list = []
        for item in subject:
            if len(texts) >= MAX_SORTED_SET_ITEMS:
                self.cut = True
                break
            inner = Printer(self.room, self.deepest - depth, self.foreign)
            text, cut = inner.text(item)
            self.cut = self.cut or cut
            texts.append(text)
        self._put(", ".join(sorted(texts)))


def shown_int(number: int, room: int) -> str:
    """The digits of an integer; a very large one is hexadecimal and truncated."""
    bits = number.bit_length()
    if bits <= MAX_DECIMAL_BITS:
        return repr(number)
    surplus = bits - 4 * (room + 4)
    if surplus <= 0:
        return hex(number)
    surplus += -surplus % 4
    return hex(number >> surplus) if number > 0 else "-" + hex(-number >> surplus)
