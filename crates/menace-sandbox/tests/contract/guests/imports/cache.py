"""Writes a cache of five megabytes while it is imported."""

import os

with open(os.path.join(os.environ["TMPDIR"], "cache"), "wb") as file:
    file.write(bytes(5 << 20))


def fine():
    return os.path.getsize(os.path.join(os.environ["TMPDIR"], "cache"))
