"""Records accesses of the guest to files outside the allowed paths and to network addresses.

It sees Python's audit events, not system calls of C code. Each violation is reported at once,
because its process may be killed before its report, or be a fork that writes none. Invariant: the
hook never raises, and never runs the guest's code.
"""

from __future__ import annotations

from posix import O_ACCMODE, O_APPEND, O_CREAT, O_TRUNC, getcwd, readlink
from sys import addaudithook

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from runtime.mailbox import Mailbox

# Violations that are kept; beyond them, only the first one of each kind is.
MAX_VIOLATIONS = 32
MAX_DIRECTORIES = 2000
MAX_DETAIL_CHARS = 500
# How many links are followed from a path to a file: as many as the kernel follows.
MAX_LINKS = 40
WRITING = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND
# Event → the action, and the positions of paths and of the descriptors that they start from.
CHANGES = {
    "os.remove": ("remove", ((0, 1),)),
    "os.rename": ("rename", ((0, 2), (1, 3))),
    "os.mkdir": ("mkdir", ((0, 2),)),
    "os.rmdir": ("rmdir", ((0, 1),)),
    "os.chmod": ("chmod", ((0, 2),)),
    "os.chown": ("chown", ((0, 3),)),
    "os.link": ("link", ((0, 2), (1, 3))),
    "os.symlink": ("symlink", ((1, 2),)),
    "os.truncate": ("truncate", ((0, None),)),
}
# After these actions the cached locations of directories may be wrong.
MOVING = frozenset(("rename", "symlink", "rmdir", "remove"))
LISTINGS = frozenset(("os.listdir", "os.scandir"))
ADDRESSES = {"socket.connect": "connect", "socket.sendto": "sendto"}
CONNECTING = frozenset(ADDRESSES.values())
ENVIRON = frozenset(("os.putenv", "os.unsetenv"))
OPENING = frozenset(("read", "write", "list"))
HOOKING = "sys.addaudithook"
HANDLED = frozenset(CHANGES) | LISTINGS | frozenset(ADDRESSES) | ENVIRON | {"open", HOOKING}


class Audit:
    """The violations of one call, and whether it set a variable; active while the guest runs.

    Also how many audit hooks the guest added, which see everything that the harness does later.
    """

    __slots__ = (
        "directories",
        "environ_touched",
        "hooks",
        "listening",
        "mailbox",
        "search_path",
        "unrecorded_read",
        "unrecorded_write",
        "violations",
    )

    def __init__(self, unrecorded_read: list, unrecorded_write: list, mailbox: Mailbox) -> None:
        self.mailbox = mailbox
        self.hooks = 0
        # Canonical paths of directories.
        self.directories: dict = {}
        self.listening = self.environ_touched = False
        self.violations: list = []
        # Listing one of these is no violation.
        self.search_path: frozenset = frozenset()
        self.unrecorded_read = tuple(path.rstrip("/") + "/" for path in unrecorded_read)
        self.unrecorded_write = tuple(path.rstrip("/") + "/" for path in unrecorded_write)

    def install(self) -> None:
        """Installs the hook, which cannot be removed."""
        handled = HANDLED

        def hook(event: str, args: tuple) -> None:
            if event in handled and self.listening:
                try:
                    self._note(event, args)
                except BaseException:
                    pass

        addaudithook(hook)

    def forget(self) -> None:
        """Discards the state of the last call."""
        self.violations = []
        self.directories = {}
        self.environ_touched = False

    def _note(self, event: str, args: tuple) -> None:
        if event in ENVIRON:
            self.environ_touched = True
            return
        if event == HOOKING:
            self.hooks += 1
            return
        if event == "open":
            path, _, flags = args
            writes = type(flags) is int and flags & WRITING != 0
            self._path("write" if writes else "read", path, None, writes)
        elif event in CHANGES:
            kind, places = CHANGES[event]
            if kind in MOVING:
                self.directories.clear()
            for position, start in places:
                from_descriptor = args[start] if start is not None and start < len(args) else None
                self._path(kind, args[position], from_descriptor, True)
        elif event in LISTINGS:
            path = "." if args[0] is None else args[0]
            if type(path) is not str or path not in self.search_path:
                self._path("list", path, None, False)
        else:
            self._add(ADDRESSES[event], _address(args[1]))

    def _path(self, kind: str, path: object, start: object, writes: bool) -> None:
        if type(path) is bytes:
            path = path.decode("utf-8", "surrogateescape")
        if type(path) is not str:
            return
        path = absolute(path, start)
        allowed = self.unrecorded_write if writes else self.unrecorded_read
        if not (path + "/").startswith(allowed):
            self._add(kind, path)
        elif kind in OPENING:
            path = self._resolve_links(path)
            # Files in /proc are not files of the host.
            if not path.startswith("/proc/") and not (path + "/").startswith(allowed):
                self._add(kind, path)

    def _resolve_links(self, path: Any) -> str:
        """The path after following links, as far as they can be read."""
        for _ in range(MAX_LINKS):
            directory, _, name = path.rpartition("/")
            path = self._directory(directory) + "/" + name
            try:
                target = readlink(path)
            except OSError:
                break
            path = absolute(target if target[:1] == "/" else path[: -len(name)] + target)
        return path

    def _directory(self, path: Any) -> str:
        if not path:
            return path
        found = self.directories.get(path)
        if found is None:
            # Set before the recursion, in case the link leads to itself.
            self.directories[path] = path
            found = self._resolve_links(path).rstrip("/")
            if len(self.directories) > MAX_DIRECTORIES:
                self.directories.clear()
            self.directories[path] = found
        return found

    def _add(self, kind: str, detail: str) -> None:
        violation = [kind, detail[:MAX_DETAIL_CHARS]]
        if violation in self.violations:
            return
        if len(self.violations) >= MAX_VIOLATIONS and any(
            kind == noted for noted, _ in self.violations
        ):
            if kind not in CONNECTING:
                self.mailbox.report_unlisted(kind)
            return
        self.violations.append(violation)
        if kind not in CONNECTING:
            self.mailbox.report_violation(kind, violation[1])


def absolute(path: Any, start: Any = None) -> str:
    """The absolute path without dots; links are not followed."""
    if path[:1] != "/":
        if type(start) is int and start >= 0:
            path = readlink("/proc/self/fd/" + str(start)) + "/" + path
        else:
            path = getcwd() + "/" + path
    parts: list = []
    for part in path.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part and part != ".":
            parts.append(part)
    return "/" + "/".join(parts)


def _address(address: object) -> str:
    """A socket's address in words, from plain values only."""
    if type(address) is tuple:
        return ":".join(str(part) for part in address[:2] if type(part) in (str, int))
    if type(address) is bytes:
        return address.decode("utf-8", "surrogateescape")
    return address if type(address) is str else "?"
