import asyncio
import contextlib
import dis
import functools
import inspect
import itertools


@functools.lru_cache(maxsize=None)
def in_repository(file):
    """Whether a file is the repository's, and not of a package that is installed in it."""
    path = Path(file).resolve()
    return ROOT in path.parents and "site-packages" not in path.parts


def raised_on_purpose(error):
    """Whether a `raise` statement of the repository raised the exception."""
    entry = error.__traceback__
    while entry.tb_next is not None:
        entry = entry.tb_next
    code = entry.tb_frame.f_code
    raised = dis.opname[code.co_code[entry.tb_lasti]] == "RAISE_VARARGS"
    return raised and in_repository(code.co_filename) and type(error) is not AssertionError


async def collect_async(items, most):
    """The first items of an asynchronous generator."""
    found = []
    async for item in items:
        found.append(item)
        if len(found) == most:
            break
    return found


def consume(result, most=1000):
    """Awaits a coroutine, takes the items of a generator, enters and leaves a context manager."""
    if inspect.iscoroutine(result):
        return consume(asyncio.run(result), most)
    if inspect.isasyncgen(result):
        return asyncio.run(collect_async(result, most))
    if inspect.isgenerator(result) and most is None:
        # To the end, without keeping the items.
        for _ in result:
            pass
        return None
    if inspect.isgenerator(result):
        return list(itertools.islice(result, most))
    if isinstance(result, contextlib.AbstractContextManager) and hasattr(result, "gen"):
        with result as value:
            return value
    return result


def qualified_name(kind):
    """The name of a class with its module."""
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return kind.__module__ + "." + kind.__qualname__


def does_not_raise(call, failure):
    """Fails when the call raises this exception without a `raise` statement of the repository."""
    try:
        return consume(call())
    except Exception as error:
        if qualified_name(type(error)) == failure and not raised_on_purpose(error):
            raise
        return None
