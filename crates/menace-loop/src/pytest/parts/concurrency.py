import random
import threading
import time

import pytest

PLAIN = (bool, int, float, str, bytes, list, tuple, dict, set, frozenset, type(None))


def outcome_of(call):
    """Result or exception of one run, as text that can be compared."""
    try:
        return "returned " + repr(consume(call()))
    except Exception as error:
        return "raised " + qualified_name(type(error))


def plain_attributes(receiver):
    """The attributes of an instance that are of plain types."""
    held = sorted(getattr(receiver, "__dict__", {}).items())
    return [name + " " + repr(value) for name, value in held if isinstance(value, PLAIN)]


def make_interrupting_trace(seed):
    """A trace function that switches threads between instructions of the repository."""
    generator = random.Random(seed)
    left = [300]

    def trace(frame, event, _):
        if event == "call" and not in_repository(frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and left[0] > 0 and generator.random() < 0.3:
            left[0] -= 1
            time.sleep(generator.random() * 1e-4)
        return trace

    return trace


def run_threads(make, count, concurrent, seed=0, seconds=5):
    """Results of `count` runs on one instance; `None` when a thread does not end."""
    receiver, call = make()
    results = []
    gate = threading.Barrier(count if concurrent else 1)

    def body(number):
        gate.wait()
        if concurrent:
            sys.settrace(make_interrupting_trace(seed * count + number))
        for _ in range(1 if concurrent else count):
            results.append(outcome_of(call))

    # Daemons, so that a thread that never ends does not keep pytest from ending.
    threads = [
        threading.Thread(target=body, args=(number,), daemon=True)
        for number in range(count if concurrent else 1)
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        return None
    return sorted(results), plain_attributes(receiver)


def run_tasks(make, count, concurrent):
    """Like `run_threads`, for coroutines on one event loop."""

    async def run_one(call):
        try:
            return "returned " + repr(await call())
        except Exception as error:
            return "raised " + qualified_name(type(error))

    async def run_all():
        receiver, call = make()
        if concurrent:
            results = await asyncio.gather(*(run_one(call) for _ in range(count)))
        else:
            results = [await run_one(call) for _ in range(count)]
        return sorted(results), plain_attributes(receiver)

    return asyncio.run(asyncio.wait_for(run_all(), 5))


def same_result_concurrently(make, count, tasks, rounds=40):
    """Fails when concurrent runs give other results than sequential ones."""
    if tasks:
        assert run_tasks(make, count, True) == run_tasks(make, count, False)
        return
    expected = run_threads(make, count, False)
    for seed in range(rounds):
        assert run_threads(make, count, True, seed) == expected


def finishes_concurrently(make, count, tasks, rounds=40):
    """Fails when concurrent runs never end."""
    if tasks:
        run_tasks(make, count, True)
        return
    for seed in range(rounds):
        if run_threads(make, count, True, seed) is None:
            pytest.fail("some of the concurrent runs never ended")
