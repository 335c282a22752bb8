"""Changes the shape of data: keys are renamed, dropped, or hold a value of another type.

A change applies to all records of one kind, as after a change of the schema. Invariant: data of
another form stays unchanged, and equal seeds change the same keys.
"""

from __future__ import annotations

import _csv
import _json

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from faults.injection import FaultRandom

RENAMED, DROPPED, RETYPED = "renamed", "dropped", "retyped"
CHANGES = (RENAMED, DROPPED, RETYPED)
MAX_FILE_BYTES = 8 << 20
WORDS = {"True": "true", "False": "false", "None": "null"}
WORDS.update({"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"})
MAX_DEPTH = 200


class _Context:
    """The attributes that the scanner in C reads."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo: dict = {}

    @staticmethod
    def parse_constant(name: str) -> float:
        """Parses `NaN` and the infinities."""
        return float(name.replace("Infinity", "inf"))


_context: Any = _Context()
_scan = _json.make_scanner(_context)
_quoted = _json.encode_basestring_ascii


def drifted_json(data: bytes, random: FaultRandom, which: int) -> tuple | None:
    """The changed JSON and what was changed; `None` if nothing can be changed."""
    return _drifted([data.decode("utf-8-sig", "surrogateescape")], random, which, "")


def drifted_lines(data: bytes, random: FaultRandom, which: int) -> tuple | None:
    """Like `drifted_json`, with one JSON value per line."""
    text = data.decode("utf-8-sig", "surrogateescape")
    return _drifted([line for line in text.split("\n") if line.strip()], random, which, "\n")


def _drifted(texts: list, random: FaultRandom, which: int, end: str) -> tuple | None:
    schema = _Schema(random, which)
    values = []
    try:
        for text in texts:
            value, last = _scan(text, len(text) - len(text.lstrip()))
            if text[last:].strip():
                return None
            schema.learn(value, "")
            values.append(value)
        if not schema.keys:
            return None
        schema.decide()
        output = "".join([_to_json(schema.changed(value, "")) + end for value in values])
    except (ValueError, StopIteration, RecursionError):
        return None
    return output.encode("utf-8", "surrogatepass"), schema.change_text()


def drifted_table(data: bytes, random: FaultRandom, which: int, delimiter: str) -> tuple | None:
    """Like `drifted_json`, for rows below a line of column names."""
    try:
        text = data.decode("utf-8-sig")
        rows = list(_csv.reader(text.splitlines(True), delimiter=delimiter))
    except (ValueError, _csv.Error):
        return None
    if len(rows) < 2 or not rows[0]:
        return None
    schema = _Schema(random, which)
    schema.keys[""] = dict.fromkeys(rows[0])
    schema.decide()
    key, change = schema.decided[""]
    at = rows[0].index(key)
    if change == RENAMED:
        rows[0][at] = renamed(key)
    else:
        for row in rows[change != DROPPED :]:
            if at < len(row):
                row[at : at + 1] = [] if change == DROPPED else [_retyped_cell(row[at])]
    output: list = []
    _csv.writer(_Lines(output), delimiter=delimiter, lineterminator="\n").writerows(rows)
    return "".join(output).encode("utf-8"), schema.change_text()


class _Lines:
    """A file-like object that collects written lines."""

    __slots__ = ("write",)

    def __init__(self, lines: list) -> None:
        self.write = lines.append


class _Schema:
    """The keys of each kind of object; a kind is identified by the keys that lead to it."""

    __slots__ = ("decided", "keys", "random", "which")

    def __init__(self, random: FaultRandom, which: int) -> None:
        self.random = random
        self.which = which
        self.keys: dict = {}
        self.decided: dict = {}

    def learn(self, value: object, place: str, depth: int = 0) -> None:
        """Records the keys of all objects in the value."""
        if depth > MAX_DEPTH:
            return
        if type(value) is dict:
            known = self.keys.setdefault(place, {}) if value else None
            for key, inner in value.items():
                known[key] = None
                self.learn(inner, place + "/" + key, depth + 1)
        elif type(value) is list:
            for item in value:
                self.learn(item, place, depth + 1)

    def decide(self) -> None:
        """Chooses one key of each kind of object, and its change."""
        for at, (place, keys) in enumerate(sorted(self.keys.items())):
            number = self.random.number(str(self.which) + "." + str(at))
            names = sorted(keys)
            self.decided[place] = (
                names[number % len(names)],
                CHANGES[number // len(names) % len(CHANGES)],
            )

    def change_text(self) -> str:
        """The first change, described."""
        place, (key, change) = min(self.decided.items())
        return "`" + (place + "/" + key).lstrip("/") + "` " + change

    def changed(self, value: object, place: str, depth: int = 0) -> object:
        """The value after the change."""
        if depth > MAX_DEPTH:
            return value
        if type(value) is list:
            return [self.changed(item, place, depth + 1) for item in value]
        if type(value) is not dict:
            return value
        key, change = self.decided.get(place, (None, None))
        made = {}
        for name, inner in value.items():
            inner = self.changed(inner, place + "/" + name, depth + 1)
            if name != key:
                made[name] = inner
            elif change == RENAMED:
                made[renamed(name)] = inner
            elif change == RETYPED:
                made[name] = _retyped(inner)
        return made


def renamed(key: str) -> str:
    """Another spelling of a key."""
    first, *rest = key.split("_")
    if rest and all(rest):
        return first + "".join(part[:1].upper() + part[1:] for part in rest)
    return key + "_v2"


def _retyped(value: object) -> object:
    if type(value) is str:
        return int(value) if value.isdigit() and len(value) < 16 else [value]
    if type(value) is bool or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if type(value) is int or type(value) is float:
        return repr(value)
    return _to_json(value)


def _retyped_cell(text: str) -> str:
    return text + " units" if text.replace(".", "", 1).lstrip("-").isdigit() else "7"


def _to_json(value: object) -> str:
    """JSON; a value that could be parsed is not nested too deeply to be written."""
    if type(value) is str:
        return _quoted(value)
    if type(value) is dict:
        pairs = [_quoted(key) + ": " + _to_json(inner) for key, inner in value.items()]
        return "{" + ", ".join(pairs) + "}"
    if type(value) is list:
        return "[" + ", ".join([_to_json(item) for item in value]) + "]"
    text = repr(value)
    return WORDS.get(text, text)
