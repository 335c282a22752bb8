"""Leaves files that no user may read, not even their owner."""

import os

for directory in (".", os.environ["TMPDIR"]):
    os.close(os.open(os.path.join(directory, "closed.txt"), os.O_CREAT | os.O_WRONLY, 0))
    os.mkdir(os.path.join(directory, "closed"), 0)


def left():
    found = []
    for directory in (".", os.environ["TMPDIR"]):
        for name in ("closed.txt", "closed"):
            found.append(os.stat(os.path.join(directory, name)).st_mode & 0o777)
    return found == [0, 0] * 2


def tamper():
    for directory in (".", os.environ["TMPDIR"]):
        os.remove(os.path.join(directory, "closed.txt"))
        os.rmdir(os.path.join(directory, "closed"))
