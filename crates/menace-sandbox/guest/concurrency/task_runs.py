"""Runs an asynchronous section many times on one event loop: sequentially, or as tasks.

The clock of the loop is virtual: instead of waiting for a timer, the loop advances it. When it
would wait for ever, the runs are stuck.
"""

from __future__ import annotations

from time import monotonic

from describe.introspect import full_name
from runtime.event_loop import EventLoop, all_tasks

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import AsyncIterator
    from typing import Any

    from concurrency.thread_runs import ThreadRuns
    from runtime.call import CallProgress

MAX_WAIT_SECONDS = 0.05


class TaskRuns:
    """The loop, and the result of each run."""

    def __init__(self, runs: ThreadRuns, progress: CallProgress, deadline: float) -> None:
        self.runs = runs
        self.deadline = deadline
        self.event_loop = EventLoop(progress)
        self.loop: Any = self.event_loop.loop
        self.passed = 0.0
        self.stopped = False
        self._take_over_time()

    def run_sequentially(self, count: int) -> bool:
        """Starts each run when the one before it has ended."""

        async def all_of_them() -> None:
            for at in range(count):
                await self._run(at)

        return self._until_end(all_of_them(), count)

    def run_concurrently(self, count: int) -> bool:
        """Creates all tasks before the first one runs."""

        async def all_of_them() -> None:
            runs = [self.loop.create_task(self._run(at)) for at in range(count)]
            for run in runs:
                await run

        return self._until_end(all_of_them(), count)

    def _until_end(self, coroutine: Any, count: int) -> bool:
        self.runs.ends = [None] * count
        try:
            self.loop.run_until_complete(coroutine)
        except RuntimeError:
            if not self.stopped:
                raise
            self._note_waiting_tasks()
        return not self.stopped

    def _note_waiting_tasks(self) -> None:
        """Records where each unfinished task waits, in code of the repository."""
        runs = self.runs
        for task in all_tasks(self.loop):
            awaited, place = task.get_coro(), None
            while awaited is not None:
                frame = _first_of(awaited, ("cr_frame", "ag_frame", "gi_frame"))
                if frame is not None and runs.is_own(frame.f_code.co_filename):
                    place = runs.place(frame)
                awaited = _first_of(awaited, ("cr_await", "ag_await", "gi_yieldfrom"))
            if place is not None:
                runs.waits.append(place)

    async def _run(self, at: int) -> None:
        runs = self.runs
        try:
            result = runs.function(*runs.args, **runs.kwargs)
            if hasattr(type(result), "__aiter__"):
                result = [item async for item in _first(result, runs.max_items)]
            else:
                result = await result
            runs.ends[at] = (True, result)
        except BaseException as error:
            runs.ends[at] = (False, error)
            if full_name(type(error)).endswith("CancelledError"):
                raise

    def _take_over_time(self) -> None:
        loop, selector = self.loop, self.loop._selector
        real_time, real_select = loop.time, selector.select

        def select(timeout: float | None = None) -> list:
            events = real_select(0)
            if events or timeout is not None and timeout <= 0:
                return events
            if monotonic() > self.deadline:
                self.stopped = True
                loop.stop()
                return []
            is_idle = (
                len(selector.get_map()) <= 1 and getattr(loop, "_default_executor", None) is None
            )
            if not is_idle:
                # Another thread or descriptor may still wake the loop.
                return real_select(MAX_WAIT_SECONDS)
            if timeout is None:
                self.stopped = self.runs.stuck = True
                loop.stop()
            else:
                self.passed += timeout
            return []

        loop.time = lambda: real_time() + self.passed
        selector.select = select


def _first_of(awaited: object, names: tuple) -> Any:
    for name in names:
        found = getattr(awaited, name, None)
        if found is not None:
            return found
    return None


async def _first(generator: Any, max_items: int) -> AsyncIterator:
    """The first `cap` items of an asynchronous generator."""
    count = 0
    async for item in generator:
        if count >= max_items:
            break
        count += 1
        yield item
