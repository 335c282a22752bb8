"""Changes the shape of data files of the repository when the guest first opens them.

Python calls audit hooks before it opens a file: the hook puts the changed file in its place, in the
overlay of the call. Invariant: a file is changed at most once.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident
from posix import O_ACCMODE, O_APPEND, O_CREAT, O_TRUNC
from sys import addaudithook

from faults.schema_drift import MAX_FILE_BYTES, drifted_json, drifted_lines, drifted_table
from runtime.fixture_files import read_content
from state.audit import absolute

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable
    from typing import Any

    from faults.injection import FaultInjector, FaultMask
    from runtime.fixture_files import FixtureFiles
    from state.audit import Audit

WRITING = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND
FORMS = {
    ".json": drifted_json,
    ".jsonl": drifted_lines,
    ".ndjson": drifted_lines,
    ".csv": lambda data, random, which: drifted_table(data, random, which, ","),
    ".tsv": lambda data, random, which: drifted_table(data, random, which, "\t"),
}


class FileDrift:
    """The data files that were opened so far."""

    __slots__ = (
        "audit",
        "busy",
        "fault_mask",
        "fixture_files",
        "injector",
        "lock",
        "opened",
        "repo",
    )

    def __init__(
        self,
        injector: FaultInjector,
        fixture_files: FixtureFiles,
        audit: Audit,
        fault_mask: FaultMask,
    ) -> None:
        self.injector = injector
        self.fixture_files = fixture_files
        self.audit = audit
        self.fault_mask = fault_mask
        self.repo = fixture_files.repo
        self.opened: set = set()
        self.lock = allocate_lock()
        self.busy: int | None = None

    def watch(self) -> None:
        """Starts to change files before they are opened."""

        def hook(event: str, args: tuple) -> None:
            if event == "open" and self.audit.listening and self.busy != get_ident():
                try:
                    self._opens(args[0], args[2])
                except BaseException:
                    pass

        addaudithook(hook)

    def _opens(self, path: object, flags: object) -> None:
        if type(path) is bytes:
            path = path.decode("utf-8", "surrogateescape")
        if type(path) is not str or type(flags) is not int or flags & WRITING:
            return
        form = FORMS.get(path[path.rfind(".") :].lower() if "." in path else None)
        if form is None:
            return
        path = absolute(path)
        if not path.startswith(self.repo) or path in self.opened:
            return
        with self.lock:
            if path in self.opened:
                return
            self.opened.add(path)
            self.busy = get_ident()
            try:
                with self.fault_mask:
                    self._change(path, form)
            finally:
                self.busy = None

    def _change(self, path: Any, form: Callable) -> None:
        data = read_content(path, MAX_FILE_BYTES)
        made = form(data, self.injector.random, self.injector.opportunities + 1) if data else None
        if made is not None and self.injector.should_inject():
            changed, change = made
            name = path[len(self.repo) :]
            self.fixture_files.rewrite(name, path, changed)
            self.injector.record(name + ": " + change)
