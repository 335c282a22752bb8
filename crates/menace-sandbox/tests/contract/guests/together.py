"""Sections that share what they leave behind."""

import os
import signal
import urllib.request

seen = []


def fine():
    return "fine"


def put(item):
    seen.append(item)
    return len(seen)


def hoard():
    seen.append(bytes(1000))
    return len(seen)


def tie_a_knot():
    knot = [bytes(1000)]
    knot.append(knot)


def look_up():
    return [getattr(seen, "app" + end) is None for end in ("end", "end", "end", "end")]


def ask():
    with urllib.request.urlopen("http://api.example/items", timeout=2) as answer:
        return len(answer.read())


def fail():
    seen.append("failed")
    raise RuntimeError("on purpose")


def refuse(item):
    raise ValueError("not this one")


def write(text):
    with open("shared.txt", "a") as file:
        file.write(text)
    with open("shared.txt") as file:
        return file.read()


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    while True:
        pass


def leave():
    raise SystemExit(3)


def large():
    return bytes(100 << 20)


def print_out():
    print("said")


class Account:
    balance = 0

    def __init__(self, start):
        Account.balance += start

    def total(self):
        return Account.balance
