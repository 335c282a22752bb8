"""Where a call comes along."""

from package import inner


def fine():
    return "fine"


def choose(x):
    if x > 1:
        a = 1
    else:
        a = 2
    return a


def loop(xs):
    total = 0
    for x in xs:
        if x > 2:
            total += x
    return total


def generator():
    yield 1
    yield 2


async def later():
    return 3


def elsewhere():
    return inner.where()


def fails(x):
    try:
        return 1 // x
    except ZeroDivisionError:
        raise ValueError(x)


def hangs():
    while True:
        pass
