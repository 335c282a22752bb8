"""Leaves nothing while it is imported, and looks for ways around its directories."""

import os
import shutil

HOME = os.path.expanduser("~")
ROOM = os.path.dirname(HOME)
TMP = os.path.join(ROOM, "tmp")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def fine():
    return "fine"


def replace_by_links():
    for path in (TMP, HOME):
        shutil.rmtree(path)
        os.symlink("/usr", path)


def look_around():
    return sorted(os.listdir(ROOM))


def write_beside():
    """Tries to get something into the repository without going through it."""
    for directory, _, _ in os.walk(ROOM):
        try:
            write(os.path.join(directory, "smuggled.txt"), "smuggled")
        except OSError:
            pass
    return sorted(os.listdir("."))


def leave_beside():
    """Whether something is left where repository, home and temporary directory are; leaves it."""
    path = os.path.join(os.path.dirname(ROOM), "smuggled.txt")
    found = os.path.exists(path)
    try:
        write(path, "smuggled")
    except OSError:
        pass
    return found
