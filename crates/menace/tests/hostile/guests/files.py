"""Reaches for files of the host."""

import ctypes
import fcntl
import glob
import mmap
import os
import shutil
import stat
import subprocess
import sys

from hostile_tools import *


def fine():
    return "fine"


def read_the_password_file():
    """The password file is opened by its path.

    verdict: violated
    """
    return must_fail(lambda: read("/etc/shadow"))


def read_the_password_file_in_c():
    """The password file is opened without Python noticing.

    verdict: violated
    """
    return must_fail(lambda: read_in_c("/etc/shadow"))


def read_the_canary():
    """A file of the host that all users may read is opened by its path."""
    return must_fail(lambda: read(CANARY), lambda: read_in_c(CANARY))


def list_the_canary_directory():
    """A directory of the host is listed by its path."""
    return must_fail(lambda: os.listdir(CANARY_DIRECTORY))


def read_through_a_link():
    """A link in the repository leads to a file of the host."""
    os.symlink(CANARY, "link")
    return must_fail(lambda: read("link"), lambda: read_in_c("link"))


def read_below_a_linked_directory():
    """A link in the repository leads to a directory of the host."""
    os.symlink(CANARY_DIRECTORY, "directory")
    return must_fail(lambda: read("directory/" + os.path.basename(CANARY)))


def read_through_a_chain_of_links():
    """Twelve links in a row lead to the password file.

    verdict: violated
    """
    return must_fail(lambda: read(make_chain(12)))


def read_through_a_long_chain_of_links():
    """The kernel follows thirty links, and refuses what they lead to.

    verdict: violated
    """
    return must_fail(lambda: read(make_chain(30)))


def make_chain(length, target="/etc/shadow"):
    for number in range(length):
        os.symlink(target, "link-%d" % number)
        target = "link-%d" % number
    return target


def link_the_canary_hard():
    """A hard link makes a file of the host one of the repository."""
    return must_fail(lambda: os.link(CANARY, "mine"), lambda: os.link("/etc/shadow", TMP + "/x"))


def read_past_the_root_of_the_first_process():
    """The root directory of PID 1 is taken for that of the host.

    verdict: violated
    """
    return must_fail(
        lambda: read("/proc/1/root/etc/shadow"),
        lambda: read("/proc/1/root" + CANARY),
        lambda: read("/proc/1/cwd/etc/shadow"),
    )


def read_past_the_root_of_the_zygote():
    """The root and working directory of the parent are used."""
    parent = "/proc/%d" % os.getppid()
    return must_fail(
        lambda: read(parent + "/root/etc/shadow"),
        lambda: read(parent + "/cwd/etc/shadow"),
        lambda: read(parent + "/root" + CANARY),
    )


def read_past_its_own_root():
    """The process's own root is taken for that of the host.

    verdict: violated
    """
    return must_fail(
        lambda: read("/proc/self/root/etc/shadow"),
        lambda: read("/proc/thread-self/root" + CANARY),
        lambda: read("/proc/self/task/%d/root/etc/shadow" % os.getpid()),
    )


def read_the_environment_of_init():
    """PID 1 has secrets in its environment.

    verdict: violated
    """
    return must_fail(lambda: read("/proc/1/environ"), lambda: read_in_c("/proc/1/environ"))


def read_the_environment_of_the_zygote():
    """The parent has secrets in its environment."""
    try:
        with open("/proc/%d/environ" % os.getppid(), "rb") as file:
            found = file.read()
    except OSError:
        return "refused"
    return "ESCAPED" if b"HOSTILE_HOST_SECRET" in found else "nothing of the host"


def read_the_memory_of_init():
    """The memory of PID 1 is read.

    verdict: violated
    """
    return must_fail(lambda: read("/proc/1/mem"), lambda: read("/proc/1/maps"))


def write_the_memory_of_the_zygote():
    """The memory of the parent is written."""
    return must_fail(lambda: open("/proc/%d/mem" % os.getppid(), "r+b").close())


