"""Takes one call through its stages: import, resolve, construct, arguments, call, consume.

`describe.report` describes the result. Invariant: the result, the error and all other objects of
the guest that the harness held are kept alive until the process ends, so that none of the guest's
finalizers runs while the report is written.
"""

from __future__ import annotations

from resource import RUSAGE_SELF, getrusage
from sys import getprofile, getrecursionlimit, gettrace, setprofile, setrecursionlimit, settrace
from time import perf_counter_ns

from arguments.builder import Builder
from describe.introspect import in_class
from runtime.consume import NOT_CONSUMED, consume
from runtime.modules import Unreachable, bind, resolve

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable
    from typing import Any

    from runtime.conditions import Conditions
    from runtime.consume import CollectedItems
    from runtime.event_loop import EventLoop
    from runtime.modules import Modules
    from state.snapshot import InterpreterSnapshot

# Stack frames for building arguments: descriptions nest up to marshal's own limit, and each level
# takes two.
BUILDING_FRAMES = 4200
CO_VARARGS = 0x04
MUTABLE = (list, dict, set, bytearray)
# After a method that enters a context, the one that leaves it is called, as `with` does.
LEAVING = {"__enter__": "__exit__", "__aenter__": "__aexit__"}
Function = type(consume)
Method = type(Builder(None).build)


class CallProgress:
    """How far a call has come, and its result."""

    result_kind: str | None = None
    result: Any = None
    error: BaseException | None = None
    collected: CollectedItems | None = None
    event_loop: EventLoop | None = None
    # The mutable defaults of the function, or `Defaults` of all steps of a shared process.
    defaults: Any = None
    conditions: Conditions | None = None
    tracer: Callable | None = None
    _began: int | None = None
    # Memory that Python held before a step, if that is measured.
    held_bytes: int | None = None
    # The state of the interpreter before the call; `None` if leaks are not reported.
    state: InterpreterSnapshot | None = None
    stage = "import"
    has_result = False
    harness_modules = 0
    wall = user = system = 0.0

    def __init__(self) -> None:
        self.kept_alive: list = []
        self.notes: list = []

    def note(self, text: str) -> None:
        """Adds a note to the report."""
        self.notes.append(text)

    def start_clock(self) -> None:
        """Marks that the guest's own code begins."""
        self._usage = getrusage(RUSAGE_SELF)
        self._began = perf_counter_ns()

    def stop_clock(self) -> None:
        """Marks that the guest's own code has ended."""
        if self._began is not None:
            ended = perf_counter_ns()
            usage = getrusage(RUSAGE_SELF)
            self.wall += ended - self._began
            self.user += usage[0] - self._usage[0]
            self.system += usage[1] - self._usage[1]
            self._began = None


def record_failure(progress: CallProgress, error: BaseException) -> None:
    """Records how a call ended that did not return."""
    progress.error = error
    if issubclass(type(error), SystemExit):
        progress.result_kind = "exited"
    elif progress.stage == "resolve" or type(error) is Unreachable:
        progress.result_kind = "unreachable"
    else:
        progress.result_kind = "raised"


def import_module(progress: CallProgress, modules: Modules, target: dict) -> None:
    """Imports a module; the import is the call itself."""
    if modules.is_loaded(target["module"]):
        progress.note("the module was imported before")
    progress.start_clock()
    progress.kept_alive.append(modules.load(target["module"], target["path"]))
    progress.stop_clock()
    progress.result_kind = "returned"


