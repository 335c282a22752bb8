"""Leaves files and memory open, which each call finds as the import left them."""

import fcntl
import mmap
import os

TEXT = open("data.txt")
TEXT.readline()
HERE = os.open(".", os.O_RDONLY)
PATH = os.open("package", os.O_PATH)
NULL = os.open(os.devnull, os.O_RDONLY)
NUMBERS = [TEXT.fileno(), HERE, NULL, 0]


def fine():
    return "fine"


def look_and_tamper():
    """What is behind the descriptors; changes all of it afterwards."""
    flags = [fcntl.fcntl(number, fcntl.F_GETFL) for number in NUMBERS]
    data = os.stat("data.txt", dir_fd=HERE)
    seen = [
        TEXT.tell(),
        os.lseek(HERE, 0, os.SEEK_CUR),
        [bool(flag & (os.O_NONBLOCK | os.O_APPEND)) for flag in flags],
        sorted(os.listdir(HERE)),
        os.listdir("package"),
        [data.st_mode, data.st_mtime == 1, data.st_size],
    ]
    TEXT.seek(3)
    os.listdir(HERE)
    for number, flag in zip(NUMBERS, flags):
        fcntl.fcntl(number, fcntl.F_SETFL, flag | os.O_NONBLOCK | os.O_APPEND)
    for name, start in (("data.txt", HERE), ("inner.py", PATH), ("new.txt", HERE), ("n.py", PATH)):
        with open(os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=start), "w") as file:
            file.write("tampered")
        os.utime(name, (1, 1), dir_fd=start)
    return seen


SHARED = MAPPED = None


def share():
    """What a call wrote into memory before; writes into it."""
    seen = SHARED[:5]
    SHARED[:5] = b"call!"
    return seen


def change_in_place():
    """What a call wrote into the file before, as far as its mapping tells; writes into it."""
    seen = MAPPED[:4]
    with open("data.txt", "r+") as file:
        file.write("call")
    return seen


if os.environ.get("SHARE"):
    SHARED = mmap.mmap(-1, 4096)
    SHARED[:5] = b"start"
if os.environ.get("MAP"):
    with open("data.txt") as file:
        MAPPED = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
