"""Takes its time whenever it is forked."""

import os
import time

os.register_at_fork(before=lambda: time.sleep(0.9))


def loop():
    while True:
        pass
