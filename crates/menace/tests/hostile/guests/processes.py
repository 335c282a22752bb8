"""Reaches for other processes, and for a life after the call."""

import atexit
import ctypes
import fcntl
import os
import resource
import signal
import socket
import subprocess
import threading
import time

from hostile_tools import *


def fine():
    return "fine"


def kill_init():
    """PID 1 of the sandbox is killed, stopped and asked to end.

    verdict: violated
    """
    return must_fail(*[lambda n=n: os.kill(1, n) for n in (9, 19, 15, 1)])


def kill_the_zygote():
    """The parent is killed, stopped and asked to end.

    verdict: violated
    """
    return must_fail(*[lambda n=n: os.kill(os.getppid(), n) for n in (9, 19, 15, 1)])


def kill_everything():
    """All processes are signalled at once.

    verdict: violated
    """
    return must_fail(lambda: os.kill(-1, 9), lambda: os.killpg(os.getpgid(os.getppid()), 9))


def kill_by_thread():
    """Single threads of init and zygote are signalled."""
    for pid in (1, os.getppid()):
        for name, arguments in (("tgkill", (pid, pid, 9)), ("tkill", (pid, 9))):
            answer, _ = system_call(name, *arguments)
            if answer == 0:
                return "ESCAPED"
    return "refused"


def kill_by_descriptor():
    """Init and zygote are signalled through descriptors of processes."""
    def signal_it(pid):
        signal.pidfd_send_signal(os.pidfd_open(pid), 9)

    return must_fail(lambda: signal_it(1), lambda: signal_it(os.getppid()))


def kill_by_queue():
    """Signals with a value are queued to init and zygote."""
    info = ctypes.create_string_buffer(128)
    for pid in (1, os.getppid()):
        if system_call("rt_sigqueueinfo", pid, 9, info)[0] == 0:
            return "ESCAPED"
        if system_call("rt_tgsigqueueinfo", pid, pid, 9, info)[0] == 0:
            return "ESCAPED"
    return "refused"


def kill_processes_of_the_host():
    """Every number that a process may have is signalled."""
    own = {os.getpid()}
    reached = []
    for pid in range(2, 40000):
        if pid not in own:
            try:
                os.kill(pid, 0)
                reached.append(pid)
            except OSError:
                pass
    return "ESCAPED: %r" % reached if reached else "no process"


def signal_through_a_descriptor():
    """A descriptor is set to signal the parent when data arrives.

    verdict: violated
    """
    one, other = socket.socketpair()
    fcntl.fcntl(one, 10, 9)
    try:
        fcntl.fcntl(one, fcntl.F_SETOWN, os.getppid())
        fcntl.fcntl(one, fcntl.F_SETFL, fcntl.fcntl(one, fcntl.F_GETFL) | os.O_ASYNC)
    except OSError:
        pass
    other.send(b"!")


def signal_through_a_lease():
    """A lease of a file makes a process be signalled by whatever opens it next."""
    fd = os.open("data.txt", os.O_RDONLY)
    return must_fail(lambda: fcntl.fcntl(fd, fcntl.F_SETOWN, 1))


def trace_the_zygote():
    """The parent is attached to as debuggers do.

    verdict: violated
    """
    for request in (16, 0x4206):
        answer, _ = system_call("ptrace", request, os.getppid(), 0, 0)
        if answer == 0:
            return "ESCAPED"
    return "refused"


def be_traced_by_the_zygote():
    """The parent is made the tracer of this process.

    verdict: violated
    """
    return "ESCAPED" if system_call("ptrace", 0, 0, 0, 0)[0] == 0 else "refused"


def read_memory_of_the_zygote():
    """The parent's memory is read and written by system calls.

    verdict: violated
    """
    buffer = ctypes.create_string_buffer(8)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
    remote = (ctypes.c_void_p * 2)(id(os), 8)
    for name in ("process_vm_readv", "process_vm_writev"):
        answer, _ = system_call(name, os.getppid(), local, 1, remote, 1, 0)
        if answer > 0:
            return "ESCAPED"
    return "refused"


def take_descriptors_of_the_zygote():
    """Descriptors of the parent are copied."""
    try:
        process = os.pidfd_open(os.getppid())
    except OSError:
        return "refused"
    for fd in range(64):
        if system_call("pidfd_getfd", process, fd, 0)[0] >= 0:
            return "ESCAPED"
    return "refused"


