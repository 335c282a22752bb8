# ruff: noqa: BLE001, S110 (the guest may raise anything, anywhere)
"""Notes which files outside the allowed roots, and which addresses, the guest reached for.

From Python's audit events; C code that makes system calls of its own is not seen here. Each attempt is
told at once, because who makes it may not live to report it, or may be a fork that reports nothing.
Invariant: the hook never raises, and never runs the guest's code.
"""

from posix import O_ACCMODE, O_APPEND, O_CREAT, O_TRUNC, getcwd, readlink
from sys import addaudithook

MOST = 32
MOST_DIRECTORIES = 2000
LONGEST = 500
# The most links that lead from a path to a file.
MOST_LINKS = 16
WRITING = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND
# Event → what it is called, and the positions of paths and of the descriptors they start from.
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
# After these a directory may be somewhere else.
MOVING = frozenset(("rename", "symlink", "rmdir", "remove"))
LISTINGS = frozenset(("os.listdir", "os.scandir"))
ADDRESSES = {"socket.connect": "connect", "socket.sendto": "sendto"}
CONNECTING = frozenset(ADDRESSES.values())
ENVIRON = frozenset(("os.putenv", "os.unsetenv"))
OPENING = frozenset(("read", "write", "list"))
HANDLED = frozenset(CHANGES) | LISTINGS | frozenset(ADDRESSES) | ENVIRON | {"open"}


class Audit:
    """The attempts of one call, and whether it set a variable; listens while the guest runs."""

    __slots__ = ("attempts", "directories", "environ", "listening", "roots", "tell", "write_roots")

    def __init__(self, roots, write_roots, tell):
        self.tell = tell
        # Where directories are once links are followed.
        self.directories = {}
        self.listening = self.environ = False
        self.attempts = []
        self.roots = tuple(root.rstrip("/") + "/" for root in roots)
        self.write_roots = tuple(root.rstrip("/") + "/" for root in write_roots)

    def install(self):
        """Adds the hook, which cannot be removed again."""
        handled = HANDLED

        def hook(event, args):
            if event in handled and self.listening:
                try:
                    self._note(event, args)
                except BaseException:
                    pass

        addaudithook(hook)

    def forget(self):
        """Begins a new call."""
        self.attempts = []
        self.directories = {}
        self.environ = False

    def _note(self, event, args):
        if event in ENVIRON:
            self.environ = True
            return
        if len(self.attempts) >= MOST:
            return
        if event == "open":
            path, _, flags = args
            writes = type(flags) is int and flags & WRITING
            self._path("write" if writes else "read", path, None, writes)
        elif event in CHANGES:
            kind, places = CHANGES[event]
            if kind in MOVING:
                self.directories.clear()
            for position, start in places:
                from_descriptor = args[start] if start is not None and start < len(args) else None
                self._path(kind, args[position], from_descriptor, True)
        elif event in LISTINGS:
            self._path("list", "." if args[0] is None else args[0], None, False)
        else:
            self._add(ADDRESSES[event], _address(args[1]))

    def _path(self, kind, path, start, writes):
        if type(path) is bytes:
            path = path.decode("utf-8", "surrogateescape")
        if type(path) is not str:
            return
        path = absolute(path, start)
        roots = self.write_roots if writes else self.roots
        if not (path + "/").startswith(roots):
            self._add(kind, path)
        elif kind in OPENING:
            path = self._followed(path)
            # What is in there is no file of the host's.
            if not path.startswith("/proc/") and not (path + "/").startswith(roots):
                self._add(kind, path)

    def _followed(self, path):
        """The path that it leads to, as far as that can be seen."""
        for _ in range(MOST_LINKS):
            directory, _, name = path.rpartition("/")
            path = self._directory(directory) + "/" + name
            try:
                target = readlink(path)
            except OSError:
                break
            path = absolute(target if target[:1] == "/" else path[: -len(name)] + target)
        return path

    def _directory(self, path):
        if not path:
            return path
        found = self.directories.get(path)
        if found is None:
            # Not again, should it lead to itself.
            self.directories[path] = path
            found = self._followed(path).rstrip("/")
            if len(self.directories) > MOST_DIRECTORIES:
                self.directories.clear()
            self.directories[path] = found
        return found

    def _add(self, kind, detail):
        attempt = [kind, detail[:LONGEST]]
        if attempt not in self.attempts:
            self.attempts.append(attempt)
            if kind not in CONNECTING:
                self.tell(kind, attempt[1])


def absolute(path, start=None):
    """The path from the root, without dots; links are not followed."""
    if path[:1] != "/":
        if type(start) is int and start >= 0:
            path = readlink("/proc/self/fd/" + str(start)) + "/" + path
        else:
            path = getcwd() + "/" + path
    parts = []
    for part in path.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part and part != ".":
            parts.append(part)
    return "/" + "/".join(parts)


def _address(address):
    """A socket's address in words, from plain values only."""
    if type(address) is tuple:
        return ":".join(str(part) for part in address[:2] if type(part) in (str, int))
    if type(address) is bytes:
        return address.decode("utf-8", "surrogateescape")
    return address if type(address) is str else "?"