def find_host_paths_in_mountinfo():
    """The list of mounts names directories of the host that the guest does not see anyway."""
    try:
        with open("/proc/self/mountinfo") as file:
            mounts = [line.split() for line in file]
    except OSError:
        return "no list"
    of_memory = ("tmpfs", "devtmpfs", "proc")
    kinds = [mount[mount.index("-") + 1] for mount in mounts]
    roots = {mount[3] for mount, kind in zip(mounts, kinds) if kind not in of_memory}
    hidden = [root for root in roots if root != HOST_REPO and not os.path.lexists(root)]
    secret = (CANARY_DIRECTORY, os.path.dirname(STREAM_PATH))
    hidden += [mount for mount in mounts if any(path in " ".join(mount) for path in secret)]
    return "ESCAPED: %r" % hidden if hidden else "%d mounts" % len(mounts)


def find_the_repository_in_mountinfo():
    """The list of mounts names the directory of the host that has the repository.

    open: the layers of the repository are mounts, and docs/sandbox.md says so
    open_on: root user_namespaces user_namespaces_without_root
    """
    try:
        with open("/proc/self/mountinfo") as file:
            roots = [line.split()[3] for line in file]
    except OSError:
        return "no list"
    return "ESCAPED" if HOST_REPO in roots else "hidden"


def read_descriptors_of_the_zygote():
    """Files that the parent has open are reached through /proc."""
    found = []
    for path in glob.glob("/proc/%d/fd/*" % os.getppid()) + glob.glob("/proc/1/fd/*"):
        try:
            if os.path.isdir(path) and is_host(path + CANARY):
                found.append(path)
        except OSError:
            pass
    return "ESCAPED: %r" % found if found else "nothing of the host"


def open_directories_that_were_left_open():
    """Inherited descriptors lead to directories of the host."""
    found = []
    for fd in fds():
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            for name in ("../" * 20 + CANARY.lstrip("/"), "../" * 20 + "etc/shadow"):
                try:
                    found.append(os.read(os.open(name, os.O_RDONLY, dir_fd=fd), 20))
                except OSError:
                    pass
    return "ESCAPED: %r" % found if found else "nothing"


def climb_out():
    """The working directory's parents are climbed by descriptor."""
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(64):
        try:
            fd = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        except OSError:
            break
    return must_fail(
        lambda: os.open("etc/shadow", os.O_RDONLY, dir_fd=fd),
        lambda: os.open(CANARY.lstrip("/"), os.O_RDONLY, dir_fd=fd),
    )


