"""Describes exceptions: type, message, frames, notes, and their causes and contexts.

Invariant: the guest's `__str__` is called only through a budget; without one, a message is reported
only if C code alone produces it. The harness's own frames are never reported.
"""

from __future__ import annotations

import builtins
import sys

from describe.introspect import exact, full_name, is_one_of, is_slot, mro_of

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable
    from typing import Any

    from describe.time_budget import TimeBudget

MAX_CHAIN_LENGTH = 8
MAX_GROUP_MEMBERS = 8
MAX_EXCEPTIONS = 32
MAX_NOTES = 8
MAX_BASES = 16
MAX_SAFE_TEXT_CHARS = 100_000
SCALARS = frozenset((str, bytes, int, float, bool, type(None)))

_BASE = BaseException.__dict__
_args_of = _BASE["args"].__get__
_traceback_of = _BASE["__traceback__"].__get__
_cause_of = _BASE["__cause__"].__get__
_context_of = _BASE["__context__"].__get__
_suppressed_of = _BASE["__suppress_context__"].__get__
_dict_of = _BASE["__dict__"].__get__
_errno_of = OSError.__dict__["errno"].__get__
_code_of = SystemExit.__dict__["code"].__get__
_Group = getattr(builtins, "BaseExceptionGroup", None)
_modules = sys.modules
_Module = type(sys)
_module_name_of = type.__dict__["__module__"].__get__
# The opcode `RAISE_VARARGS`, to which `raise` statements are compiled.
RAISE = 101 if sys.version_info >= (3, 13) else 130
# Attributes that `__str__` of these classes reads, beside `args`.
_READS = (
    (OSError, ("errno", "strerror", "filename", "filename2")),
    (ImportError, ("msg",)),
    (SyntaxError, ("msg", "filename", "lineno")),
)


