"""Tells what `site` made of its Python, and what it can read."""

import builtins
import os
import subprocess
import sys


def fine():
    return "fine"


def fail():
    raise LookupError("on purpose")


def state():
    flags = subprocess._args_from_interpreter_flags()
    return [
        sys.flags.no_site,
        "-S" in flags,
        hasattr(builtins, "exit"),
        [name for name in ("sitecustomize", "usercustomize") if name in sys.modules],
        [name for name in ("lines", "state") if name in os.environ.get("SITE_RAN", "")],
        any(path.endswith("/more") for path in sys.path),
        sys.path.index(os.getcwd()) < sys.path.index(os.environ["SITE_DIR"]),
    ]


def sees(text, *directories):
    """Whether a file below these has the text, links followed."""
    for top in directories:
        for directory, _, names in os.walk(top, followlinks=True):
            for name in names:
                try:
                    with open(os.path.join(directory, name), encoding="latin-1") as file:
                        if text in file.read(1000):
                            return True
                except OSError:
                    continue
    return False
