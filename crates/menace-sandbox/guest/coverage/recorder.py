"""Records which lines of the repository a call reached, and the steps from line to line.

`monitoring` (from Python 3.12 on) and `tracing` do the recording. Invariant: only files of the
repository are recorded, and no more of them than fits into a report.
"""

from __future__ import annotations

import sys

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from runtime.call import CallProgress
    from runtime.import_hooks import ImportHooks

if sys.version_info >= (3, 12):
    from coverage.monitoring import Monitor as Watch
else:
    from coverage.tracing import Tracer as Watch

MAX_FILES = 256
MAX_LINES = 20_000
MAX_BRANCHES = 20_000
MAX_LINE_NUMBER = 1 << 31


class CoverageRecorder:
    """The lines and steps recorded so far, by file."""

    __slots__ = ("files", "lost", "progress", "repo", "watch")

    def __init__(self, repo: str, progress: CallProgress) -> None:
        self.repo = repo
        self.progress = progress
        self.files: dict = {}
        self.lost = False
        self.watch: Any = Watch(self)

    def begin(self, import_hooks: ImportHooks) -> None:
        """Starts to record."""
        self.progress.tracer = self.watch.begin(import_hooks)

    def resume(self, tracer: object) -> None:
        """Continues after a pause by the harness; `tracer` is the one that the guest has now."""
        self.lost = self.lost or not self.watch.was_kept(tracer)
        self.watch.resume()

    def reached(self, file: str) -> set | None:
        """The set for steps in a file: `(0, line)` for a line, `(line, line)` for a branch.

        `None` for a file outside of the repository.
        """
        if not file.startswith(self.repo) or "/site-packages/" in file:
            return None
        return self.files.setdefault(file[len(self.repo) :], set())

    def report(self, tracer: object) -> list:
        """`[file, lines, branches]` of each file, branches as pairs in one list."""
        if self.lost or not self.watch.was_kept(tracer):
            self.progress.note(
                "more may have been reached: the call used up its stack or set a tracer"
            )
        self.watch.finish()
        lines_left, branches_left = MAX_LINES, MAX_BRANCHES
        reported = []
        for file in sorted(self.files)[:MAX_FILES]:
            steps = sorted(step for step in self.files[file] if 0 < step[1] < MAX_LINE_NUMBER)
            lines = sorted({line for _, line in steps})[:lines_left]
            branches = [step for step in steps if 0 < step[0] != step[1]][:branches_left]
            if lines:
                reported.append([file, lines, [line for step in branches for line in step]])
            lines_left -= len(lines)
            branches_left -= len(branches)
        if lines_left <= 0 or branches_left <= 0 or len(self.files) > MAX_FILES:
            self.progress.note("more was reached than the report holds")
        return reported
