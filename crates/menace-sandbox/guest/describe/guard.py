"""Asks the guest's objects for their texts, for a quarter of a second in all.

Invariant: whatever such a method raises, returns or never returns, `ask` comes back, unless the
method swallows the alarm for ever; by then the short report is in the mailbox.
"""

from __future__ import annotations

from _signal import ITIMER_REAL, SIG_BLOCK, SIG_UNBLOCK, SIGALRM, pthread_sigmask, setitimer, signal

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable

GUEST_SECONDS = 0.25
REPEAT_SECONDS = 0.05


class TooLong(BaseException):
    """Breaks off a method that takes too long; again and again, should it be caught."""


class Guard:
    """The time that the guest's methods have for a description."""

    __slots__ = ("armed", "expired", "inside", "kept_alive", "previous_handler")

    def __init__(self) -> None:
        self.armed = self.inside = self.expired = False
        self.previous_handler = None
        self.kept_alive: list = []

    def ask(self, function: Callable, subject: object) -> tuple:
        """The function's answer and no error, or `None` and what went wrong, in words."""
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
            # Kept, because its end could run more of the guest's code.
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
        """Stops the alarm and gives the guest its handler back."""
        if self.armed:
            self.armed = False
            setitimer(ITIMER_REAL, 0)
            pthread_sigmask(SIG_BLOCK, (SIGALRM,))
            if self.previous_handler is not None:
                signal(SIGALRM, self.previous_handler)