def lower_limits_of_the_zygote():
    """Resource limits of the parent and of PID 1 are lowered."""
    def lower(pid):
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0))

    return must_fail(lambda: lower(os.getppid()), lambda: lower(1))


def change_priorities_of_others():
    """Priority, scheduling and processors of the parent are changed."""
    parent = os.getppid()
    return must_fail(
        lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
        lambda: os.sched_setscheduler(parent, os.SCHED_IDLE, os.sched_param(0)),
        lambda: os.sched_setaffinity(1, {0}),
    )


def raise_its_own_priority():
    """The process makes itself more important than any other."""
    return must_fail(
        lambda: os.setpriority(os.PRIO_PROCESS, 0, -20),
        lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99)),
    )


def raise_its_own_limits():
    """Hard limits are raised."""
    infinity = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    names = ("RLIMIT_NOFILE", "RLIMIT_DATA", "RLIMIT_NPROC", "RLIMIT_CPU", "RLIMIT_CORE")
    which = [getattr(resource, name) for name in names]
    finite = [it for it in which if resource.getrlimit(it)[1] != resource.RLIM_INFINITY]
    return must_fail(*[lambda it=it: resource.setrlimit(it, infinity) for it in finite])


def become_root():
    """Other users and groups are taken on."""
    return must_fail(
        lambda: os.setresuid(0, 0, 0) if os.getuid() else os.setgroups([0, 1]),
        lambda: os.setgroups([0, 6]),
        lambda: os.chroot(TMP),
    )


def get_capabilities_back():
    """All capabilities are asked for."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    return "ESCAPED" if system_call("capset", header, data)[0] == 0 else "refused"


def make_namespaces():
    """New namespaces would give all capabilities.

    verdict: violated
    """
    for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x2000000):
        if system_call("unshare", flag)[0] == 0:
            return "ESCAPED"
    return "refused"


def make_namespaces_by_cloning():
    """The same by `clone` and `clone3`, whose arguments a filter cannot all see."""
    arguments = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)
    answer = system_call("clone3", arguments, 88)[0]
    if answer == 0:
        os._exit(0)
    other = system_call("clone", 0x10000000 | 17, 0, 0, 0, 0)[0]
    if other == 0:
        os._exit(0)
    return "ESCAPED" if answer > 0 or other > 0 else "refused"


def become_a_child_of_init():
    """A process whose parent is the zygote is cloned, past the call."""
    pid = system_call("clone", 0x8000 | 17, 0, 0, 0, 0)[0]
    if pid == 0:
        forever()


def leave_a_daemon():
    """A daemon with a session of its own goes on."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.closerange(0, 1024)
            forever()
        os._exit(0)
    os.wait()


def leave_a_program():
    """A program in a session of its own goes on."""
    subprocess.Popen(["sleep", "3600"], start_new_session=True)


def leave_a_stopped_process():
    """A child that has stopped itself receives no signal but one."""
    if os.fork() == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
        forever()


def leave_a_process_of_a_thread():
    """A thread forks while the call ends."""
    def work():
        while True:
            if os.fork() == 0:
                time.sleep(3600)
            time.sleep(0.001)

    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.02)


def leave_processes_that_fork():
    """Children that replace themselves all the time race against being killed.

    timeout: 800
    verdict: returned violated timed_out
    """
    for _ in range(4):
        if os.fork() == 0:
            while True:
                try:
                    if os.fork():
                        os._exit(0)
                except OSError:
                    pass
    time.sleep(0.1)


def leave_a_vforked_process():
    """A parent that waits in `vfork` cannot be killed by polite signals."""
    subprocess.Popen(["sleep", "3600"], close_fds=True)
    if os.fork() == 0:
        os.posix_spawn("/bin/sleep", ["sleep", "3600"], {}, setsid=True)
        os._exit(0)


def adopt_orphans():
    """The process makes itself the one that adopts orphans, instead of init."""
    libc.prctl(36, 1, 0, 0, 0)
    if os.fork() == 0:
        if os.fork() == 0:
            forever()
        os._exit(0)
    os.wait()


