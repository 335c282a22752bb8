"""Notices when an import has changed the harness: its functions, names, builtins and objects.

What is compared is what Python code can replace without a debugger: the names of all modules and
classes of the harness, the code and the defaults of their functions, the private builtins, and the
objects that every call uses. Machine code, and code that changes this very module, can hide what
it does. Invariant: comparing runs none of the guest's code, since only identities are compared.
"""

from __future__ import annotations

from _operator import is_

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from runtime.zygote import Zygote

VIOLATION = "patched_harness"
MAX_REPORTED = 8
# What of the zygote stays the same as long as it lives.
PARTS = ("audit", "import_hooks", "mailbox", "mode", "modules", "ops", "seeding", "warm_up", "wire")
Function = type(lambda: None)
# The builtins of the other modules are among what may have been changed: the functions below find
# a copy.
shared_builtins: Any = __builtins__
globals()["__builtins__"] = dict(shared_builtins)


class Fingerprint:
    """The harness as it was before anything of the guest's was imported."""

    __slots__ = (
        "builtins",
        "functions",
        "genuine",
        "mailbox",
        "names",
        "report_violation",
        "zygote",
    )

    def __init__(self, zygote: Zygote) -> None:
        self.zygote = zygote
        self.builtins = dict(shared_builtins)
        self.mailbox = zygote.mailbox
        # As it is now, whatever becomes of the class.
        self.report_violation = self.mailbox.report_violation
        # What has names, how it is called, and the names with their values.
        self.names: list = []
        # Each function with its name, code and defaults.
        self.functions: list = []
        self._add_names("builtins.", shared_builtins)
        for module in list(shared_builtins["__loaded__"].values()):
            if module.__name__ != "__future__":
                self._add_names(module.__name__ + ".", module.__dict__, module.__name__)
        self._add_names("zygote.ops.", zygote.ops)
        self.genuine = self._parts()

    def _add_names(self, prefix: str, names: Any, module: str | None = None) -> None:
        self.names.append((prefix, names, list(names), list(names.values())))
        for name, value in list(names.items()):
            if type(value) is Function and module in (None, value.__module__):
                self.functions.append((prefix + name, value, *_body(value)))
            elif type(value) is type and module is not None and value.__module__ == module:
                self._add_names(prefix + name + ".", vars(value))

    def _parts(self) -> list:
        return [getattr(self.zygote, part) for part in PARTS] + [self.zygote.mailbox.map]

    def report(self, what: str) -> None:
        """Reports one change, by the method that the mailbox had before the import."""
        self.report_violation(VIOLATION, what)

    def report_changes(self) -> bool:
        """Reports what is not as it was; whether there is any."""
        changes = self._changes()
        if changes:
            # Reporting needs the builtins and the memory as they were.
            shared_builtins.update(self.builtins)
            self.mailbox.map = self.genuine[-1]
        for change in changes[:MAX_REPORTED]:
            self.report(change)
        return len(changes) > 0

    def _changes(self) -> list:
        changes = []
        for prefix, names, known, values in self.names:
            if len(names) != len(known) or not all(map(is_, names.values(), values)):
                genuine = dict(zip(known, values))
                changed = [name for name in names if names[name] is not genuine.pop(name, names)]
                changes += [prefix + name for name in changed + list(genuine)]
        for name, function, *body in self.functions:
            if not all(map(is_, _body(function), body)):
                changes.append(name)
        parts = zip((*PARTS, "mailbox.map"), self._parts(), self.genuine)
        return changes + ["zygote." + name for name, now, before in parts if now is not before]


def _body(function: Any) -> tuple:
    return function.__code__, function.__defaults__, function.__kwdefaults__
