"""One function for each right that a security level takes away."""

import ctypes
import os
import pwd
import socket
import subprocess
import threading


def fine():
    return "fine"


def rare_call():
    """`io_setup`, which few programs need."""
    libc = ctypes.CDLL(None, use_errno=True)
    context = ctypes.c_ulong(0)
    if libc.syscall(ctypes.c_long(206), ctypes.c_long(1), ctypes.byref(context)) != 0:
        raise OSError(ctypes.get_errno(), "io_setup")


def rare_protocol():
    """A protocol that the kernel would have to load; allowed is not the same as available."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132).close()
    except PermissionError:
        raise
    except OSError:
        pass


def strange_file(path):
    os.listdir(path)


def network():
    socket.socket().close()


def program():
    subprocess.run(["true"], check=True)


def process():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def write_repository():
    with open("new.txt", "w") as file:
        file.write("new")


def write_elsewhere():
    import tempfile

    for directory in (tempfile.gettempdir(), os.path.expanduser("~")):
        with open(os.path.join(directory, "new.txt"), "w") as file:
            file.write("new")


def thread():
    done = []
    worker = threading.Thread(target=done.append, args=(1,))
    worker.start()
    worker.join()
    assert done


def pair():
    one, other = socket.socketpair()
    one.close()
    other.close()


def user():
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        pass


def is_allowed(name, *args):
    try:
        globals()[name](*args)
        return True
    except OSError as error:
        print(error)
        return False
