"""Leaves this and that while it is imported, and does things to it."""

import os
import shutil

HOME = os.path.expanduser("~")
ROOM = os.path.dirname(HOME)
TMP = os.path.join(ROOM, "tmp")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


for name in ("one.txt", "two.txt", "three.txt"):
    write(os.path.join(TMP, name), "imported")
os.makedirs(os.path.join(HOME, "cache", "deep"))
write(os.path.join(HOME, "cache", "deep", "kept.txt"), "imported")
write("written.txt", "imported")
os.remove("old.txt")


def fine():
    return "fine"


def overwrite():
    with open(os.path.join(TMP, "one.txt"), "r+") as file:
        file.write("replaced")


def write_twice(text):
    for path in ("new.txt", os.path.join(TMP, "one.txt")):
        write(path, text)
    os.symlink("new.txt", "link.txt")
    os.remove("data.txt")


def swap():
    os.remove(os.path.join(TMP, "one.txt"))
    write(os.path.join(TMP, "four.txt"), "created!")


def remake():
    for directory in ("package", os.path.join(HOME, "cache")):
        shutil.rmtree(directory)
        os.mkdir(directory)
    write("package/new.py", "")


def change_what_was_imported():
    write("written.txt", "by a call")
    write("old.txt", "made again")
    os.remove(os.path.join(HOME, "cache", "deep", "kept.txt"))


def remove_home():
    shutil.rmtree(HOME)


def replace_by_links():
    for path in (TMP, HOME):
        shutil.rmtree(path)
        os.symlink("/usr", path)


def look():
    found = {}
    for top in (".", ROOM):
        for directory, _, files in os.walk(top):
            for name in files:
                path = os.path.join(directory, name)
                with open(path) as file:
                    found[os.path.relpath(path, top)] = file.read()
    return found


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
