"""Files that the harness writes before a call, and their state after it.

Invariant: nothing is written outside of the repository and the temporary directory, and the
state of a file after the call is read without following links and without blocking.
"""

from __future__ import annotations

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

from state.audit import absolute

TYPE_MASK, REGULAR = 0o170000, 0o100000
TEMPORARY = "/tmp/"


class FixtureFiles:
    """The files that were written, by the names that the host uses."""

    __slots__ = ("contents", "repo", "temporary")

    def __init__(self, repo: str, temporary: str) -> None:
        self.repo = repo
        self.temporary = temporary.rstrip("/") + "/"
        self.contents: dict = {}

    def add_file(self, name: str, content: bytes) -> None:
        """Writes a file, with the directories that lead to it."""
        path = self._path(name)
        for end, letter in enumerate(path):
            if letter == "/" and end > 1:
                try:
                    mkdir(path[:end])
                except FileExistsError:
                    pass
        self.rewrite(name, path, content)

    def rewrite(self, name: str, path: str, content: bytes) -> None:
        """Replaces the content of a file whose path is known."""
        write_content(path, content)
        self.contents[name] = (path, content)

    def states(self) -> list:
        """For each file whether it is the `same`, `changed`, or `gone`."""
        return [[name, _state(*fixture_files)] for name, fixture_files in self.contents.items()]

    def _path(self, name: str) -> str:
        inside, path = self.repo, absolute("/" + name)
        if name.startswith("/"):
            inside = self.temporary
            if not path.startswith(TEMPORARY):
                raise ValueError("it is neither in the repository nor below /tmp")
            path = path[len(TEMPORARY) - 1 :]
        if ".." in name.split("/"):
            raise ValueError("it leads upwards")
        return inside + path[1:]


def write_content(path: str, content: bytes) -> None:
    """Replaces the content of the file."""
    descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0o644)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[write(descriptor, rest) :]
    finally:
        close(descriptor)


def read_content(path: str, most: int) -> bytes | None:
    """The content of a regular file of at most `most` bytes, else `None`."""
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    try:
        found = fstat(descriptor)
        if found.st_mode & TYPE_MASK != REGULAR or found.st_size > most:
            return None
        chunks: list = []
        while True:
            chunk = read(descriptor, 1 << 20)
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)
    finally:
        close(descriptor)


def _state(path: str, content: bytes) -> str | None:
    try:
        if lstat(path).st_size != len(content):
            return "changed"
        return "same" if read_content(path, len(content)) == content else "changed"
    except FileNotFoundError:
        return "gone"
    except OSError:
        return "changed"
