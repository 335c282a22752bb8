"""Records lines and branches with `sys.monitoring`, from Python 3.12 on.

Each place is reported once and then runs at full speed: a line when it is reached, a branch when
both of its ways have been taken. Invariant: code outside of the repository is monitored only until
its first function is entered.
"""

from __future__ import annotations

import sys

if False:  # for type checkers only: nothing is loaded at run time
    from types import CodeType

    from coverage.recorder import CoverageRecorder
    from runtime.import_hooks import ImportHooks

_monitoring = sys.monitoring
_events = _monitoring.events
_get_tool = _monitoring.get_tool
_set_local_events = _monitoring.set_local_events
DISABLE = _monitoring.DISABLE
# Tool ids without an assigned meaning come first: the guest may want the others.
TOOLS = (4, 3, 1, 2, 0, 5)
# Jump instructions; the names let a test compare the numbers with `opcode`.
JUMPS = {"JUMP_FORWARD": 110, "JUMP_BACKWARD": 140, "JUMP_BACKWARD_NO_INTERRUPT": 134}
ENDS = {
    "POP_JUMP_IF_FALSE": 114,
    "POP_JUMP_IF_TRUE": 115,
    "POP_JUMP_IF_NONE": 129,
    "POP_JUMP_IF_NOT_NONE": 128,
    "FOR_ITER": 93,
    "SEND": 123,
    "RETURN_VALUE": 83,
    "RETURN_CONST": 121,
    "RAISE_VARARGS": 130,
    "RERAISE": 119,
}
EXTENDED_ARG = 144
# Cache entries after `JUMP_BACKWARD`, in instructions.
CACHE = 0
if sys.version_info >= (3, 13):
    JUMPS = {"JUMP_FORWARD": 79, "JUMP_BACKWARD": 77, "JUMP_BACKWARD_NO_INTERRUPT": 78}
    ENDS = {
        "POP_JUMP_IF_FALSE": 97,
        "POP_JUMP_IF_TRUE": 100,
        "POP_JUMP_IF_NONE": 98,
        "POP_JUMP_IF_NOT_NONE": 99,
        "FOR_ITER": 72,
        "SEND": 104,
        "RETURN_VALUE": 36,
        "RETURN_CONST": 103,
        "RAISE_VARARGS": 101,
        "RERAISE": 102,
    }
    EXTENDED_ARG = 71
    CACHE = 1
_JUMPS = frozenset(JUMPS.values())
_ENDS = frozenset(ENDS.values())
_BACKWARD = JUMPS["JUMP_BACKWARD"]
_FORWARD = JUMPS["JUMP_FORWARD"]
NOWHERE = (0, 0)
# Longer chains of jumps on one line do not occur.
MAX_JUMPS = 200


class Monitor:
    """The monitoring tool, and the targets of each branch."""

    __slots__ = ("codes", "coverage", "tool")

    def __init__(self, coverage: CoverageRecorder) -> None:
        self.coverage = coverage
        # Keyed by the address of the code object, since hashing it takes long.
        self.codes: dict = {}
        self.tool: int | None = None

    def begin(self, _afterwards: ImportHooks) -> None:
        """Starts to record, in all threads."""
        free = [tool for tool in TOOLS if _get_tool(tool) is None]
        if not free:
            raise RuntimeError("all monitoring tools are in use")
        self.tool = tool = free[0]
        codes, reached = self.codes, self.coverage.reached
        wanted = _events.LINE | _events.BRANCH
        # The last code object. Even `id` takes long here, because it raises an audit event.
        current: list = [(None, None, {})]

        def start(code: CodeType, _offset: int) -> object:
            steps = reached(code.co_filename)
            if steps is not None:
                codes[id(code)] = (code, steps, {})
                _set_local_events(tool, code, wanted)
            return DISABLE

        def line(code: CodeType, number: int) -> object:
            known = codes.get(id(code))
            if known is not None:
                known[1].add((0, number))
            return DISABLE

        def branch(code: CodeType, source: int, target: int) -> object:
            known = current[0]
            if known[0] is not code:
                known = codes.get(id(code))
                if known is None:
                    return DISABLE
                current[0] = known
            ways = known[2]
            taken = ways.get(source)
            if taken is None:
                ways[source] = (target,)
            elif target not in taken:
                ways[source] = (*taken, target)
                return DISABLE
            return None

        _monitoring.use_tool_id(tool, "menace")
        for event, callback in (
            (_events.PY_START, start),
            (_events.PY_RESUME, start),
            (_events.LINE, line),
            (_events.BRANCH, branch),
        ):
            _monitoring.register_callback(tool, event, callback)
        self.resume()
        # The interpreter does not monitor callbacks. Calling each of them once here makes it find
        # that out now, and not at the start of every call.
        for callback in (start, line, branch):
            callback(_next_line.__code__, *NOWHERE[: callback.__code__.co_argcount - 1])

    def resume(self) -> None:
        """Monitors functions again from their next start on."""
        if self.tool is not None:
            _monitoring.set_events(self.tool, _events.PY_START | _events.PY_RESUME)

    def was_kept(self, _tracer: object) -> bool:
        """Whether a tool was free; the guest cannot take it over."""
        return self.tool is not None

    def finish(self) -> None:
        """Turns the targets of branches into steps from line to line."""
        for code, steps, ways in list(self.codes.values()):
            lines = _lines(code) if ways else None
            for source, targets in list(ways.items()):
                if source in lines:
                    for target in targets:
                        line = _next_line(code.co_code, lines, target, lines[source])
                        steps.add((lines[source], line))


def _lines(code: CodeType) -> dict:
    """The line of each instruction that has one."""
    return {
        offset: line
        for start, end, line in code.co_lines()
        if line is not None
        for offset in range(start, end, 2)
    }


def _next_line(instructions: bytes, lines: dict, offset: int, own: int) -> int:
    """The next line that is reached from an instruction; `own` if control flow is not certain."""
    argument = 0
    for _ in range(MAX_JUMPS):
        line = lines.get(offset, own)
        if line != own or offset >= len(instructions):
            return line
        number = instructions[offset]
        if number in _ENDS:
            return own
        argument = argument << 8 | instructions[offset + 1]
        offset += 2
        if number in _JUMPS:
            if number == _FORWARD:
                offset += 2 * argument
            else:
                offset += 2 * (CACHE if number == _BACKWARD else 0) - 2 * argument
        if number != EXTENDED_ARG:
            argument = 0
    return own
