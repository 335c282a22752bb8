"""Each fork prints more than a pipe holds, and opens a file, before it does anything else."""

import os


def fine():
    return "fine"


def length(text):
    return len(text)


def before_anything_else():
    os.write(1, bytes(1 << 18))
    os.close(os.open("data.txt", os.O_RDONLY))


os.register_at_fork(after_in_child=before_anything_else)
