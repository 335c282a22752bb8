"""Leaves nothing, so that what a call does to its empty directories is all there is to see."""

import os

HOME = os.environ["HOME"]


def fine():
    return "fine"


def move_home():
    os.rename(HOME, HOME + "-away")


def home_to_file():
    os.rmdir(HOME)
    open(HOME, "w").close()
