"""Makes stand-ins for objects that a section expects: callables, instances of classes that exist
only for the call, objects whose methods have been called before.

Invariant: a guest that inspects its arguments (`__globals__`, `__module__`) finds nothing of the
harness.
"""

from __future__ import annotations

from arguments.builder import detach_globals

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable

    from arguments.builder import Builder


@detach_globals
def _make_raising(error: BaseException) -> Callable:
    def raising(*_args, **_kwargs) -> None:
        raise error

    return raising


@detach_globals
def _make_generator(items: list) -> Callable:
    def generator(*_args, **_kwargs):
        yield from items

    return generator


@detach_globals
def _make_async_generator(items: list) -> Callable:
    async def generator(*_args, **_kwargs):
        for item in items:
            yield item

    return generator


@detach_globals
def _make_argument(number: int) -> Callable:
    def argument(*args, **_kwargs):
        return args[number]

    return argument


@detach_globals
def _make_coroutine_function(function: Callable) -> Callable:
    async def coroutine(*args, **kwargs):
        return function(*args, **kwargs)

    return coroutine


def _items(builder: Builder, described: tuple) -> object:
    items = []
    for item in described[1]:
        items.append(builder.build(item))
    return tuple(items)


def _raises(builder: Builder, described: tuple) -> object:
    return _make_raising(builder.build(described[1]))


def _yields(builder: Builder, described: tuple) -> object:
    return _make_generator(_items(builder, described))


def _argument(_builder: Builder, described: tuple) -> object:
    return _make_argument(described[1])


def _async(builder: Builder, described: tuple) -> object:
    inner = described[1]
    if type(inner) is tuple and inner[0] == "y":
        return _make_async_generator(_items(builder, inner))
    return _make_coroutine_function(builder.build(inner))


def _stub(builder: Builder, described: tuple) -> object:
    bases = []
    for name in described[1]:
        bases.append(builder.find(name))
    members: dict = {"__module__": "stub"}
    for name, value in described[2]:
        members[name] = builder.build(value)
    return builder.call(type("Stub", tuple(bases), members), described[3], described[4])


def _after(builder: Builder, described: tuple) -> object:
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
