"""Does a little of everything, and says what went wrong in each of it."""

import errno
import json
import socket
import threading
import time
import urllib.request


def fine():
    return "fine"


def tried(work, *args):
    """What came of it, in a word."""
    try:
        work(*args)
        return "done"
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__)
    except MemoryError:
        return "MemoryError"
    except (LookupError, TypeError, ValueError) as error:
        return type(error).__name__


def write(path):
    with open(path, "wb", buffering=0) as file:
        file.write(bytes(1000))


def is_intact(path):
    with open(path, "rb") as file:
        if any(file.read()):
            raise ValueError("not what was written")


def read_data():
    with open("table.json") as file:
        return json.load(file)["rows"][0]["price"] + 1


def call_out():
    with urllib.request.urlopen("http://api.example/", timeout=2) as answer:
        return json.load(answer)["ok"]


def allocate():
    return bytearray(64 << 20)


def everything():
    """Once each, by name."""
    return {
        "write": tried(write, "out.bin"),
        "intact": tried(is_intact, "out.bin"),
        "data": tried(read_data),
        "call": tried(call_out),
        "memory": tried(allocate),
    }


def write_and_tell():
    return tried(write, "out.bin")


def files_and_calls(count):
    return [[tried(write, "out.bin"), tried(call_out)] for _ in range(count)]


def longest_gap_and_call(seconds):
    """Whether it was stopped for a while, and what it got as an answer."""
    longest, last = 0.0, time.perf_counter()
    end = last + seconds
    while last < end:
        now = time.perf_counter()
        longest = max(longest, now - last)
        last = now
    return [longest, tried(call_out)]


def own_round_trip():
    """Milliseconds to a server of its own and back."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    threading.Thread(target=lambda: server.sendto(*server.recvfrom(9)), daemon=True).start()
    began = time.perf_counter()
    client.sendto(b"?", server.getsockname())
    client.recv(9)
    return (time.perf_counter() - began) * 1000


def round_trip_and_write():
    return [own_round_trip(), tried(write, "out.bin")]


shared = {"n": 0}


def racy_and_calling():
    """Loses updates, and calls out on the way."""
    n = shared["n"]
    answer = tried(call_out)
    shared["n"] = n + 1
    return [shared["n"], answer]
