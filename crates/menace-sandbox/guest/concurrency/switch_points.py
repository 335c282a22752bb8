"""Calls the scheduler at every instruction of the repository's code.

With `sys.monitoring` where there is one, which reports instructions reliably; else with
`sys.settrace`. Switching threads belongs to `scheduler`.
"""

from __future__ import annotations

import sys

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable
    from types import CodeType, FrameType

_monitoring = getattr(sys, "monitoring", None)
_settrace = sys.settrace
TOOL = 3


class SwitchPoints:
    """Calls `reached()` at each instruction of registered threads."""

    __slots__ = ("codes", "is_own", "reached", "stopped")

    def __init__(self, is_own: Callable, reached: Callable) -> None:
        self.is_own = is_own
        self.reached = reached
        self.codes: list = []
        self.stopped = False
        if _monitoring is not None:
            self._monitor()

    def enter_thread(self) -> None:
        """Registers this thread."""
        if _monitoring is None and not self.stopped:
            _settrace(self._enter)

    def leave_thread(self) -> None:
        """Unregisters this thread."""
        if _monitoring is None:
            _settrace(None)

    def stop(self) -> None:
        """Stops the calls: from here on all threads run at full speed."""
        self.stopped = True
        if _monitoring is not None:
            _monitoring.set_events(TOOL, 0)
            for code in self.codes:
                _monitoring.set_local_events(TOOL, code, 0)

    def _enter(self, frame: FrameType, _event: str, _arg: object) -> Callable | None:
        if self.stopped or not self.is_own(frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, _frame: object, event: str, _arg: object) -> Callable:
        if self.stopped:
            _settrace(None)
        elif event == "opcode":
            self.reached()
        return self._step

    def _monitor(self) -> None:
        events = _monitoring.events

        def start(code: CodeType, _offset: int) -> object:
            if self.is_own(code.co_filename):
                self.codes.append(code)
                _monitoring.set_local_events(TOOL, code, events.INSTRUCTION)
            return _monitoring.DISABLE

        def instruction(_code: CodeType, _offset: int) -> None:
            self.reached()

        if _monitoring.get_tool(TOOL) is None:
            _monitoring.use_tool_id(TOOL, "menace turns")
        _monitoring.register_callback(TOOL, events.PY_START, start)
        _monitoring.register_callback(TOOL, events.PY_RESUME, start)
        _monitoring.register_callback(TOOL, events.INSTRUCTION, instruction)
        _monitoring.set_events(TOOL, events.PY_START | events.PY_RESUME)