class Describer:
    """Describes one exception with its causes and contexts."""

    __slots__ = ("budget", "description_limits", "is_of_harness", "left", "notes", "repo", "seen")

    def __init__(
        self,
        description_limits: dict,
        budget: TimeBudget | None,
        notes: list,
        is_of_harness: Callable,
        repo: str,
    ) -> None:
        self.description_limits = description_limits
        self.budget = budget
        self.notes = notes
        self.is_of_harness = is_of_harness
        self.repo = repo
        self.left = MAX_EXCEPTIONS
        self.seen: set = set()

    def describe(self, error: BaseException | None, depth: int = 0) -> dict | None:
        """The description of an exception, or `None` at the end of a chain."""
        if error is None or id(error) in self.seen or depth >= MAX_CHAIN_LENGTH or self.left <= 0:
            return None
        self.seen.add(id(error))
        self.left -= 1
        cls = type(error)
        described: dict = {
            "type": full_name(cls),
            "message": self._message(error),
            "bases": [full_name(base) for base in mro_of(cls)[1:MAX_BASES] if base is not object],
            "in_repository": self._is_in_repository(cls),
            "explicit": self._is_explicit(error),
            "frames": self._frames(error),
            "errno": None,
            "code": None,
            "notes": self._notes(error),
            "cause": self.describe(_cause_of(error), depth + 1),
            "context": None,
            "group": [],
        }
        if not _suppressed_of(error):
            described["context"] = self.describe(_context_of(error), depth + 1)
        if issubclass(cls, OSError):
            number = _errno_of(error)
            described["errno"] = number if type(number) is int else None
        elif issubclass(cls, SystemExit):
            described["code"] = self._code(_code_of(error))
        if _Group is not None and issubclass(cls, _Group):
            for member in _Group.__dict__["exceptions"].__get__(error)[:MAX_GROUP_MEMBERS]:
                inner = self.describe(member, depth + 1)
                if inner is not None:
                    described["group"].append(inner)
        return described

    def _message(self, error: BaseException | None) -> str:
        if _is_harmless(error):
            try:
                return exact(str(error))[: self.description_limits["message"]]
            except Exception:
                return ""
        if self.budget is None:
            return ""
        text, problem = self.budget.ask(str, error)
        if problem is not None:
            self.notes.append("no message of " + full_name(type(error)) + ": " + problem)
            return ""
        return exact(text)[: self.description_limits["message"]]

    def _is_in_repository(self, cls: type) -> bool:
        """Whether the class was defined in a file of the repository."""
        try:
            module = _modules.get(exact(_module_name_of(cls)))
            file = exact(module.__dict__.get("__file__")) if type(module) is _Module else None
        except Exception:
            return False
        return file is not None and file.startswith(self.repo)

    def _is_explicit(self, error: BaseException | None) -> bool:
        """Whether the innermost frame is at a `raise` statement.

        `assert` is compiled to one, too, and always raises exactly `AssertionError`.
        """
        entry = _traceback_of(error)
        if entry is None or type(error) is AssertionError:
            return False
        while entry.tb_next is not None:
            entry = entry.tb_next
        if self.is_of_harness(entry.tb_frame.f_globals) or _imports(entry):
            return False
        code = entry.tb_frame.f_code.co_code
        return 0 <= entry.tb_lasti < len(code) and code[entry.tb_lasti] == RAISE

    def _frames(self, error: BaseException | None) -> list:
        entries: list = []
        entry = _traceback_of(error)
        while entry is not None:
            frame = entry.tb_frame
            if self.is_of_harness(frame.f_globals):
                if dict.get(frame.f_globals, "__name__") == "runtime.event_loop":
                    # Frames before it belong to the event loop, which the harness started.
                    entries = []
            elif not _imports(entry):
                entries.append(entry)
            entry = entry.tb_next
        most = self.description_limits["frames"]
        if len(entries) > most:
            note = str(len(entries) - most) + " frames were left out"
            if note not in self.notes:
                self.notes.append(note)
            half = most // 2
            entries = entries[: most - half] + (entries[-half:] if half else [])
        frames = [
            {
                "file": exact(entry.tb_frame.f_code.co_filename) or "?",
                "line": entry.tb_lineno or 0,
                "function": exact(entry.tb_frame.f_code.co_name) or "?",
            }
            for entry in entries
        ]
        if issubclass(type(error), SyntaxError):
            _add_place(frames, error)
        return frames

    def _notes(self, error: BaseException | None) -> list:
        given = (_dict_of(error) or {}).get("__notes__")
        if type(given) is not list and type(given) is not tuple:
            return []
        texts = [exact(note) for note in given[:MAX_NOTES]]
        return [text[: self.description_limits["message"]] for text in texts if text is not None]

    def _code(self, code: object) -> object:
        if code is None or type(code) is int and code.bit_length() < 64:
            return code
        if type(code) is bool:
            return int(code)
        text = exact(code)
        return full_name(type(code)) if text is None else text[: self.description_limits["message"]]


def _imports(entry: Any) -> bool:
    """Whether a frame belongs to the import system, which is not shown."""
    return entry.tb_frame.f_code.co_filename.startswith("<frozen importlib")


def _add_place(frames: list, error: BaseException | None) -> None:
    """Adds the position of a syntax error, for which there is no frame."""
    file = exact(SyntaxError.__dict__["filename"].__get__(error))
    line = SyntaxError.__dict__["lineno"].__get__(error)
    if file is not None and type(line) is int:
        frames.append({"file": file, "line": line, "function": "<module>"})


def _is_harmless(error: BaseException | None) -> bool:
    """Whether C code produces the message from plain values alone."""
    cls = type(error)
    if not is_slot(cls, "__str__"):
        return False
    room = MAX_SAFE_TEXT_CHARS
    values = list(_args_of(error))
    for base, attributes in _READS:
        if issubclass(cls, base):
            if base is SyntaxError:
                values = []
            values += [base.__dict__[name].__get__(error) for name in attributes]
    for value in values:
        if not is_one_of(type(value), SCALARS):
            return False
        if type(value) is int and value.bit_length() > 4096:
            return False
        if type(value) is str or type(value) is bytes:
            room -= len(value)
    return room > 0 or len(values) == 1
