"""Goes through a whole call in the zygote before the first fork, without leaving a trace.

The interpreter then has specialised its bytecode, filled its caches and resolved its symbols once
and for all; otherwise each child would do it again, on pages that it has to copy for it.
"""

import sys
from mailbox import fitting

from calling import Outcome, perform
from child import run
from guest_mode import ALL
from reporting import DEFAULT_CAPS, lengthen, short

NAME = "menace warm-up"
ROUNDS = 12


def warm_up(zygote, rounds=ROUNDS):
    """Calls a function of no importance a few times, signals blocked."""
    module = type(sys)(NAME)
    module.function = _function
    zygote.modules.by_name[NAME] = module
    mode = zygote.mode
    mask, mode.mask = mode.mask, ALL
    try:
        for _ in range(rounds):
            zygote.seeding.start(zygote.seeding.seed)
            outcome = Outcome()
            run(zygote, outcome, perform, CALL)
            report = short(outcome, DEFAULT_CAPS, zygote)
            fitting(report, 32704)
            lengthen(report, outcome, DEFAULT_CAPS, zygote.repo)
            fitting(report, 32704)
    finally:
        mode.mask = mask
        del zygote.modules.by_name[NAME]
        zygote.audit.forget()


def _function(*_args, **_kwargs):
    return None


CALL = {
    "target": {"module": NAME, "path": None, "qualname": "function", "how": "function"},
    "receiver": None,
    "args": [],
    "kwargs": [],
    "plain": True,
    "caps": DEFAULT_CAPS,
}
