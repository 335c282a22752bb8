"""Makes a whole call in the zygote before the first fork, without leaving a trace.

Afterwards the interpreter has specialised its bytecode, filled its caches and resolved its symbols.
Otherwise each child would do that again, on pages that it has to copy for it.
"""

from __future__ import annotations

import sys

from describe.report import DEFAULT_DESCRIPTION_LIMITS, add_guest_texts, build_short_report
from runtime.call import CallProgress, perform
from runtime.child import run
from runtime.guest_mode import ALL
from runtime.mailbox import encode_to_fit

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from runtime.zygote import Zygote

NAME = "menace warm-up"
ROUNDS = 12


def warm_up(zygote: Zygote, rounds: int = ROUNDS) -> None:
    """Calls a trivial function a few times, with signals blocked."""
    module: Any = type(sys)(NAME)
    module.function = _function
    zygote.modules.by_name[NAME] = module
    mode = zygote.guest_mode
    mask, mode.mask = mode.mask, ALL
    site = zygote.site
    is_pending, site.is_pending = site.is_pending, False
    try:
        for _ in range(rounds):
            zygote.seeding.start(zygote.seeding.seed)
            progress = CallProgress()
            run(zygote, progress, perform, CALL)
            report = build_short_report(progress, DEFAULT_DESCRIPTION_LIMITS, zygote)
            encode_to_fit(report, 32704)
            add_guest_texts(report, progress, DEFAULT_DESCRIPTION_LIMITS, zygote.repo)
            encode_to_fit(report, 32704)
    finally:
        mode.mask = mask
        site.is_pending = is_pending
        del zygote.modules.by_name[NAME]
        zygote.audit.forget()


def _function(*_args: object, **_kwargs: object) -> None:
    return None


CALL: dict = {
    "target": {"module": NAME, "path": None, "qualname": "function", "kind": "function"},
    "receiver": None,
    "args": [],
    "kwargs": [],
    "needs_no_building": True,
    "description_limits": DEFAULT_DESCRIPTION_LIMITS,
}
