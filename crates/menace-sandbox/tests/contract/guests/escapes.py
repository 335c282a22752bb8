"""Reaches for what is not its own: files, system calls, other processes."""

import ctypes
import errno
import os
import signal
import sys

libc = ctypes.CDLL(None, use_errno=True)


def fine():
    return "fine"


def read(path):
    """What is in a file, a directory or behind a link; or why it cannot be had."""
    try:
        if os.path.isdir(path):
            return "got " + " ".join(os.listdir(path))
        with open(path, "rb") as file:
            return "got " + repr(file.read(200))
    except OSError as error:
        return type(error).__name__


def tell(path):
    print(read(path))


def tamper_the_interpreter():
    """Names what could be changed of it, of the harness and of pristine copies."""
    harness = [path for path in harness_files() if not path.startswith(os.getcwd())]
    for path in places() + harness:
        if overwrite(path) == "written" or replace(path):
            print(path)


def read_in_c(path):
    """The same without Python noticing."""
    libc.open.restype = ctypes.c_int
    fd = libc.open(path.encode(), os.O_RDONLY)
    if fd < 0:
        return "refused"
    return "got " + repr(os.read(fd, 200))


def write_in_c(path):
    """Why a file cannot be made, without Python noticing."""
    fd = libc.open(path.encode(), os.O_WRONLY | os.O_CREAT, 0o600)
    return errno.errorcode[ctypes.get_errno()] if fd < 0 else "made"


def shell(command):
    """What another program does, in a line of the shell."""
    import subprocess

    done = subprocess.run(["sh", "-c", command], capture_output=True)
    return done.returncode


def look_around():
    """What the C library asks for on behalf of ordinary functions."""
    import locale
    import pwd
    import time

    os.cpu_count()
    pwd.getpwall()
    locale.setlocale(locale.LC_ALL, "")
    time.tzset()
    os.sysconf("SC_PHYS_PAGES")
    return "fine"


def read_and_leave(path):
    read(path)
    os._exit(0)


def read_and_hang(path):
    read(path)
    while True:
        signal.pause()


def read_in_a_fork(path):
    if os.fork() == 0:
        read(path)
        os._exit(0)
    os.wait()


def read_in_a_fork_that_stays(path):
    ready, writer = os.pipe()
    if os.fork() == 0:
        read(path)
        os.write(writer, b"!")
        signal.pause()
    os.read(ready, 1)
    os._exit(0)


def read_through_links(path):
    directory, name = os.path.split(path)
    os.symlink(directory, "there")
    os.symlink("there/" + name, "link")
    read("link")


def read_below_a_link(path):
    directory, name = os.path.split(path)
    os.mkdir("inner")
    os.symlink(directory, "inner/there")
    os.rename("inner", "moved")
    read("moved/there/" + name)


def overwrite(path):
    try:
        with open(path, "ab") as file:
            file.write(b"# tampered\n")
        return "written"
    except OSError as error:
        return type(error).__name__


def replace(path):
    """Other ways to change a file: each is tried."""
    worked = []
    attempts = {
        "rename": lambda: os.rename(path, path + ".old"),
        "remove": lambda: os.remove(path),
        "link": lambda: os.link(path, "/tmp/linked"),
        "create": lambda: open(path + ".new", "w").close(),
        "truncate": lambda: os.truncate(path, 0),
    }
    for name, attempt in attempts.items():
        try:
            attempt()
            worked.append(name)
        except OSError:
            pass
    return worked


def walk_out():
    """Climbs from the working directory to whatever is above everything."""
    seen = []
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(40):
        try:
            fd = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
            seen = os.listdir(fd)
        except OSError:
            break
    return sorted(seen)


def link_to(path):
    os.symlink(path, "link")
    try:
        with open("link", "rb") as file:
            return "got " + repr(file.read(200))
    except OSError as error:
        return type(error).__name__


def places():
    """Where the interpreter, its library, the harness and pristine copies are."""
    above = os.path.dirname(os.path.dirname(os.getcwd()))
    elsewhere = ["/menace/__main__.pyc", "/layers/repo/guest.py"]
    elsewhere += [above + "/menace/__main__.pyc", above + "/original/guest.py"]
    return [os.__file__, os.path.realpath(sys.executable), *elsewhere]


def harness_files():
    """The files that the running harness was loaded from."""
    frame, names = sys._getframe(), set()
    while frame is not None:
        names.add(frame.f_code.co_filename)
        frame = frame.f_back
    return sorted(name for name in names if name.startswith("/") and "guest.py" not in name)


def change_the_repository():
    with open("guest.py", "a") as file:
        file.write("raise SystemExit\n")
    with open(".git/config", "w") as file:
        file.write("[core]\n\tfsmonitor = evil\n")
    with open(".git/hooks/pre-commit", "w") as file:
        file.write("#!/bin/sh\nevil\n")
    os.chmod(".git/hooks/pre-commit", 0o777)
    os.rename(".git/objects/ab/cdef", ".git/objects/ab/0123")
    os.remove(".git/HEAD")
    os.symlink("/etc/passwd", ".git/HEAD")
    return "changed"


def change_by_absolute_path(repository):
    """The path that the repository has outside."""
    done = []
    for name in ("guest.py", ".git/config", "new.txt"):
        try:
            with open(os.path.join(repository, name), "a") as file:
                file.write("tampered")
            done.append(name)
        except OSError:
            pass
    return done


def system_call(number, *args):
    libc.syscall.restype = ctypes.c_long
    answer = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(arg) for arg in args])
    return answer, ctypes.get_errno()


def call_of_another_architecture(number, path):
    """A 32-bit system call on an open file: its answer."""
    import mmap

    code = bytes.fromhex("53 89fb 89f0 cd80 5b c3")
    page = mmap.mmap(-1, len(code), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)(start)
    return call(os.open(path, os.O_RDONLY), number)


def signal_to(which, number):
    """Signals init and zygote."""
    target = {"first": 1, "all": -1, "interpreter": os.getppid(), "group": -os.getppid()}[which]
    try:
        os.kill(target, number)
        return "sent"
    except OSError as error:
        return type(error).__name__


def signal_by_thread(number):
    answers = []
    for pid in (1, os.getppid()):
        answers.append(libc.tgkill(pid, pid, number) if hasattr(libc, "tgkill") else -1)
        answers.append(libc.syscall(ctypes.c_long(200), pid, number))
    return answers


def signal_by_descriptor(number):
    answers = []
    for pid in (1, os.getppid()):
        try:
            fd = os.pidfd_open(pid)
            signal.pidfd_send_signal(fd, number)
            answers.append("sent")
        except OSError as error:
            answers.append(type(error).__name__)
    return answers


def become_another_user():
    answers = []
    for attempt in (lambda: os.setuid(0), lambda: os.setgroups([0]), lambda: os.chroot("/tmp")):
        try:
            attempt()
            answers.append("done")
        except OSError as error:
            answers.append(type(error).__name__)
    return answers


def set_user_bit():
    with open("/bin/true", "rb") as program, open("mine", "wb") as copy:
        copy.write(program.read())
    os.chmod("mine", 0o6755)
    return os.stat("mine").st_uid


def processes_seen():
    try:
        os.listdir("/proc")
    except OSError:
        return []
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
