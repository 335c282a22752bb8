"""Announces a long message on the control socket, and sends it byte by byte."""

import os
import struct
import time

os.write(900, b"MNC2" + struct.pack("<I", 1 << 20))
for _ in range(300):
    os.write(900, b"x")
    time.sleep(0.05)


def fine():
    return "fine"
