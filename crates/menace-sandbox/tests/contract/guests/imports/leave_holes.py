"""Leaves a file that is larger than any disk, and holds next to nothing."""

import os

for directory in (".", os.environ["TMPDIR"]):
    with open(os.path.join(directory, "holes"), "wb") as file:
        file.write(b"begin")
        file.truncate(1 << 40)
        file.seek((1 << 40) - 3)
        file.write(b"end")


def left():
    found = []
    for directory in (".", os.environ["TMPDIR"]):
        with open(os.path.join(directory, "holes"), "rb") as file:
            begin = file.read(5)
            file.seek(-3, 2)
            found.append((file.tell() + 3, begin, file.read()))
    return found == [(1 << 40, b"begin", b"end")] * 2


def tamper():
    for directory in (".", os.environ["TMPDIR"]):
        with open(os.path.join(directory, "new"), "wb") as file:
            file.write(b"x")
        os.remove(os.path.join(directory, "holes"))
