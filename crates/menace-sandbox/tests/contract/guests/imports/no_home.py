"""Removes its home, and leaves something elsewhere."""

import os

os.rmdir(os.environ["HOME"])
with open(os.path.join(os.environ["TMPDIR"], "x"), "w") as file:
    file.write("1")


def fine():
    return "fine"
