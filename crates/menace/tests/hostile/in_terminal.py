"""Runs a program in a terminal of its own, writes what that shows, and ends as the program does."""

import fcntl
import os
import pty
import struct
import sys
import termios

pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    try:
        shown = os.read(terminal, 65536)
    except OSError:
        # The program has closed its side.
        break
    if not shown:
        break
    while shown:
        shown = shown[os.write(1, shown) :]
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
