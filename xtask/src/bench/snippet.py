"""Runs the snippet of a bug from standard input and prints what happened, as JSON.

The input has `snippet`, `n` and `expression`. The package is found in the working directory.
"""

import json
import resource
import sys
import time
from typing import Dict

MAX_BYTES = 6 << 30


def main() -> None:
    """Runs it in a namespace of its own."""
    request = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    names: Dict[str, object] = {"__name__": "snippet", "n": request["n"]}
    raised = holds = None
    began = time.process_time()
    try:
        exec(compile(request["snippet"], "<snippet>", "exec"), names)
    except Exception as error:
        raised = type(error).__name__
    seconds = time.process_time() - began
    if request["expression"] is not None and raised is None:
        holds = bool(eval(request["expression"], names))
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    outcome = {"raised": raised, "holds": holds, "seconds": seconds, "peak_mb": peak_mb}
    print("\n" + json.dumps(outcome))


main()
