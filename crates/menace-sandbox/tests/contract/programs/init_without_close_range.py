#!/usr/bin/python3 -I
"""Becomes the init of a sandbox on a kernel that has no `close_range`."""

import ctypes
import errno
import os
import struct
import sys

CLOSE_RANGE = 436
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, IS_EQUAL, RETURN = 0x20, 0x15, 0x06
REFUSE, ALLOW = 0x50000 | errno.ENOSYS, 0x7FFF0000

instructions = [
    (LOAD, 0, 0, 0),
    (IS_EQUAL, 0, 1, CLOSE_RANGE),
    (RETURN, 0, 0, REFUSE),
    (RETURN, 0, 0, ALLOW),
]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in instructions))
program = struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
for request in (
    (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
    (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0),
):
    if libc.prctl(*request) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")
os.execv(os.path.join(os.path.dirname(sys.argv[0]), "init"), ["init", *sys.argv[1:]])
