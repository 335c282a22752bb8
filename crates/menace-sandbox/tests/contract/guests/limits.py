"""Takes more than it may."""

import fcntl
import mmap
import os
import signal
import socket
import threading
import time


def fine():
    return "fine"


def loop():
    while True:
        pass


def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def busy_in_children(seconds, orphans):
    """Busy for so long in all, each time in another process that ends soon."""
    for _ in range(int(seconds / 0.05)):
        child = os.fork()
        if child == 0:
            if orphans and os.fork() != 0:
                os._exit(0)
            end = time.process_time() + 0.05
            while time.process_time() < end:
                pass
            os._exit(0)
        os.waitpid(child, 0)
        if orphans:
            time.sleep(0.05)


def sleep(seconds):
    time.sleep(seconds)


def allocate(mib):
    taken = bytearray(mib << 20)
    for at in range(0, len(taken), 4096):
        taken[at] = 1
    return len(taken)


def allocate_piece_by_piece(mib):
    pieces = []
    for _ in range(mib):
        pieces.append(os.urandom(1 << 20))
    return len(pieces)


def allocate_in_processes(count, mib):
    children = []
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            taken = os.urandom(1 << 20) * mib
            time.sleep(20)
            os._exit(len(taken) & 1)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    return "all had their memory"


def write(path, mib):
    with open(path, "wb", buffering=0) as file:
        for _ in range(mib):
            file.write(b"x" * (1 << 20))
    return "written"


def write_and_remove(path, mib):
    write(path, mib)
    os.remove(path)


def write_and_allocate(path, written, allocated):
    write(path, written)
    return allocate(allocated)


def write_bytes(names, count):
    for name in names:
        with open(name, "wb") as file:
            file.write(b"x" * count)
    return "written"


def read(path):
    total = 0
    with open(path, "rb", buffering=0) as file:
        while piece := len(file.read(1 << 20)):
            total += piece
    return total


def write_many(directory, files, kib):
    for number in range(files):
        with open(os.path.join(directory, str(number)), "wb", buffering=0) as file:
            file.write(b"x" * (kib << 10))
    return "written"


def fork(count):
    started = 0
    children = []
    try:
        for _ in range(count):
            pid = os.fork()
            if pid == 0:
                time.sleep(20)
                os._exit(0)
            children.append(pid)
            started += 1
    except OSError as error:
        print(error)
    for pid in children:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return started


def threads(count):
    started = 0
    done = threading.Event()
    try:
        for _ in range(count):
            threading.Thread(target=done.wait).start()
            started += 1
    except RuntimeError as error:
        print(error)
    done.set()
    return started


def open_files(count):
    kept = []
    try:
        for _ in range(count):
            kept.append(open(os.devnull))
    except OSError as error:
        return len(kept), error.errno
    return len(kept), 0


def shout(count):
    os.write(1, b"o" * count)
    os.write(2, b"e" * (count * 2))


def busy_in_forgotten_children(seconds):
    """The same, and no process waits for any of them."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in range(int(seconds / 0.002)):
        child = os.fork()
        if child == 0:
            end = time.process_time() + 0.002
            while time.process_time() < end:
                pass
            os._exit(0)
        try:
            os.waitpid(child, 0)
        except ChildProcessError:
            pass


def page_tables(gib):
    """Reads a byte of every second mebibyte: each needs a table of its own, and no page."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    memory = mmap.mmap(-1, gib << 30, flags=flags, prot=mmap.PROT_READ)
    for at in range(0, len(memory), 2 << 20):
        memory[at]
    time.sleep(1)


def memory_file(mib):
    """Keeps memory in a file that has no name and is not mapped."""
    file = os.memfd_create("hidden")
    for _ in range(mib):
        os.write(file, bytes(1 << 20))
    time.sleep(1)


def removed_files(mib):
    """Keeps what it writes open, and removes its name."""
    kept = []
    for number in range(mib):
        name = f"removed-{number}"
        file = os.open(name, os.O_CREAT | os.O_RDWR)
        os.remove(name)
        os.write(file, bytes(1 << 20))
        kept.append(file)
    time.sleep(1)


def full_sockets(count, size):
    """Fills the buffers of so many pairs of sockets; how many bytes they took."""
    kept, taken = [], 0
    for _ in range(count):
        pair = socket.socketpair()
        kept.append(pair)
        for end in pair:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
            end.setblocking(False)
            try:
                while True:
                    taken += end.send(bytes(1 << 16))
            except BlockingIOError:
                pass
    time.sleep(1)
    return taken


F_SETPIPE_SZ = 1031


def fill_pipes(count):
    """How much data so many pipes hold."""
    pipes, total = [], 0
    for _ in range(count):
        pipes.append(os.pipe())
        writer = pipes[-1][1]
        os.set_blocking(writer, False)
        try:
            fcntl.fcntl(writer, F_SETPIPE_SZ, 1 << 20)
        except PermissionError:
            pass
        try:
            while True:
                total += os.write(writer, bytes(4096))
        except BlockingIOError:
            pass
    return total
