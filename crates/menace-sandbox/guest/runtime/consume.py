"""Completes what a call returned: awaits, iterates, enters and leaves.

Only objects that do nothing until they are driven are driven: coroutines, generators of both kinds,
and context managers that `contextlib` made from generators. Iterators, files and locks are not.
"""

from __future__ import annotations

import sys

from describe.introspect import full_name, in_class, mro_of

if False:  # for type checkers only: nothing is loaded at run time
    from types import FrameType
    from typing import Any

    from runtime.call import CallProgress
    from runtime.event_loop import EventLoop

CO_ITERABLE_COROUTINE = 0x100
# A coroutine can return a generator that yields from another one; four levels suffice.
LEVELS = 4


def _generator() -> object:
    yield


async def _coroutine() -> None:
    pass


async def _async_generator() -> object:
    yield


def _types() -> tuple:
    coroutine = _coroutine()
    coroutine.close()
    return type(_generator()), type(coroutine), type(_async_generator())


Generator, Coroutine, AsyncGenerator = _types()
NOT_CONSUMED = frozenset(
    (type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, set, frozenset)
    + (dict, range, type, type(sys), type(_types), type(len), type(...))
)


class CollectedItems:
    """The items that a generator has yielded."""

    __slots__ = ("items", "more", "stopped_at", "type_name")

    def __init__(self, source: object) -> None:
        self.items: list = []
        self.more = False
        # The position of a generator that had more items than were taken.
        self.stopped_at: list | None = None
        self.type_name = full_name(type(source))

    def note_pause(self, frame: FrameType) -> None:
        """Records the position of a generator before it is closed."""
        if frame is not None:
            code = frame.f_code
            self.stopped_at = [code.co_filename, frame.f_lineno or 0, code.co_name]


def consume(result: Any, progress: CallProgress, max_items: int) -> object:
    """The result once everything that has to be driven has been driven."""
    for _ in range(LEVELS):
        cls = type(result)
        if type(cls) is type and cls in NOT_CONSUMED:
            return result
        if cls is Generator:
            if not result.gi_code.co_flags & CO_ITERABLE_COROUTINE:
                progress.stage = "consume"
                return _collect(result, progress, max_items)
            result = _ensure_event_loop(progress).run(result)
        elif cls is Coroutine:
            result = _ensure_event_loop(progress).run(result)
        elif cls is AsyncGenerator:
            return _ensure_event_loop(progress).collect(result, CollectedItems(result), max_items)
        elif _made_by_contextlib(cls, "_GeneratorContextManager"):
            progress.stage = "consume"
            manager, result = result, result.__enter__()
            progress.kept_alive.append(manager)
            manager.__exit__(None, None, None)
        elif _made_by_contextlib(cls, "_AsyncGeneratorContextManager"):
            result = _ensure_event_loop(progress).enter_and_leave(result)
        elif in_class(cls, "__await__") is not None:
            event_loop = _ensure_event_loop(progress)
            if not event_loop.can_await(result):
                return result
            result = event_loop.run(result)
        else:
            return result
        progress.kept_alive.append(result)
    return result


def _ensure_event_loop(progress: CallProgress) -> EventLoop:
    progress.stage = "consume"
    if progress.event_loop is None:
        before = len(sys.modules)
        progress.stop_clock()
        from runtime.event_loop import EventLoop

        progress.start_clock()
        progress.harness_modules += len(sys.modules) - before
        progress.event_loop = EventLoop(progress)
    return progress.event_loop


def _made_by_contextlib(cls: type, name: str) -> bool:
    module = sys.modules.get("contextlib")
    if type(module) is not type(sys):
        return False
    base = module.__dict__.get(name)
    return base is not None and any(found is base for found in mro_of(cls))


def _collect(generator: Any, progress: CallProgress, max_items: int) -> CollectedItems:
    collected = CollectedItems(generator)
    progress.collected = collected
    items = collected.items
    for item in generator:
        if len(items) >= max_items:
            collected.more = True
            progress.kept_alive.append(item)
            break
        items.append(item)
    if collected.more:
        collected.note_pause(generator.gi_frame)
        try:
            generator.close()
        except BaseException as error:
            progress.kept_alive.append(error)
            progress.note("closing the generator raised " + full_name(type(error)))
    return collected
