"""Notices when an import has changed the harness: its functions, names, builtins and objects.

What is compared is what Python code can replace without a debugger: the names of all modules and
classes of the harness, the code and the defaults of their functions, the private builtins, and the
objects that every call uses. Machine code, and code that changes this very module, can hide what
it does. Invariant: comparing runs none of the guest's code, since only identities are compared.
"""

from __future__ import annotations

from _operator import attrgetter, is_

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from runtime.zygote import Zygote

VIOLATION = "patched_harness"
MAX_REPORTED = 8
# What of the zygote stays the same as long as it lives.
PARTS = (
    "audit",
    "fork_hooks",
    "guest_mode",
    "import_hooks",
    "mailbox",
    "modules",
    "ops",
    "seeding",
    "warm_up",
    "wire",
)
BODY = (attrgetter("__code__"), attrgetter("__defaults__"), attrgetter("__kwdefaults__"))
Function = type(lambda: None)
# The builtins of the other modules are among what may have been changed: the functions below find
# a copy.
shared_builtins: Any = __builtins__
globals()["__builtins__"] = dict(shared_builtins)
FUTURE = shared_builtins["__loaded__"]["__future__"]


class Fingerprint:
    """The harness as it was before anything of the guest's was imported.

    In a few long tuples: what is scattered over many pages makes every fork slower.
    """

    __slots__ = (
        "bodies",
        "builtins",
        "functions",
        "keys",
        "mailbox",
        "owners",
        "parts",
        "report_violation",
        "sizes",
        "values",
        "zygote",
    )

    def __init__(self, zygote: Zygote) -> None:
        self.zygote = zygote
        self.mailbox = zygote.mailbox
        # As it is now, whatever becomes of the class.
        self.report_violation = self.mailbox.report_violation
        self.builtins = dict(shared_builtins)
        modules = [one for one in shared_builtins["__loaded__"].values() if one is not FUTURE]
        classes = [cls for module in modules for cls in _own_values(module, type)]
        # What has names.
        self.owners = (shared_builtins, zygote.ops, *modules, *classes)
        self.sizes = tuple(len(_names_of(owner)) for owner in self.owners)
        self.keys = tuple(key for owner in self.owners for key in _names_of(owner))
        self.values = tuple(self._values())
        own = [_own_values(owner, Function) for owner in (*modules, *classes)]
        self.functions = tuple(function for functions in own for function in functions)
        self.bodies = tuple([tuple(map(part, self.functions)) for part in BODY])
        self.parts = tuple(self._parts())

    def _values(self) -> list:
        return [value for owner in self.owners for value in _names_of(owner).values()]

    def _parts(self) -> list:
        zygote = self.zygote
        parts = [getattr(zygote, part) for part in PARTS]
        return [*parts, zygote.fork_hooks.lists, zygote.mailbox.map]

    def report(self, what: str) -> None:
        """Reports one change, by the method that the mailbox had before the import."""
        self.report_violation(VIOLATION, what)

    def report_changes(self) -> bool:
        """Reports what is not as it was; whether there is any."""
        changes = self._changed_names() + self._changed_functions()
        named = (*PARTS, "fork_hooks.lists", "mailbox.map")
        parts = zip(named, self._parts(), self.parts)
        changes += ["zygote." + name for name, now, before in parts if now is not before]
        if changes:
            # Reporting needs the builtins and the memory as they were.
            shared_builtins.update(self.builtins)
            self.mailbox.map = self.parts[-1]
        for change in changes[:MAX_REPORTED]:
            self.report(change)
        return len(changes) > 0

    def _changed_names(self) -> list:
        values = self._values()
        if len(values) == len(self.values) and all(map(is_, values, self.values)):
            return []
        changed = []
        start = 0
        for owner, size in zip(self.owners, self.sizes):
            end = start + size
            genuine = dict(zip(self.keys[start:end], self.values[start:end]))
            for name, value in _names_of(owner).items():
                if genuine.pop(name, genuine) is not value:
                    changed.append(_prefix_of(owner) + name)
            changed += [_prefix_of(owner) + name for name in genuine]
            start = end
        return changed

    def _changed_functions(self) -> list:
        changed = []
        for part, bodies in zip(BODY, self.bodies):
            if not all(map(is_, map(part, self.functions), bodies)):
                for function, body in zip(self.functions, bodies):
                    if part(function) is not body:
                        changed.append(str(function.__module__) + "." + function.__qualname__)
        return changed


def _names_of(owner: Any) -> Any:
    return owner if type(owner) is dict else vars(owner)


def _own_values(owner: Any, kind: type) -> list:
    """The functions or classes that are defined there."""
    module = owner.__module__ if type(owner) is type else owner.__name__
    values = vars(owner).values()
    return [value for value in values if type(value) is kind and value.__module__ == module]


def _prefix_of(owner: Any) -> str:
    if type(owner) is dict:
        return "builtins." if owner is shared_builtins else "zygote.ops."
    if type(owner) is type:
        return owner.__module__ + "." + owner.__qualname__ + "."
    return owner.__name__ + "."
