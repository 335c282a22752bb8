"""Tries ways out that were open once."""

import fcntl
import os
import socket
import sys


def connect(path):
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(path)
            one.sendall(b"hi from the guest")
            return "reached"
    except OSError as error:
        return repr(error)


def plant():
    found, planted = "nothing found", "nothing planted"
    for place in ("/tmp", os.environ["TMPDIR"]):
        if os.path.exists(place + "/planted"):
            found = "found in " + place
    for place in ("next", "used", "import"):
        try:
            with open("/layers/" + place + "/box/tmp/planted", "w") as file:
                file.write("by an earlier call")
            planted = "planted in " + place
        except OSError:
            pass
    return found + ", " + planted


def packets():
    flags = fcntl.fcntl(1, fcntl.F_GETFL)
    fcntl.fcntl(1, fcntl.F_SETFL, flags | os.O_DIRECT)
    for _ in range(200):
        os.write(1, b"LEAK")
    os._exit(0)


def quiet():
    sys.stdout.flush()


def own_to_parent():
    one, other = socket.socketpair()
    fcntl.fcntl(one, 10, 9)  # F_SETSIG, SIGKILL
    fcntl.fcntl(one, fcntl.F_SETOWN, os.getppid())
    fcntl.fcntl(one, fcntl.F_SETFL, fcntl.fcntl(one, fcntl.F_GETFL) | os.O_ASYNC)
    other.send(b"!")
    return os.getppid()


def fine():
    return "fine"
