"""Exchanges a directory and a link that leads outside, again and again.

The import leaves both; $RACER says who exchanges them afterwards: a thread of the warm interpreter,
which is started when the import is over, or whoever is forked for a call, before the call.
"""

import _thread
import ctypes
import os
import time

TOP = os.path.dirname(os.path.abspath(__file__))
ROOM = os.path.join(TOP, "room")
LINK = os.path.join(TOP, "link")
NAMES = [str(number) for number in range(int(os.environ["FILES"]))]
AT_FDCWD = -100
RENAME_EXCHANGE = 2
renameat2 = ctypes.CDLL(None).renameat2
threads = []

os.mkdir(ROOM)
os.symlink(os.environ["VICTIM"], LINK)
for name in NAMES:
    with open(os.path.join(ROOM, name), "w") as file:
        file.write("by the import")


def race(seconds):
    room, link, end = os.fsencode(ROOM), os.fsencode(LINK), time.monotonic() + seconds
    while time.monotonic() < end:
        renameat2(AT_FDCWD, room, AT_FDCWD, link, RENAME_EXCHANGE)


def start_thread():
    if not threads:
        threads.append(_thread.start_new_thread(race, (60,)))


if os.environ["RACER"] == "thread":
    os.register_at_fork(after_in_parent=start_thread)
else:
    os.register_at_fork(after_in_child=lambda: race(0.2))


def scribble():
    room = open_room()
    for name in NAMES:
        file = os.open(name, os.O_RDWR, dir_fd=room)
        found = os.pread(file, 100, 0)
        assert found == b"by the import", (name, found)
        os.pwrite(file, b"by a call", 0)
        os.close(file)


def open_room():
    while True:
        for path in (ROOM, LINK):
            try:
                return os.open(path, os.O_DIRECTORY | os.O_NOFOLLOW)
            except OSError:
                pass  # At the moment this is the link.
