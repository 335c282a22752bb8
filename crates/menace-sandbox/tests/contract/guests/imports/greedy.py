import time

TAKEN = b"x" * (80 << 20)
time.sleep(0.3)


def fine():
    return "fine"
