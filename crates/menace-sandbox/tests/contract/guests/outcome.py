"""Does things that an outcome has to tell."""

import os
import subprocess
import sys
import tempfile
import threading
import time

KEPT = []


def fine():
    return "fine"


def look_up(key):
    return {"a": 1}[key]


def fail():
    try:
        look_up("b")
    except KeyError as error:
        raise ValueError("no such key") from error


def fail_inside_the_library():
    import json

    return json.loads("{")


def fail_with_errno():
    open("missing.txt")


def talk():
    print("to stdout")
    print("to stderr", file=sys.stderr)
    sys.stdout.write("without a line end")


def print_bytes():
    os.write(1, b"\xff\xfe ok")


def burn():
    end = time.process_time() + 0.15
    while time.process_time() < end:
        pass


def burn_in_a_child():
    pid = os.fork()
    if pid == 0:
        burn()
        os._exit(0)
    os.waitpid(pid, 0)


def change_metadata():
    """The mode of a file after a change that the system says to have made."""
    os.chmod("data.txt", 0o640)
    os.utime("data.txt", (7, 7))
    found = os.stat("data.txt")
    return [found.st_mode & 0o777 == 0o640, found.st_mtime == 7]


def rest():
    time.sleep(0.15)


def allocate():
    taken = bytearray(48 << 20)
    for at in range(0, len(taken), 4096):
        taken[at] = 1
    return len(taken)


def read_and_write():
    with open("big.bin", "wb") as file:
        file.write(b"x" * (2 << 20))
    with open("big.bin", "rb") as file:
        return len(file.read())


def touch_files():
    with open("new.txt", "w") as file:
        file.write("12345")
    with open("data.txt", "a") as file:
        file.write("more\n")
    os.remove("old.txt")
    os.makedirs("made/deeper")
    with open("made/deeper/file.txt", "w") as file:
        file.write("1")
    for place in (tempfile.gettempdir(), os.path.expanduser("~")):
        with open(os.path.join(place, "t.txt"), "w") as file:
            file.write("123")


def touch_and_restore():
    with open("temporary.txt", "w") as file:
        file.write("x")
    os.remove("temporary.txt")


def leave():
    thread = threading.Thread(target=time.sleep, args=(60,), name="lingerer", daemon=True)
    thread.start()
    KEPT.append(open("data.txt"))
    KEPT.append(subprocess.Popen(["sleep", "60"]))


def equal():
    return {"b": [1, 2.5], "a": {3, 1, 2}}


def other():
    return {"b": [1, 2.5], "a": {3, 1, 4}}


class Point:
    def __init__(self, x):
        self.x = x


def point():
    return Point(1)
