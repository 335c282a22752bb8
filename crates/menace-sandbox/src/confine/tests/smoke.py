"""Touches what ordinary programs need from the kernel; says `all well` when all of it works."""

import asyncio
import ctypes
import fcntl
import hashlib
import mmap
import multiprocessing
import os
import resource
import selectors
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

# No processes, programs or network sockets.
STRICT = False


def threads() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda n: n * n, range(100))) == 328350
    event = threading.Event()
    threading.Timer(0.01, event.set).start()
    assert event.wait(5)


def programs() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", "echo out; cat"], input=b"in", capture_output=True, timeout=10
    )
    assert done.stdout == b"out\nin", done
    done = subprocess.run(["/bin/ls", "-la", "/"], capture_output=True, start_new_session=True)
    assert done.returncode == 0
    assert os.system("true") == 0
    assert os.popen("echo hello").read() == "hello\n"
    assert os.posix_spawn("/bin/true", ["true"], {}) > 0
    os.wait()


def databases(directory: str) -> None:
    connection = sqlite3.connect(os.path.join(directory, "test.db"))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (n INTEGER)")
    with connection:
        connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(100)])
    assert connection.execute("SELECT SUM(n) FROM t").fetchone() == (4950,)
    connection.close()


def loops() -> None:
    async def main() -> None:
        await asyncio.gather(*(asyncio.sleep(0.001) for _ in range(50)))
        await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.001)
        if STRICT:
            return
        process = await asyncio.create_subprocess_exec(
            "/bin/echo", "hello", stdout=asyncio.subprocess.PIPE
        )
        assert (await process.communicate())[0] == b"hello\n"

        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"ping\n")
        assert await reader.readline() == b"ping\n"
        writer.close()
        server.close()

    asyncio.run(main())


def square(number: int) -> int:
    return number * number


def processes() -> None:
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]
    queue = context.Queue()
    process = context.Process(target=queue.put, args=("hello",))
    process.start()
    assert queue.get(timeout=10) == "hello"
    process.join()
    with context.Manager() as manager:
        shared = manager.dict(a=1)
        assert shared["a"] == 1
    from multiprocessing import shared_memory

    memory = shared_memory.SharedMemory(create=True, size=4096)
    memory.buf[0] = 7
    memory.close()
    memory.unlink()


def memory() -> None:
    with mmap.mmap(-1, 1 << 20) as area:
        area[:5] = b"hello"
        area.flush()
        assert area[:5] == b"hello"
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda n: n + 1)
    assert callback(41) == 42
    ctypes.CDLL(None).getpid()
    if hasattr(os, "memfd_create"):
        os.close(os.memfd_create("name"))


def files(directory: str) -> None:
    path = os.path.join(directory, "file")
    with open(path, "w+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_EX)
        file.write("x" * 100_000)
        file.flush()
        os.fsync(file.fileno())
        os.truncate(path, 10)
    os.chmod(path, 0o600)
    os.utime(path)
    shutil.copy2(path, path + "2")
    os.rename(path + "2", path + "3")
    os.symlink(path, path + "4")
    os.link(path, path + "5")
    os.mkfifo(path + "6")
    os.unlink(path + "6")
    os.statvfs(directory)
    os.listxattr(path)
    shutil.copytree(directory, directory + "-copy")
    shutil.rmtree(directory + "-copy")
    with tempfile.TemporaryFile() as file, tempfile.NamedTemporaryFile() as other:
        file.write(b"hello")
        os.sync()
        os.copy_file_range(file.fileno(), other.fileno(), 0)


def sockets() -> None:
    one, other = socket.socketpair()
    one.sendall(b"hello")
    with selectors.DefaultSelector() as selector:
        selector.register(other, selectors.EVENT_READ)
        assert selector.select(5)
    assert other.recv(5) == b"hello"
    ssl.create_default_context()
    hashlib.new("sha256", b"").hexdigest()
    if not STRICT:
        assert socket.getaddrinfo("127.0.0.1", 80)
        socket.if_nameindex()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.bind(("127.0.0.1", 0))


def signals() -> None:
    caught = []
    signal.signal(signal.SIGALRM, lambda *_: caught.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.pause()
    signal.raise_signal(signal.SIGALRM)
    os.kill(os.getpid(), signal.SIGALRM)
    assert len(caught) == 3
    signal.pthread_sigmask(signal.SIG_BLOCK, [])
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def machine() -> None:
    os.nice(1)
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.getrusage(resource.RUSAGE_SELF)
    os.getrandom(8)
    os.uname()
    os.getloadavg()
    if os.getsid(0) != os.getpid():
        os.setpgid(0, 0)
    read, write = os.pipe2(os.O_CLOEXEC)
    os.write(write, b"x")
    assert os.read(read, 1) == b"x"
    os.closerange(200, 300)
    if sys.version_info >= (3, 10):
        os.eventfd(0)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        databases(directory)
        files(directory)
    threads()
    memory()
    sockets()
    signals()
    machine()
    loops()
    if not STRICT:
        programs()
        processes()
    print("all well")


main()
