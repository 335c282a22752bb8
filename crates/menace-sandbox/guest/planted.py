"""Files that the harness puts before a call, and what became of them.

Invariant: nothing is written outside of the repository and the temporary directory, and what the
call left of a file is told without following links or waiting for anybody.
"""

from posix import (
    O_CLOEXEC,
    O_CREAT,
    O_NOFOLLOW,
    O_NONBLOCK,
    O_RDONLY,
    O_TRUNC,
    O_WRONLY,
    close,
    fstat,
    lstat,
    mkdir,
    open,
    read,
    write,
)

from audit import absolute

TYPE_MASK, REGULAR = 0o170000, 0o100000
TEMPORARY = "/tmp/"


class Planted:
    """What was put where, by the name that the host knows it by."""

    __slots__ = ("contents", "repo", "temporary")

    def __init__(self, repo, temporary):
        self.repo = repo
        self.temporary = temporary.rstrip("/") + "/"
        self.contents = {}

    def plant(self, name, content):
        """Writes a file, with the directories that lead to it."""
        path = self._path(name)
        for end, letter in enumerate(path):
            if letter == "/" and end > 1:
                try:
                    mkdir(path[:end])
                except FileExistsError:
                    pass
        self.rewrite(name, path, content)

    def rewrite(self, name, path, content):
        """Writes a file of which it is known where it is."""
        put(path, content)
        self.contents[name] = (path, content)

    def states(self):
        """For each file whether it is still the `same`, was `changed`, or is `gone`."""
        return [[name, _state(*planted)] for name, planted in self.contents.items()]

    def _path(self, name):
        inside, path = self.repo, absolute("/" + name)
        if name.startswith("/"):
            inside = self.temporary
            if not path.startswith(TEMPORARY):
                raise ValueError("it is neither in the repository nor below /tmp")
            path = path[len(TEMPORARY) - 1 :]
        if ".." in name.split("/"):
            raise ValueError("it leads upwards")
        return inside + path[1:]


def put(path, content):
    """Makes this the content of the file."""
    descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0o644)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[write(descriptor, rest) :]
    finally:
        close(descriptor)


def take(path, most):
    """The content of a regular file that has at most so many bytes, or `None`."""
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    try:
        found = fstat(descriptor)
        if found.st_mode & TYPE_MASK != REGULAR or found.st_size > most:
            return None
        chunks = []
        while True:
            chunk = read(descriptor, 1 << 20)
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)
    finally:
        close(descriptor)


def _state(path, content):
    try:
        if lstat(path).st_size != len(content):
            return "changed"
        return "same" if take(path, len(content)) == content else "changed"
    except FileNotFoundError:
        return "gone"
    except OSError:
        return "changed"
