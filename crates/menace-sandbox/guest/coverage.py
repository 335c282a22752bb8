"""Which lines of the repository a call reached, and from which line it went to which.

How that is watched belongs to `monitoring` (from Python 3.12 on) and `tracing`. Invariant: only
files of the repository are kept, and of them no more than fits into a report.
"""

import sys

if sys.version_info >= (3, 12):
    from monitoring import Monitor as Watch
else:
    from tracing import Tracer as Watch

MOST_FILES = 256
MOST_LINES = 20_000
MOST_BRANCHES = 20_000
LARGEST_LINE = 1 << 31


class Coverage:
    """What was reached so far, by file."""

    __slots__ = ("files", "lost", "outcome", "repo", "watch")

    def __init__(self, repo, outcome):
        self.repo = repo
        self.outcome = outcome
        self.files = {}
        self.lost = False
        self.watch = Watch(self)

    def begin(self, afterwards):
        """From here on what runs is watched."""
        self.outcome.tracer = self.watch.begin(afterwards)

    def resume(self, tracer):
        """Goes on after the harness has stopped it; `tracer` is what the guest had by then."""
        self.lost = self.lost or not self.watch.was_kept(tracer)
        self.watch.resume()

    def reached(self, file):
        """Where to put the steps in a file: `(0, line)` to begin with, then `(line, line)`.

        `None` for a file that is not the repository's.
        """
        if not file.startswith(self.repo) or "/site-packages/" in file:
            return None
        return self.files.setdefault(file[len(self.repo) :], set())

    def report(self, tracer):
        """`[file, lines, branches]` of each, branches as pairs in one list."""
        if self.lost or not self.watch.was_kept(tracer):
            self.outcome.note(
                "more may have been reached: the call used up its stack or set a tracer"
            )
        self.watch.finish()
        lines_left, branches_left = MOST_LINES, MOST_BRANCHES
        told = []
        for file in sorted(self.files)[:MOST_FILES]:
            steps = sorted(step for step in self.files[file] if 0 < step[1] < LARGEST_LINE)
            lines = sorted({line for _, line in steps})[:lines_left]
            branches = [step for step in steps if 0 < step[0] != step[1]][:branches_left]
            if lines:
                told.append([file, lines, [line for step in branches for line in step]])
            lines_left -= len(lines)
            branches_left -= len(branches)
        if lines_left <= 0 or branches_left <= 0 or len(self.files) > MOST_FILES:
            self.outcome.note("more was reached than the report holds")
        return told
