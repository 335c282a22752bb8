"""Leaves traces wherever it can, and looks for them."""

import os
import random
import sys
import tempfile

STATE = {"calls": 0}
HOME = os.path.expanduser("~")
TMP = tempfile.gettempdir()
LOG = open("log.txt", "a+")
LOG.write("import\n")
LOG.flush()
for place in (HOME, TMP):
    with open(os.path.join(place, "imported.txt"), "w") as file:
        file.write("import")
os.environ["SET_BY_IMPORT"] = "1"


def fine():
    return "fine"


# Without mounts, every sandbox has a directory of its own.
TOP = os.path.dirname(os.path.dirname(HOME))


def anywhere(text):
    """The text without the place where this sandbox happens to be."""
    return text.replace(TOP, "TOP")


def content(path):
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return None


def look():
    """Everything that a call before this one could have changed."""
    LOG.seek(0)
    return {
        "files": sorted(os.listdir(".")),
        "data": content("data.txt"),
        "git": sorted(os.listdir(".git")),
        "log": content("log.txt"),
        "log through the open file": LOG.read(),
        "home": sorted(os.listdir(HOME)),
        "tmp": sorted(os.listdir(TMP)),
        "imported": content(os.path.join(TMP, "imported.txt")),
        "database": os.path.exists(os.environ["BOT_DB_PATH"]),
        "shared memory": shared_memory(),
        "environment": sorted((name, anywhere(value)) for name, value in os.environ.items()),
        "directory": anywhere(os.getcwd()),
        "state": dict(STATE),
        "path": [anywhere(path) for path in sys.path],
        "modules": "colorsys" in sys.modules,
        "mask": os.umask(0o022),
        "limit": sys.getrecursionlimit(),
        "random": random.random(),
        "handler": str(__import__("signal").getsignal(2)),
    }


# Without mounts, that is the host's.
HAS_SHARED_MEMORY = TMP == "/tmp"


def shared_memory():
    return sorted(os.listdir("/dev/shm")) if HAS_SHARED_MEMORY else None


def tamper():
    import colorsys
    import signal
    import sqlite3

    STATE["calls"] += 1
    STATE["module"] = colorsys.__name__
    LOG.write("call\n")
    LOG.flush()
    for path in ("new.txt", "data.txt", os.path.join(HOME, "new.txt"), os.path.join(TMP, "n.txt")):
        with open(path, "w") as file:
            file.write("tampered")
    with open(os.path.join(TMP, "imported.txt"), "w") as file:
        file.write("tampered")
    os.remove("old.txt")
    os.remove(os.path.join(HOME, "imported.txt"))
    os.rename(".git/hooks/pre-commit", ".git/renamed")
    os.mkdir("package/new")
    with sqlite3.connect(os.environ["BOT_DB_PATH"]) as database:
        database.execute("create table t (x)")
    if HAS_SHARED_MEMORY:
        open("/dev/shm/tampered", "w").close()
    os.environ["TAMPERED"] = "1"
    os.environ["HOME"] = "/"
    del os.environ["SET_BY_IMPORT"]
    os.umask(0o077)
    sys.path.insert(0, "/tampered")
    sys.setrecursionlimit(5000)
    signal.signal(2, signal.SIG_IGN)
    random.seed(99)
    os.chdir("package")
    return "tampered"
