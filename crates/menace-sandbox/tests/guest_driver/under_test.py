"""Which Python is tested: the first argument of the command line."""

import subprocess
import sys

import __main__

if len(sys.argv) < 2:
    sys.exit(__main__.__doc__)
PYTHON = sys.argv[1]
VERSION = tuple(
    int(number)
    for number in subprocess.check_output(
        [PYTHON, "-I", "-c", "import sys; print(*sys.version_info[:2])"]
    ).split()
)
