# ruff: noqa: BLE001, S110 (whatever goes wrong here, the guest opens its file)
"""Changes the shape of data files of the repository in the moment when the guest first opens them.

Python tells its audit hooks of a file before it opens it: by then the changed one is in its place, in
the call's own layer, for whoever opens it and however. Invariant: a file is changed at most once.
"""

from posix import O_ACCMODE, O_APPEND, O_CREAT, O_TRUNC
from sys import addaudithook

from _thread import allocate_lock, get_ident
from audit import absolute
from drifting import LARGEST, drifted_json, drifted_lines, drifted_table
from planted import take

WRITING = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND
FORMS = {
    ".json": drifted_json,
    ".jsonl": drifted_lines,
    ".ndjson": drifted_lines,
    ".csv": lambda data, dice, which: drifted_table(data, dice, which, ","),
    ".tsv": lambda data, dice, which: drifted_table(data, dice, which, "\t"),
}


class Reading:
    """The files that were opened so far."""

    __slots__ = ("audit", "busy", "felt", "known", "lock", "planted", "repo", "spared")

    def __init__(self, felt, planted, audit, spared):
        self.felt = felt
        self.planted = planted
        self.audit = audit
        self.spared = spared
        self.repo = planted.repo
        self.known = set()
        self.lock = allocate_lock()
        self.busy = None

    def watch(self):
        """From here on files are looked at before they are opened."""

        def hook(event, args):
            if event == "open" and self.audit.listening and self.busy != get_ident():
                try:
                    self._opens(args[0], args[2])
                except BaseException:
                    pass

        addaudithook(hook)

    def _opens(self, path, flags):
        if type(path) is bytes:
            path = path.decode("utf-8", "surrogateescape")
        if type(path) is not str or type(flags) is not int or flags & WRITING:
            return
        form = FORMS.get(path[path.rfind(".") :].lower() if "." in path else None)
        if form is None:
            return
        path = absolute(path)
        if not path.startswith(self.repo) or path in self.known:
            return
        with self.lock:
            if path in self.known:
                return
            self.known.add(path)
            self.busy = get_ident()
            try:
                with self.spared:
                    self._change(path, form)
            finally:
                self.busy = None

    def _change(self, path, form):
        data = take(path, LARGEST)
        made = form(data, self.felt.dice, self.felt.offered + 1) if data else None
        if made is not None and self.felt.strikes():
            changed, said = made
            name = path[len(self.repo) :]
            self.planted.rewrite(name, path, changed)
            self.felt.strike(name + ": " + said)
