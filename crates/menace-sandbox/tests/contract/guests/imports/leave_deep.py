"""Leaves directories nested deeper than a path can name."""

import os

NAME = "directory-with-a-long-name"
LEVELS = 450
PLACES = (os.getcwd(), os.environ["TMPDIR"])

for place in PLACES:
    inner, outer = os.path.join(place, NAME), os.path.join(place, "outer")
    os.mkdir(inner)
    with open(os.path.join(inner, "bottom.txt"), "w") as file:
        file.write("imported")
    # By moving each into the next.
    for _ in range(LEVELS - 1):
        os.mkdir(outer)
        os.rename(inner, os.path.join(outer, NAME))
        os.rename(outer, inner)


def descend(place):
    """The innermost directory, and how deep it is."""
    directory, levels = os.open(place, os.O_RDONLY), 0
    while NAME in os.listdir(directory):
        inner = os.open(NAME, os.O_RDONLY, dir_fd=directory)
        os.close(directory)
        directory, levels = inner, levels + 1
    return directory, levels


def left():
    found = []
    for place in PLACES:
        directory, levels = descend(place)
        found.append((levels, os.listdir(directory)))
        os.close(directory)
    return found == [(LEVELS, ["bottom.txt"])] * 2


def tamper():
    for place in PLACES:
        directory, _ = descend(place)
        os.mkdir("deeper", dir_fd=directory)
        os.remove("bottom.txt", dir_fd=directory)
        os.close(directory)