def disguise_a_process():
    """A child with a misleading name goes on."""
    if os.fork() == 0:
        libc.prctl(15, b") R 1 1 (", 0, 0, 0)
        forever()


def fork_at_exit():
    """A hook forks when the interpreter ends."""
    atexit.register(lambda: os.fork() or forever())


def ignore_the_death_of_its_parent():
    """The signal that the parent's death sends is switched off.

    verdict: returned violated
    """
    libc.prctl(1, 0, 0, 0, 0)
    if os.fork() == 0:
        libc.prctl(1, 0, 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
        forever()


def leave_shared_memory():
    """Shared memory of System V outlives its process; a marker is left in it.

    verdict: returned violated
    """
    answer, _ = system_call("shmget", 0x6D656E61, 4096, 0o1666)
    if answer >= 0:
        system_call("shmctl", answer, 12, 0)


def find_shared_memory():
    """What the attempt before left, or other programs of the host have, is looked for.

    verdict: returned violated
    """
    answer, _ = system_call("shmget", 0x6D656E61, 0, 0)
    return "ESCAPED" if answer >= 0 else "nothing"


def leave_semaphores_and_queues():
    """Semaphores and message queues of System V outlive their process.

    verdict: returned violated
    """
    system_call("semget", 0x6D656E61, 1, 0o1666)
    system_call("msgget", 0x6D656E61, 0o1666)


def find_semaphores_and_queues():
    """What the attempt before left is looked for.

    verdict: returned violated
    """
    found = [system_call("semget", 0x6D656E61, 0, 0)[0], system_call("msgget", 0x6D656E61, 0)[0]]
    return "ESCAPED: %r" % found if max(found) >= 0 else "nothing"


def leave_a_message_queue():
    """A message queue of POSIX outlives its process.

    verdict: returned violated
    """
    system_call("mq_open", b"menace-hostile", os.O_CREAT | os.O_RDWR, 0o666, 0)


def find_a_message_queue():
    """What the attempt before left is looked for.

    verdict: returned violated
    """
    answer, _ = system_call("mq_open", b"menace-hostile", os.O_RDWR, 0, 0)
    return "ESCAPED" if answer >= 0 else "nothing"


def leave_a_key():
    """A key in the kernel's rings outlives its process.

    verdict: violated
    """
    answer, _ = system_call("add_key", b"user", b"menace", b"x", 1, -4)
    return "ESCAPED" if answer >= 0 else "refused"


def leave_a_named_semaphore():
    """A file in shared memory outlives its process on a host."""
    try:
        write("/dev/shm/sem.menace-hostile")
    except OSError:
        pass


def leave_an_abstract_socket():
    """A socket with a name in the kernel is kept by a child."""
    try:
        one = socket.socket(socket.AF_UNIX)
        one.bind("\0menace-hostile")
        one.listen()
    except OSError:
        return "refused"
    if os.fork() == 0:
        forever()


def find_an_abstract_socket():
    """The socket of the attempt before is connected to."""
    return must_fail(lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0menace-hostile"))


def leave_a_timer():
    """Timers and alarms are set for after the call."""
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))


def mark_shared_memory():
    """Memory that is shared with the zygote gets a mark at its end."""
    for _, end in shared_mappings():
        ctypes.memmove(end - 32, b"menace-hostile", 14)
    mailbox()[-64:-50] = b"menace-hostile"


def find_marked_shared_memory():
    """The mark that the attempt before left is looked for."""
    ends = [ctypes.string_at(end - 64, 64) for _, end in shared_mappings()]
    is_marked = any(b"menace-hostile" in end for end in [*ends, mailbox()[-64:]])
    return "ESCAPED" if is_marked else "nothing"


def load_a_module_of_the_kernel():
    """A module is loaded into the kernel.

    verdict: violated
    """
    fd = os.open("data.txt", os.O_RDONLY)
    for name, arguments in (("init_module", (0, 0, b"")), ("finit_module", (fd, b"", 0))):
        if system_call(name, *arguments)[0] == 0:
            return "ESCAPED"
    return "refused"


def list_processes():
    """Processes of the host are listed."""
    if not os.path.isdir("/proc"):
        return "no list"
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return "no list"
    return "ESCAPED: %r" % numbers if len(numbers) > 8 else "its own"
