"""Says no, or stumbles."""

import json


def fine():
    return "fine"


class Sold(Exception):
    """The repository's own word for no."""


class Leaving(BaseException):
    """No exception that code should catch."""


def says_no(x):
    raise ValueError("not with me: " + repr(x))


def says_no_by_type(x):
    if not isinstance(x, int):
        raise TypeError("an integer, please")
    return x


def says_no_in_own_words(x):
    raise Sold(x)


def says_no_while_yielding(x):
    yield 1
    raise ValueError(x)


async def says_no_later(x):
    raise LookupError(x)


def stumbles(x):
    return {}[x]


def asserts(x):
    assert x is None, "never"


def lets_the_library_say_no(x):
    return json.loads("{" + str(x))


def gives_up(x):
    raise RuntimeError(x)


def leaves(x):
    raise Leaving(x)


class Picky:
    """Says no before there is anything to call."""

    def __init__(self, x):
        raise ValueError(x)

    def method(self):
        return None


def collects(x, seen=[]):
    """Remembers what it was given, for ever."""
    seen.append(x)
    return len(seen)


def collects_by_name(x, *, seen={}):
    seen[x] = 1


def reads_only(x, seen=[1]):
    return [*seen, x]
