"""Guests that meet faults and return what they noticed."""

import errno
import os
import shutil
import socket
import threading
import time


def fine():
    return "fine"


def save(text):
    """The careless way to save: the old content is gone before the new one is there."""
    with open("data.txt", "w") as file:
        file.write(text)
    return "saved"


def save_and_tell(text):
    try:
        return save(text)
    except OSError as error:
        return errno.errorcode[error.errno]


def steps(count):
    """Writes line after line, unbuffered; says how many went through and what stopped it."""
    done = 0
    try:
        with open("steps.txt", "wb", buffering=0) as file:
            for number in range(count):
                file.write(b"%d\n" % number)
                done += 1
    except OSError as error:
        return [done, errno.errorcode[error.errno]]
    return [done, None]


def read_back(count):
    """How often reading a file of the repository failed, the longest time, and the time in all."""
    failed, longest = 0, 0.0
    began = time.perf_counter()
    for _ in range(count):
        start = time.perf_counter()
        try:
            descriptor = os.open("data.txt", os.O_RDONLY)
            try:
                os.read(descriptor, 100)
            finally:
                os.close(descriptor)
        except OSError as error:
            assert error.errno == errno.EIO, error
            failed += 1
        longest = max(longest, time.perf_counter() - start)
    return [failed, longest, time.perf_counter() - began]


def corrupted(count):
    """Which of the bytes that were written came back different."""
    data = bytes(count)
    with open("written.bin", "wb", buffering=0) as file:
        assert file.write(data) == count
    with open("written.bin", "rb") as file:
        back = file.read()
    assert len(back) == count
    return [place for place, byte in enumerate(back) if byte]


def corrupted_parts(count):
    """The same, written in three parts at once, at a position and behind it."""
    parts = [bytes(count), b"", bytes(count)]
    descriptor = os.open("written.bin", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        os.pwritev(descriptor, parts, 0)
        os.lseek(descriptor, 0, os.SEEK_END)
        os.writev(descriptor, parts)
    finally:
        os.close(descriptor)
    with open("written.bin", "rb") as file:
        back = file.read()
    assert len(back) == 4 * count, len(back)
    return [place for place, byte in enumerate(back) if byte]


def corrupted_copy(count):
    """The same, copied by the quickest way that there is."""
    with open("original.bin", "wb", buffering=0) as file:
        file.write(bytes(count))
    shutil.copyfile("original.bin", "copy.bin")
    with open("original.bin", "rb") as first, open("copy.bin", "rb") as second:
        pairs = zip(first.read(), second.read(), strict=True)
        return [place for place, (one, other) in enumerate(pairs) if one != other]


def reserved(count):
    """Makes room and writes nothing: there is nothing to tamper."""
    descriptor = os.open("room.bin", os.O_WRONLY | os.O_CREAT)
    try:
        os.posix_fallocate(descriptor, 0, count)
        os.write(descriptor, b"")
    finally:
        os.close(descriptor)
    return os.path.getsize("room.bin")


def full(kind):
    """Writes more than fits into what no process reads."""
    if kind == "named pipe":
        os.mkfifo("pipe")
        writer = os.open("pipe", os.O_RDWR)
    elif kind == "pipe":
        _, writer = os.pipe()
    else:
        ends = socket.socketpair()
        writer = ends[0].fileno()
    while True:
        os.write(writer, bytes(1 << 20))


def swapped():
    """Writes while another thread puts a full pipe in the place of the file."""
    place = 50
    _, pipe = os.pipe()
    file = os.open("swapped.bin", os.O_WRONLY | os.O_CREAT)
    os.set_blocking(pipe, False)
    try:
        while True:
            os.write(pipe, bytes(1 << 16))
    except BlockingIOError:
        os.set_blocking(pipe, True)
    os.dup2(file, place)

    def swap():
        while True:
            os.dup2(pipe, place)
            os.dup2(file, place)

    threading.Thread(target=swap, daemon=True).start()
    while True:
        os.write(place, b"x")


def written_once(count):
    """The result of one write, the size of the file then, and whether any of it is tampered."""
    result = "done"
    with open("once.bin", "wb", buffering=0) as file:
        try:
            assert file.write(bytes(count)) == count
        except OSError as error:
            result = errno.errorcode[error.errno]
    with open("once.bin", "rb") as file:
        back = file.read()
    return [result, len(back), any(back)]


def allocate(count):
    """How many blocks could be had before memory was refused."""
    blocks = []
    try:
        for _ in range(count):
            blocks.append(bytearray(4 << 20))
    except MemoryError:
        return len(blocks)
    return -1


def allocate_each(count):
    """Which of so many blocks were refused; those that were had stay."""
    blocks, refused = [], []
    for number in range(count):
        try:
            blocks.append(bytearray(4 << 20))
        except MemoryError:
            refused.append(number)
    return refused


def converse():
    """What became of one connection, one message and its arrival, one after the other."""
    steps = []
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        try:
            client.connect(server.getsockname())
            steps.append("connected")
            peer, _ = server.accept()
            with peer:
                client.send(b"hello")
                steps.append("sent")
                peer.recv(5)
                steps.append("received")
        except OSError as error:
            steps.append(errno.errorcode[error.errno])
    return steps


def talk(count):
    """What became of connections to a server of its own."""
    server = socket.create_server(("127.0.0.1", 0))
    address = server.getsockname()

    def serve():
        while True:
            try:
                peer, _ = server.accept()
                peer.close()
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    seen = []
    for _ in range(count):
        try:
            with socket.socket() as client:
                client.connect(address)
            seen.append("connected")
        except OSError as error:
            seen.append(errno.errorcode.get(error.errno, str(error)))
    server.close()
    return seen


def longest_gap(seconds):
    """The longest time in which it did not get the processor."""
    longest, last = 0.0, time.perf_counter()
    end = last + seconds
    while last < end:
        now = time.perf_counter()
        longest = max(longest, now - last)
        last = now
    return longest


def taken_away(seconds):
    """The share of the time in which it did not get the processor, in moments long enough."""
    taken, began = 0.0, time.perf_counter()
    last, end = began, began + seconds
    while last < end:
        now = time.perf_counter()
        taken += now - last if now - last > 0.03 else 0.0
        last = now
    return taken / (last - began)


def share_of_a_processor(seconds):
    """How much of a processor it had while it wanted all of one."""
    end = time.perf_counter() + seconds
    began, used = time.perf_counter(), time.process_time()
    while time.perf_counter() < end:
        pass
    return (time.process_time() - used) / (time.perf_counter() - began)


def sleep(seconds):
    time.sleep(seconds)


def content(path):
    with open(path) as file:
        return file.read()
