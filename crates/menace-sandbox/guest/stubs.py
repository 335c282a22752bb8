"""Makes what stands in for the objects that a section expects: callables, instances of classes that
exist only for the call, objects with a past.

Invariant: a guest that looks at what it was given (`__globals__`, `__module__`) finds nothing of
the harness.
"""

from values import apart


@apart
def _make_raising(error):
    def raising(*_args, **_kwargs):
        raise error

    return raising


@apart
def _make_generator(items):
    def generator(*_args, **_kwargs):
        yield from items

    return generator


@apart
def _make_async_generator(items):
    async def generator(*_args, **_kwargs):
        for item in items:
            yield item

    return generator


@apart
def _make_argument(number):
    def argument(*args, **_kwargs):
        return args[number]

    return argument


@apart
def _make_coroutine_function(function):
    async def coroutine(*args, **kwargs):
        return function(*args, **kwargs)

    return coroutine


def _items(builder, described):
    items = []
    for item in described[1]:
        items.append(builder.build(item))
    return tuple(items)


def _raises(builder, described):
    return _make_raising(builder.build(described[1]))


def _yields(builder, described):
    return _make_generator(_items(builder, described))


def _argument(_builder, described):
    return _make_argument(described[1])


def _async(builder, described):
    inner = described[1]
    if type(inner) is tuple and inner[0] == "y":
        return _make_async_generator(_items(builder, inner))
    return _make_coroutine_function(builder.build(inner))


def _stub(builder, described):
    bases = []
    for name in described[1]:
        bases.append(builder.find(name))
    members = {"__module__": "stub"}
    for name, value in described[2]:
        members[name] = builder.build(value)
    return builder.call(type("Stub", tuple(bases), members), described[3], described[4])


def _after(builder, described):
    value = builder.build(described[1])
    for name, args, kwargs in described[2]:
        builder.call(getattr(value, name), args, kwargs)
    return value


STUBS = {
    "b": _raises,
    "y": _yields,
    "k": _argument,
    "w": _async,
    "o": _stub,
    "h": _after,
}
