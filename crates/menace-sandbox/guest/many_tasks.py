"""Runs an asynchronous section many times on one event loop: one after the other, or as tasks.

Time is the loop's own: where it would only wait for a timer, the timer is due. Where it would wait for
ever, it is stuck.
"""

from time import monotonic

from names import full_name
from tasks import Tasks, all_tasks

MOST_SECONDS_AT_ONCE = 0.05


class ManyTasks:
    """The loop, and what came of each run."""

    def __init__(self, company, outcome, deadline):
        self.company = company
        self.deadline = deadline
        self.tasks = Tasks(outcome)
        self.loop = self.tasks.loop
        self.passed = 0.0
        self.stopped = False
        self._take_over_time()

    def one_after_the_other(self, count):
        """Each after the one before it has ended."""

        async def all_of_them():
            for at in range(count):
                await self._run(at)

        return self._until_end(all_of_them(), count)

    def all_at_once(self, count):
        """All started before the first runs."""

        async def all_of_them():
            runs = [self.loop.create_task(self._run(at)) for at in range(count)]
            for run in runs:
                await run

        return self._until_end(all_of_them(), count)

    def _until_end(self, coroutine, count):
        self.company.ends = [None] * count
        try:
            self.loop.run_until_complete(coroutine)
        except RuntimeError:
            if not self.stopped:
                raise
            self._note_who_waits()
        return not self.stopped

    def _note_who_waits(self):
        """Where each task is, as far as that is the repository's code."""
        company = self.company
        for task in all_tasks(self.loop):
            awaited, place = task.get_coro(), None
            while awaited is not None:
                frame = _first_of(awaited, ("cr_frame", "ag_frame", "gi_frame"))
                if frame is not None and company.is_own(frame.f_code.co_filename):
                    place = company.place(frame)
                awaited = _first_of(awaited, ("cr_await", "ag_await", "gi_yieldfrom"))
            if place is not None:
                company.waits.append(place)

    async def _run(self, at):
        company = self.company
        try:
            result = company.function(*company.args, **company.kwargs)
            if hasattr(type(result), "__aiter__"):
                result = [item async for item in _first(result, company.cap)]
            else:
                result = await result
            company.ends[at] = (True, result)
        except BaseException as error:
            company.ends[at] = (False, error)
            if full_name(type(error)).endswith("CancelledError"):
                raise

    def _take_over_time(self):
        loop, selector = self.loop, self.loop._selector
        real_time, real_select = loop.time, selector.select

        def select(timeout=None):
            events = real_select(0)
            if events or timeout is not None and timeout <= 0:
                return events
            if monotonic() > self.deadline:
                self.stopped = True
                loop.stop()
                return []
            alone = len(selector.get_map()) <= 1 and getattr(loop, "_default_executor", None) is None
            if not alone:
                # Somebody else may still call.
                return real_select(MOST_SECONDS_AT_ONCE)
            if timeout is None:
                self.stopped = self.company.stuck = True
                loop.stop()
            else:
                self.passed += timeout
            return []

        loop.time = lambda: real_time() + self.passed
        selector.select = select


def _first_of(awaited, names):
    for name in names:
        found = getattr(awaited, name, None)
        if found is not None:
            return found
    return None


async def _first(generator, cap):
    """The first items of an asynchronous generator."""
    count = 0
    async for item in generator:
        if count >= cap:
            break
        count += 1
        yield item
