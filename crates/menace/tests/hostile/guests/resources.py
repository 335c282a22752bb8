"""Takes more than it may have."""

import ctypes
import mmap
import os
import signal
import socket
import subprocess
import threading
import time

from hostile_tools import *

MIB = 1 << 20


def fine():
    return "fine"


def allocate():
    """Ten gigabytes at once.

    memory_mib: 64
    verdict: out_of_memory
    """
    return len(bytearray(10 << 30))


def allocate_in_small_pieces():
    """Piece by piece, each touched.

    memory_mib: 64
    verdict: out_of_memory
    timeout: 8000
    """
    kept = []
    while True:
        kept.append(b"x" * MIB)


def map_privately():
    """Pages of its own, touched one by one.

    memory_mib: 64
    verdict: out_of_memory
    timeout: 8000
    """
    memory = mmap.mmap(-1, 4 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, len(memory), 4096):
        memory[at] = 1


def map_shared():
    """Shared pages, which some limits do not count.

    memory_mib: 64
    verdict: out_of_memory
    timeout: 8000
    """
    memory = mmap.mmap(-1, 4 << 30)
    for at in range(0, len(memory), 4096):
        memory[at] = 1


def share_out_to_children():
    """Eight children take a share each.

    memory_mib: 64
    verdict: out_of_memory
    timeout: 8000
    """
    for _ in range(8):
        if os.fork() == 0:
            kept = [b"x" * MIB for _ in range(40)]
            time.sleep(20)
            os._exit(len(kept) and 0)
    time.sleep(20)


def allocate_in_a_program():
    """Another program takes it.

    memory_mib: 64
    verdict: out_of_memory returned
    timeout: 8000
    """
    done = subprocess.run(["python3", "-c", "x = [b'x' * (1 << 20) for _ in range(2000)]"])
    time.sleep(0.05)
    return "ESCAPED" if done.returncode == 0 else "the program was refused it"


def write_a_big_file():
    """A file that grows.

    disk_mib: 8
    verdict: out_of_disk
    timeout: 8000
    """
    with open("big", "wb", buffering=0) as file:
        while True:
            file.write(b"x" * MIB)


def write_many_places():
    """Repository, home and temporary directory at once.

    disk_mib: 8
    verdict: out_of_disk
    timeout: 8000
    """
    files = [open(d + "/big", "wb", buffering=0) for d in (".", TMP, os.path.expanduser("~"))]
    while True:
        for file in files:
            file.write(b"x" * MIB)


def reserve_a_big_file():
    """Space is reserved without writing.

    disk_mib: 8
    verdict: out_of_disk
    """
    with open("big", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 1 << 30)


def write_to_a_removed_file():
    """A file without a name grows.

    disk_mib: 8
    verdict: out_of_disk
    timeout: 8000
    """
    file = open(TMP + "/gone", "wb", buffering=0)
    os.remove(TMP + "/gone")
    while True:
        file.write(b"x" * MIB)


def make_many_links():
    """Names without contents fill the directories.

    disk_mib: 2
    verdict: out_of_disk raised
    timeout: 20000
    """
    open("target", "w").close()
    for number in range(1_000_000):
        os.symlink("x" * 200, "link-%d" % number)


def fork_without_end():
    """A process that forks, and so do its children.

    processes: 20
    timeout: 500
    verdict: violated
    """
    while True:
        try:
            os.fork()
        except OSError:
            pass


def spawn_without_end():
    """Programs instead of processes.

    processes: 20
    timeout: 500
    verdict: violated
    """
    while True:
        try:
            os.posix_spawn("/bin/sleep", ["sleep", "3600"], {})
        except OSError:
            time.sleep(0.001)


def start_threads_without_end():
    """Threads count as processes do.

    processes: 20
    verdict: raised violated
    """
    for _ in range(2000):
        threading.Thread(target=forever, daemon=True).start()
    return "ESCAPED"


def open_files_without_end():
    """Descriptors are used up.

    verdict: raised
    """
    kept = []
    while len(kept) < 5000:
        kept.append(os.open("/dev/null", os.O_RDONLY))
    return "ESCAPED"


def use_the_processor():
    """Computes longer than it may.

    cpu_ms: 200
    timeout: 5000
    verdict: timed_out
    """
    while True:
        pass


def use_the_processor_in_threads():
    """Children compute at the same time.

    cpu_ms: 300
    timeout: 5000
    verdict: timed_out
    """
    for _ in range(3):
        if os.fork() == 0:
            while True:
                pass
    forever()


def use_the_processor_past_its_signal():
    """The signal that a limit of the kernel sends is ignored.

    cpu_ms: 300
    timeout: 5000
    verdict: timed_out
    """
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    while True:
        pass


def lock_memory():
    """Memory is locked, so that it cannot be swapped out.

    memory_mib: 64
    verdict: returned out_of_memory violated raised
    """
    libc.mlockall(3)
    memory = mmap.mmap(-1, 512 * MIB)
    for at in range(0, len(memory), 4096):
        memory[at] = 1


def use_big_pages():
    """Big pages, which have a limit of their own.

    memory_mib: 64
    verdict: returned violated raised out_of_memory
    """
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000
    return must_fail(lambda: mmap.mmap(-1, 1 << 30, flags=flags) and "mapped")


def watch_without_end():
    """Watches, events and timers of the kernel are used up.

    verdict: returned raised
    """
    for _ in range(900):
        libc.inotify_init()
        libc.epoll_create(1)
        libc.eventfd(0, 0)


def print_without_end():
    """Output is counted and cut.

    verdict: returned
    """
    for _ in range(64):
        os.write(1, b"x" * MIB)


def hide_processor_time_in_children():
    """Children whose death is not waited for compute, one after the other.

    cpu_ms: 300
    timeout: 6000
    verdict: timed_out
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        if os.fork() == 0:
            until = time.process_time() + 0.02
            while time.process_time() < until:
                pass
            os._exit(0)
        try:
            os.wait()
        except OSError:
            pass


def fill_unmapped_memory_files():
    """Memory that no process maps.

    memory_mib: 64
    timeout: 6000
    verdict: out_of_memory violated raised
    """
    fd = os.memfd_create("x")
    for _ in range(256):
        os.write(fd, b"x" * MIB)


def fill_socket_buffers():
    """Data waits in sockets that are never read.

    memory_mib: 64
    timeout: 6000
    verdict: out_of_memory violated raised
    """
    kept, total = [], 0
    while total < 200 * MIB:
        one, other = socket.socketpair()
        kept += [one, other]
        for end in (one, other):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
            end.setblocking(False)
            try:
                while True:
                    total += end.send(b"x" * (1 << 16))
            except BlockingIOError:
                pass


def fill_page_tables():
    """One page in each two megabytes: the tables are larger than what they map.

    memory_mib: 64
    timeout: 6000
    verdict: out_of_memory violated raised
    """
    reserved = libc.mmap
    reserved.restype = ctypes.c_void_p
    size = 64 << 30
    start = reserved(None, ctypes.c_size_t(size), 1, 0x4022, -1, ctypes.c_long(0))
    if start in (None, ctypes.c_void_p(-1).value):
        raise MemoryError("refused")
    for at in range(start, start + size, 2 * MIB):
        ctypes.string_at(at, 1)
