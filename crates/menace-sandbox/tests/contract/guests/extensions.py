"""Guests whose files, memory and connections are those of C libraries."""

import ctypes
import errno
import os
import socket
import sqlite3
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.malloc.restype = ctypes.c_void_p
LIBC.malloc.argtypes = [ctypes.c_size_t]
LIBC.free.argtypes = [ctypes.c_void_p]
BLOCK = 4 << 20


def stored(count):
    """Which rows came back different from a database, or what it complains of."""
    row = bytes(3000)
    try:
        with sqlite3.connect("rows.db") as database:
            database.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, content BLOB)")
            for number in range(count):
                database.execute("INSERT INTO rows VALUES (?, ?)", (number, row))
        database.close()
        database = sqlite3.connect("rows.db")
        found = dict(database.execute("SELECT number, content FROM rows"))
        database.close()
    except sqlite3.Error as error:
        return [type(error).__name__ + ": " + str(error)]
    return [number for number in range(count) if found.get(number) != row]


def allocated(count):
    """Which of so many blocks `malloc` refused."""
    blocks = [LIBC.malloc(BLOCK) for _ in range(count)]
    for block in blocks:
        LIBC.free(block)
    return [number for number, block in enumerate(blocks) if not block]


def connected(count):
    """What `connect` said to so many connections to a server of its own."""
    server = socket.create_server(("127.0.0.1", 0), backlog=count)
    port = server.getsockname()[1]
    address = struct.pack("=H", socket.AF_INET) + struct.pack(">H", port)
    address += socket.inet_aton("127.0.0.1") + bytes(8)
    said = []
    for _ in range(count):
        descriptor = LIBC.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
        refused = LIBC.connect(descriptor, address, len(address))
        said.append(errno.errorcode[ctypes.get_errno()] if refused else "connected")
        os.close(descriptor)
    server.close()
    return said
