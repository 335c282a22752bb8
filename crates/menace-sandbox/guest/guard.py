# ruff: noqa: BLE001 (the guest may raise anything, anywhere)
"""Asks the guest's objects for their texts, for a quarter of a second in all.

Invariant: whatever such a method raises, returns or never returns, `ask` comes back, unless the
method swallows the alarm for ever; by then the short report is in the mailbox.
"""

from _signal import ITIMER_REAL, SIG_BLOCK, SIG_UNBLOCK, SIGALRM, pthread_sigmask, setitimer, signal

SECONDS = 0.25
AGAIN = 0.05


class TooLong(BaseException):
    """Breaks off a method that takes too long; again and again, should it be caught."""


class Guard:
    """The time that the guest's methods have for a description."""

    __slots__ = ("armed", "before", "expired", "held", "inside")

    def __init__(self):
        self.armed = self.inside = self.expired = False
        self.before = None
        self.held = []

    def ask(self, function, subject):
        """The function's answer and no error, or `None` and what went wrong, in words."""
        if self.expired:
            return None, "there was no time left"
        try:
            if not self.armed:
                self._arm()
            self.inside = True
            answer = function(subject)
            self.inside = False
            self.held.append(answer)
            return answer, None
        except TooLong:
            self.inside = False
            return None, "it took too long"
        except BaseException as error:
            self.inside = False
            # Kept, because its end could run more of the guest's code.
            self.held.append(error)
            return None, "it raised " + type.__dict__["__name__"].__get__(type(error))

    def _arm(self):
        def ring(_number, _frame):
            self.expired = True
            if self.inside:
                raise TooLong

        self.armed = True
        self.before = signal(SIGALRM, ring)
        setitimer(ITIMER_REAL, SECONDS, AGAIN)
        pthread_sigmask(SIG_UNBLOCK, (SIGALRM,))

    def disarm(self):
        """Stops the alarm and gives the guest its handler back."""
        if self.armed:
            self.armed = False
            setitimer(ITIMER_REAL, 0)
            pthread_sigmask(SIG_BLOCK, (SIGALRM,))
            if self.before is not None:
                signal(SIGALRM, self.before)
