"""Runs coroutines and async generators to their end on an event loop of the call's own.

Loaded only when something has to be awaited. Like `asyncio.run`, it cancels what is still pending
afterwards; unlike it, it does not wait for executor threads.
"""

from __future__ import annotations

import asyncio

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from runtime.call import CallProgress
    from runtime.consume import CollectedItems

new_event_loop = asyncio.new_event_loop
set_event_loop = asyncio.set_event_loop
all_tasks = asyncio.all_tasks
gather = asyncio.gather
Future = asyncio.Future
Task = asyncio.Task


async def _await(awaitable: Any) -> object:
    return await awaitable


class EventLoop:
    """The event loop of one call."""

    __slots__ = ("loop", "progress")

    def __init__(self, progress: CallProgress) -> None:
        self.progress = progress
        self.loop = new_event_loop()
        set_event_loop(self.loop)

    def can_await(self, awaitable: object) -> bool:
        """Whether awaiting it can end: a bare future gets no result from any code."""
        cls = type(awaitable)
        return issubclass(cls, Task) or not issubclass(cls, Future)

    def run(self, awaitable: Any) -> object:
        """Awaits it, and returns its result."""
        if issubclass(type(awaitable), Task):
            return awaitable.get_loop().run_until_complete(awaitable)
        return self.loop.run_until_complete(_await(awaitable))

    def collect(self, generator: Any, collected: CollectedItems, max_items: int) -> CollectedItems:
        """The items of an async generator."""
        self.progress.collected = collected

        async def gather_items() -> CollectedItems:
            async for item in generator:
                if len(collected.items) >= max_items:
                    collected.more = True
                    self.progress.kept_alive.append(item)
                    break
                collected.items.append(item)
            if collected.more:
                collected.note_pause(generator.ag_frame)
                try:
                    await generator.aclose()
                except Exception as error:
                    self.progress.kept_alive.append(error)
                    self.progress.note("closing the async generator raised")
            return collected

        return self.loop.run_until_complete(gather_items())

    def enter_and_leave(self, manager: Any) -> object:
        """Enters and leaves an async context manager; returns what entering gave."""

        async def through() -> object:
            async with manager as given:
                return given

        return self.loop.run_until_complete(through())

    def close(self) -> None:
        """Cancels what is pending and closes the loop."""
        loop = self.loop
        if loop.is_closed():
            return
        pending = all_tasks(loop)
        if pending:
            self.progress.note(str(len(pending)) + " tasks were still pending")
            for task in pending:
                task.cancel()
            loop.run_until_complete(_settled(pending))
        loop.run_until_complete(loop.shutdown_asyncgens())
        set_event_loop(None)
        loop.close()

    def abandon(self) -> None:
        """Closes the loop after an error, without running anything more on it."""
        try:
            self.loop.close()
        except BaseException as error:
            self.progress.kept_alive.append(error)


async def _settled(pending: set) -> object:
    return await gather(*pending, return_exceptions=True)
