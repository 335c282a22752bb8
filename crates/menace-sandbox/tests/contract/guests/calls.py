"""Sections of every kind, all well behaved."""

import asyncio
import contextlib

print("imported")


def add(a, b=1, *, c=0):
    return a + b + c


def fine():
    return "fine"


def length(text):
    return len(text)


def outer():
    def inner():
        return "inner"

    return inner()


class Account:
    kind = "account"

    def __init__(self, balance, owner="none"):
        self.balance = balance
        self.owner = owner

    def withdraw(self, amount):
        self.balance -= amount
        return self.owner, self.balance

    @classmethod
    def described(cls, suffix):
        return cls.kind + suffix

    @staticmethod
    def twice(number):
        return number * 2

    @property
    def doubled(self):
        return self.balance * 2

    class Entry:
        def size(self):
            return 1

    def statement(self):
        return self.balance


class Fussy:
    def __init__(self):
        raise RuntimeError("never built")

    def method(self):
        return 1


async def later(number):
    await asyncio.sleep(0.001)
    return number * 2


def count(limit):
    number = 0
    while number < limit:
        yield number
        number += 1


async def count_later(limit):
    for number in range(limit):
        await asyncio.sleep(0)
        yield number


@contextlib.contextmanager
def borrowed():
    print("entered")
    yield "thing"
    print("left")


@contextlib.asynccontextmanager
async def borrowed_later():
    print("entered")
    yield "thing"
    print("left")


class Lock:
    def __enter__(self):
        print("entered")
        return "thing"

    def __exit__(self, *raised):
        print("left")


class LockLater:
    async def __aenter__(self):
        print("entered")
        return "thing"

    async def __aexit__(self, *raised):
        print("left")


def echo(value):
    return value


def described(value):
    return type(value).__name__, repr(value)


def is_same(pair):
    return pair[0] is pair[1]


def contains_itself(value):
    return value[0] is value


def called(function):
    return function(1, 2, three=3)


def upper(value):
    return value.upper()


def look_up(key):
    return {"a": 1}[key]


def fail():
    try:
        look_up("b")
    except KeyError as error:
        raise ValueError("no such key") from error