def perform(progress: CallProgress, modules: Modules, call: dict) -> None:
    """Goes through the stages; exceptions of the guest pass through."""
    target = call["target"]
    kind = target["kind"]
    if kind == "module":
        import_module(progress, modules, target)
        return
    module = modules.load(target["module"], target["path"])
    progress.stage = "resolve"
    function = resolve(module, target["qualname"], kind)
    if call["receiver"] is None and call["needs_no_building"]:
        receiver, args, kwargs = None, call["args"], dict(call["kwargs"])
    else:
        receiver, args, kwargs = _built(progress, modules, call, kind)
    if kind == "method" or kind == "property":
        progress.stage = "construct"
        if call["receiver"] is None:
            raise Unreachable("there is no instance to call it on")
    progress.stage = "call"
    leaving = None
    if kind == "property":
        if progress.conditions is not None:
            progress.conditions.before_call(bind, (function, receiver), {}, receiver)
        progress.start_clock()
        result = bind(function, receiver)
    else:
        if kind == "method":
            function = bind(function, receiver)
            leaving = LEAVING.get(target["qualname"].rpartition(".")[2])
        if in_class(type(function), "__call__") is None:
            progress.stage = "resolve"
            raise Unreachable("it cannot be called")
        if _has_mutable_default(function):
            from state.mutable_defaults import MutableDefaults

            progress.defaults = MutableDefaults(_python_function(function))
        if progress.conditions is not None:
            progress.conditions.before_call(function, args, kwargs, receiver)
        progress.start_clock()
        result = function(*args, **kwargs)
    # Stored at once: a tracer or an alarm of the guest may interrupt the next lines.
    progress.result = result
    if leaving is None and type(type(result)) is type and type(result) in NOT_CONSUMED:
        progress.has_result = True
        progress.result_kind = "returned"
        progress.stop_clock()
        return
    try:
        if gettrace() is not progress.tracer:
            settrace(progress.tracer)
        if getprofile() is not None:
            setprofile(None)
    except BaseException as error:
        progress.kept_alive.append(error)
    progress.kept_alive.append(result)
    progress.result = consume(result, progress, call["description_limits"]["items"])
    if leaving is not None:
        _leave(receiver, leaving, progress)
    progress.stop_clock()
    if progress.event_loop is not None:
        progress.event_loop.close()
    progress.has_result = True
    progress.result_kind = "returned"


def _leave(receiver: Any, leaving: str, progress: CallProgress) -> None:
    """Calls the method that leaves the context, if there is one."""
    method = in_class(type(receiver), leaving)
    if method is None:
        progress.note("it cannot be left: there is no " + leaving)
        return
    progress.stage = "consume"
    left = bind(method, receiver)(None, None, None)
    progress.kept_alive.append(left)
    if leaving == "__aexit__":
        progress.kept_alive.append(consume(left, progress, 0))


def _python_function(function: Any) -> Callable | None:
    """The function in Python that will run, if there is one."""
    cls = type(function)
    if cls is type:
        function = in_class(function, "__init__")
    elif cls is Method:
        function = function.__func__
    if type(function) is not Function:
        return None
    if function.__defaults__ is None and function.__code__.co_flags & CO_VARARGS:
        # A decorated function has the real parameters in `__wrapped__`.
        inner = function.__dict__.get("__wrapped__")
        if type(inner) is Function:
            return inner
    return function


def _has_mutable_default(function: object) -> bool:
    function = _python_function(function)
    if function is None:
        return False
    for value in function.__defaults__ or ():
        if issubclass(type(value), MUTABLE):
            return True
    named = function.__kwdefaults__
    return named is not None and any(issubclass(type(value), MUTABLE) for value in named.values())


def _built(progress: CallProgress, modules: Modules, call: dict, kind: str) -> tuple:
    """Receiver and arguments, built with enough stack for deep descriptions."""
    builder = Builder(modules.find)
    limit = getrecursionlimit()
    setrecursionlimit(limit + BUILDING_FRAMES)
    try:
        progress.stage = "construct"
        receiver = builder.build(call["receiver"])
        progress.stage = "arguments"
        args = []
        for value in call["args"]:
            args.append(builder.build(value))
        kwargs = {}
        for name, value in call["kwargs"]:
            kwargs[name] = builder.build(value)
        progress.kept_alive.append((builder, receiver, args, kwargs))
        if progress.state is not None:
            # Descriptors that arguments have opened are not the section's.
            progress.state.descriptors.exclude_opened()
        return receiver, args, kwargs
    finally:
        progress.kept_alive.append(builder)
        if getrecursionlimit() == limit + BUILDING_FRAMES:
            setrecursionlimit(limit)
