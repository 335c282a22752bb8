"""Calls methods of the guest's objects for a description, for 250 ms in all.

Invariant: whatever such a method does, `ask` returns, unless the method catches every alarm; by
then the short report is in the mailbox.
"""

from __future__ import annotations

from _signal import ITIMER_REAL, SIG_BLOCK, SIG_UNBLOCK, SIGALRM, pthread_sigmask, setitimer, signal

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable

GUEST_SECONDS = 0.25
REPEAT_SECONDS = 0.05


class TooLong(BaseException):
    """Interrupts a method that takes too long; raised again and again, in case it is caught."""


class TimeBudget:
    """The time that the guest's methods have left for a description."""

    __slots__ = ("armed", "expired", "inside", "kept_alive", "previous_handler")

    def __init__(self) -> None:
        self.armed = self.inside = self.expired = False
        self.previous_handler = None
        self.kept_alive: list = []

    def ask(self, function: Callable, subject: object) -> tuple:
        """`(result, None)` of the function, or `(None, what went wrong)`."""
        if self.expired:
            return None, "there was no time left"
        try:
            if not self.armed:
                self._arm()
            self.inside = True
            answer = function(subject)
            self.inside = False
            self.kept_alive.append(answer)
            return answer, None
        except TooLong:
            self.inside = False
            return None, "it took too long"
        except BaseException as error:
            self.inside = False
            # Kept alive, because its finalizer could run more of the guest's code.
            self.kept_alive.append(error)
            return None, "it raised " + type.__dict__["__name__"].__get__(type(error))

    def _arm(self) -> None:
        def ring(_number: int, _frame: object) -> None:
            self.expired = True
            if self.inside:
                raise TooLong

        self.armed = True
        self.previous_handler = signal(SIGALRM, ring)
        setitimer(ITIMER_REAL, GUEST_SECONDS, REPEAT_SECONDS)
        pthread_sigmask(SIG_UNBLOCK, (SIGALRM,))

    def disarm(self) -> None:
        """Stops the alarm and restores the guest's handler."""
        if self.armed:
            self.armed = False
            setitimer(ITIMER_REAL, 0)
            pthread_sigmask(SIG_BLOCK, (SIGALRM,))
            if self.previous_handler is not None:
                signal(SIGALRM, self.previous_handler)
