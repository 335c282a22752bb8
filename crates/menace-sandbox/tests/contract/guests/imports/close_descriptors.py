import os

os.closerange(0, 2048)


def fine():
    return "fine"