def climb_out_of_a_moved_directory():
    """A directory is moved away while a process is in it, and `..` is followed."""
    os.makedirs("a/b")
    fd = os.open("a/b", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.rename("a/b", TMP + "/b")
    except OSError:
        pass
    path = "../" * 30 + "etc/shadow"
    return must_fail(lambda: os.open(path, os.O_RDONLY, dir_fd=fd))


def climb_out_of_a_removed_directory():
    """The same with a directory that is gone."""
    os.makedirs("a/b")
    os.chdir("a/b")
    os.rmdir("../b")
    return must_fail(lambda: read_in_c("../" * 30 + "etc/shadow"))


def reopen_a_path_descriptor():
    """A descriptor that stands for a path only is reopened for reading."""
    fd = libc.open(b"/etc/shadow", os.O_PATH)
    return must_fail(lambda: read("/proc/self/fd/%d" % fd)) if fd >= 0 else "refused"


def open_with_openat2():
    """The newer system call for opening is used.

    verdict: violated
    """
    how = (ctypes.c_uint64 * 3)(0, 0, 0)
    answer, _ = system_call("openat2", -100, b"/etc/shadow", ctypes.byref(how), 24)
    return "ESCAPED" if answer >= 0 else "refused"


def open_with_creat():
    """The oldest system call for creating is used on a file of the host."""
    return "ESCAPED" if libc.creat(CANARY.encode(), 0o600) >= 0 else "refused"


def open_by_handle():
    """A handle of a file of the host is opened."""
    handle = ctypes.create_string_buffer(b"\x08\0\0\0\x01\0\0\0\x02\0\0\0\0\0\0\0" + b"\0" * 128)
    answer, _ = system_call("open_by_handle_at", -100, handle, 0)
    return "ESCAPED" if answer >= 0 else "refused"


def make_a_device():
    """Devices of the kernel are made in the repository and in the temporary directory."""
    make = [(name, os.makedev(*number)) for name, number in (("mem", (1, 1)), ("disk", (8, 0)))]
    return must_fail(
        *[
            lambda where=where, name=name, number=number: os.mknod(
                where + "/" + name, 0o600 | stat.S_IFCHR, number
            )
            for where in (".", TMP)
            for name, number in make
        ]
    )


def make_a_whiteout():
    """A device of number 0, which an overlay takes for a removed file, hides the guest."""
    return must_fail(lambda: os.mknod("guest.py.gone", 0o600 | stat.S_IFCHR, 0) or "made")


def redirect_an_overlay():
    """Attributes of an overlay lead a directory elsewhere."""
    os.mkdir("redirected")
    for prefix in ("user.overlay.", "trusted.overlay."):
        for name, value in (("redirect", b"/../../../../etc"), ("opaque", b"y"), ("origin", b"x")):
            try:
                os.setxattr("redirected", prefix + name, value)
            except OSError:
                pass
    return must_fail(lambda: read("redirected/shadow"), lambda: read("redirected/passwd"))


def read_devices():
    """Memory, kernel log and disks are read through their devices."""
    paths = ["/dev/mem", "/dev/kmem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/port", "/dev/fuse"]
    return must_fail(*[lambda path=path: read_in_c(path) for path in paths])


def open_the_terminal():
    """The user's terminals are opened.

    verdict: returned violated raised
    """
    terminals = [*glob.glob("/dev/pts/[0-9]*"), "/dev/tty", "/dev/console", "/dev/tty1"]
    return must_fail(*[lambda path=path: os.open(path, os.O_RDWR) for path in terminals])


def type_into_the_terminal():
    """Characters are put into the input queue of a terminal."""
    import termios

    return must_fail(
        *[lambda fd=fd: fcntl.ioctl(fd, termios.TIOCSTI, b"x") for fd in (0, 1, 2)],
        *[lambda fd=fd: fcntl.ioctl(fd, 0x541C, b"\x03") for fd in (0, 1, 2)],
    )


def append_to_the_canary():
    """A file of the host is appended to."""
    return must_fail(lambda: write(CANARY))


def truncate_the_canary():
    """A file of the host is truncated by its path."""
    return must_fail(lambda: os.truncate(CANARY, 0))


def remove_the_canary():
    """A file of the host is removed, or renamed over."""
    open("mine", "w").close()
    return must_fail(lambda: os.remove(CANARY), lambda: os.rename("mine", CANARY))


def exchange_the_canary():
    """A file of the host changes places with one of the guest."""
    open("mine", "w").close()
    answer, _ = system_call("renameat2", -100, b"mine", -100, CANARY.encode(), 2)
    return "ESCAPED" if answer == 0 else "refused"


def change_attributes_of_the_canary():
    """Mode, owner, times and attributes of a file of the host: success may be claimed, but the
    host's file must be as it was."""
    for action in (
        lambda: os.chmod(CANARY, 0o777),
        lambda: os.chown(CANARY, os.getuid(), os.getgid()),
        lambda: os.utime(CANARY, (0, 0)),
        lambda: os.setxattr(CANARY, "user.tampered", b"x"),
    ):
        try:
            action()
        except OSError:
            pass


def make_a_file_beside_the_canary():
    """New files, directories, links and pipes appear beside a file of the host."""
    return must_fail(
        lambda: write(CANARY_DIRECTORY + "/new"),
        lambda: os.mkdir(CANARY_DIRECTORY + "/new"),
        lambda: os.symlink("/", CANARY_DIRECTORY + "/new"),
        lambda: os.mkfifo(CANARY_DIRECTORY + "/new"),
        lambda: os.open(CANARY_DIRECTORY, os.O_TMPFILE | os.O_RDWR),
    )


def write_below_temporary_directories():
    """Files in the usual temporary directories: the call's own, never the host's."""
    for path in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock"):
        try:
            write(path + "/menace-hostile-new")
        except OSError:
            pass


def write_the_repository_of_the_host():
    """The repository is written under the path that it has on the host."""
    for name in ("files.py", ".git/config", ".git/hooks/pre-commit", "new.txt"):
        try:
            write(os.path.join(HOST_REPO, name))
        except OSError:
            pass


def write_hooks_and_settings():
    """Hooks, settings and start files of the repository: changes of the call's own copy."""
    os.makedirs(".git/hooks", exist_ok=True)
    for name in (".git/hooks/post-checkout", ".git/config", ".env", "sandbox_settings.yaml"):
        write(name, "#!/bin/sh\ntouch /tmp/menace-hostile-hook\n")
    for name in ("sitecustomize.py", "usercustomize.py", "conftest.py", "hostile_tools.py"):
        write(name, "import os\nos.abort()\n")


def write_start_files_of_the_shell():
    """Start files in the home directories of the host."""
    homes = ["/root", "/home", os.path.expanduser("~root")]
    names = (".bashrc", ".profile", ".ssh/authorized_keys", ".config/autostart/x.desktop")
    return must_fail(*[lambda p=home + "/" + name: write(p) for home in homes for name in names])


def replace_the_interpreter():
    """The interpreter and its library are written, replaced and removed."""
    for path in (os.path.realpath(sys.executable), os.__file__, subprocess.__file__):
        for action in (
            lambda: write(path),
            lambda: os.rename(path, path + ".old"),
            lambda: os.remove(path),
            lambda: os.truncate(path, 0),
            lambda: os.symlink("/bin/true", path + ".new"),
        ):
            found = must_fail(action)
            if found != "refused":
                return found
    return "refused"


def replace_the_harness():
    """The files of the harness are written."""
    frame = sys._getframe()
    while frame.f_globals["__name__"] != "__main__":
        frame = frame.f_back
    program = frame.f_globals["__file__"]
    directory = os.path.dirname(program)
    try:
        names = [os.path.join(directory, name) for name in os.listdir(directory)]
    except OSError:
        names = []
    names += [program, directory + "/new.pyc", directory + "/os.py"]
    return must_fail(
        *[lambda name=name: write(name) for name in names],
        *[lambda name=name: os.remove(name) for name in names],
        lambda: os.rename(directory, directory + "-old"),
    )


def write_programs_and_settings_of_the_system():
    """Programs, libraries and settings of the system are written."""
    paths = ["/usr/bin/env", "/bin/sh", "/etc/passwd", "/etc/ld.so.preload", "/etc/crontab"]
    paths += ["/usr/lib/python3/dist-packages/x.pth", "/etc/profile", "/var/spool/cron/root"]
    return must_fail(*[lambda path=path: write(path) for path in paths])


def set_the_core_pattern():
    """The program that the kernel starts for a core is set.

    verdict: violated
    """
    return must_fail(
        lambda: write("/proc/sys/kernel/core_pattern", "|/tmp/x"),
        lambda: write("/proc/sys/kernel/modprobe", "/tmp/x"),
        lambda: write("/proc/sysrq-trigger", "b"),
        lambda: write("/proc/sys/vm/drop_caches", "3"),
        lambda: write("/sys/kernel/uevent_helper", "/tmp/x"),
    )


def leave_the_control_group():
    """The control group is left, and its release agent is set."""
    groups = glob.glob("/sys/fs/cgroup/*") + ["/sys/fs/cgroup"]
    return must_fail(
        *[lambda g=group: write(g + "/cgroup.procs", str(os.getpid())) for group in groups],
        *[lambda g=group: write(g + "/release_agent", "/tmp/x") for group in groups],
    )


def map_another_user():
    """The map of users is written again."""
    return must_fail(
        lambda: write("/proc/self/uid_map", "0 0 1"),
        lambda: write("/proc/self/gid_map", "0 0 1"),
        lambda: write("/proc/self/setgroups", "allow"),
    )


def raise_its_own_oom_score():
    """The process makes itself the last one to be killed for want of memory."""
    return must_fail(lambda: write("/proc/self/oom_score_adj", "-1000"))


def run_a_program_of_root():
    """Programs that run as root read the password file.

    verdict: violated returned
    """
    for command in (["su", "-c", "cat /etc/shadow"], ["sudo", "-n", "cat", "/etc/shadow"]):
        try:
            done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
            if b"root:" in done.stdout:
                return "ESCAPED: " + repr(done.stdout)
        except OSError:
            pass
    return "refused"


def set_the_user_bit():
    """A copy of a program gets the bit that makes it run as its owner."""
    shutil.copy("/usr/bin/id", "mine")
    try:
        os.chmod("mine", 0o6755)
    except OSError:
        return "refused"
    said = subprocess.run(["./mine", "-u"], capture_output=True).stdout
    return "ESCAPED" if int(said) != os.getuid() else "no other user"


def set_capabilities_of_a_file():
    """A copy of a program gets capabilities."""
    shutil.copy("/usr/bin/id", "mine")
    value = b"\1\0\0\2" + b"\xff" * 16
    try:
        os.setxattr("mine", "security.capability", value)
    except OSError:
        return "refused"
    # In the Landlock tier this claims success and does nothing.
    return "ESCAPED" if "security.capability" in os.listxattr("mine") else "ignored"


def cat_the_password_file():
    """Another program opens the password file.

    verdict: violated
    """
    done = subprocess.run(["cat", "/etc/shadow"], capture_output=True)
    return "ESCAPED: " + repr(done.stdout) if done.stdout else "refused"


def cat_through_a_shell():
    """A shell changes the directory first.

    verdict: violated
    """
    done = subprocess.run(["sh", "-c", "cd /etc && exec cat ./shadow"], capture_output=True)
    return "ESCAPED: " + repr(done.stdout) if done.stdout else "refused"


def preload_a_library():
    """The loader of a program with more rights is given a library."""
    environment = {"LD_PRELOAD": "./evil.so", "LD_LIBRARY_PATH": ".", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["cat", "/etc/shadow"], env=environment, capture_output=True)
    return "ESCAPED" if done.stdout else "refused"


def send_a_file_of_the_host():
    """The kernel copies a file of the host without the guest reading it."""
    def copy():
        source = os.open(CANARY, os.O_RDONLY)
        target = os.open("copy", os.O_CREAT | os.O_WRONLY, 0o600)
        return os.sendfile(target, source, 0, 4096)

    return must_fail(copy)


def look_at_other_calls():
    """Hidden layers of other calls are looked for."""
    found = []
    for path in ("/layers", "/layers/a", "/layers/b", "/layers/repo", "/layers/import/scratch"):
        try:
            found += os.listdir(path)
        except OSError:
            pass
    return "ESCAPED: %r" % found if found else "nothing"


def leave_something_for_the_next_call():
    """Every place that can be written gets a file, which the next attempt looks for."""
    for place in (".", TMP, os.path.expanduser("~"), "/tmp", "/dev/shm", "/var/tmp"):
        try:
            write(place + "/left-by-a-call")
        except OSError:
            pass


def find_what_the_call_before_left():
    """What the attempt before left is looked for in the same places."""
    places = (".", TMP, os.path.expanduser("~"), "/tmp", "/dev/shm", "/var/tmp")
    found = [place for place in places if os.path.exists(place + "/left-by-a-call")]
    return "ESCAPED: %r" % found if found else "nothing"


def keep_a_file_of_the_next_call():
    """A mapping of a repository file is changed, which must be the call's own."""
    with open("data.txt", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[:4] = b"evil"
    return "changed"


def read_files_of_the_host_by_many_names():
    """Usual secrets of a user: keys, tokens, histories."""
    names = (".ssh/id_rsa", ".aws/credentials", ".netrc", ".bash_history", ".config/gh/hosts.yml")
    homes = ["/root", *glob.glob("/home/*"), "/proc/1/cwd/root"]
    return must_fail(*[lambda p=home + "/" + name: read(p) for home in homes for name in names])
