"""Answers in the harness's place, then hangs."""

import marshal
import os
import socket
import struct
import time

for number in range(900, 1000):
    try:
        os.fstat(number)
    except OSError:
        continue
    for message in (
        {"op": "imported", "ok": True, "unforkable_state": []},
        {"op": "forked", "pid": 1},
        {"op": "reaped", "pid": 1, "status": 0, "utime": 0.0, "stime": 0.0, "maxrss": 0},
    ):
        body = marshal.dumps(message, 2)
        try:
            os.write(number, b"MNC2" + struct.pack("<I", len(body)) + body)
        except OSError:
            pass
time.sleep(3600)
