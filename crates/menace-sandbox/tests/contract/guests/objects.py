"""Results whose special methods raise, hang or lie when they are described."""

import time


def fine():
    return "fine"


def hang(*args):
    time.sleep(3600)


def fail(*args):
    raise RuntimeError("no")


def lie(*args):
    return object()


def with_method(name, how):
    """An object whose method of that name does as requested."""
    body = {"raises": fail, "hangs": hang, "lies": lie, "exits": leave}[how]
    return type("Bad", (), {name: body})()


def leave(*args):
    raise SystemExit(3)


def in_a_list(name, how):
    return [with_method(name, how)]


def as_key(name, how):
    body = {"raises": fail, "hangs": hang, "lies": lie}[how]
    state = {"armed": False}

    def method(self, *args):
        return body() if state["armed"] else 1

    cls = type("Bad", (), {"__hash__": lambda self: 1, name: method})
    made = {cls(): 1}
    state["armed"] = True
    return made


class Impostor(str):
    def __str__(self):
        time.sleep(3600)

    __repr__ = __len__ = __iter__ = __eq__ = __hash__ = __str__


def impostor():
    return Impostor("text")


class Chameleon:
    @property
    def __class__(self):
        raise RuntimeError("no class")

    @property
    def __dict__(self):
        time.sleep(3600)

    def __getattribute__(self, name):
        time.sleep(3600)


def chameleon():
    return Chameleon()


class Meta(type):
    def __getattribute__(cls, name):
        time.sleep(3600)

    def __repr__(cls):
        time.sleep(3600)

    def __hash__(cls):
        time.sleep(3600)

    def __eq__(cls, other):
        time.sleep(3600)


class Odd(metaclass=Meta):
    pass


def odd():
    return object.__new__(Odd)


class SlowError(Exception):
    def __str__(self):
        time.sleep(3600)

    __repr__ = __str__


class FailingError(Exception):
    def __str__(self):
        raise RuntimeError("no message")

    __repr__ = __str__

    @property
    def __cause__(self):
        raise RuntimeError("no cause")


def raise_slow():
    raise SlowError("slow")


def raise_failing():
    raise FailingError("failing")


def raise_large():
    raise ValueError("x" * 50_000_000)


def raise_in_circle():
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    raise one


def large_repr():
    return type("Large", (), {"__repr__": lambda self: "x" * 200_000_000})()


def endless():
    while True:
        yield 1


def slow_generator():
    yield 1
    time.sleep(3600)


def hang_on_close():
    try:
        while True:
            yield 1
    finally:
        time.sleep(3600)


async def never():
    import asyncio

    await asyncio.Event().wait()
