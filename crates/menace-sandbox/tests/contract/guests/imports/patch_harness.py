"""Changes the harness while it is imported, as the variable PATCH says."""

import ctypes
import os
import signal
import sys


def find(kind, wanted):
    """A variable of a frame below: the zygote, or the names of a module of the harness."""
    frame = sys._getframe()
    while frame is not None:
        if kind == "module" and frame.f_globals.get("__name__") == wanted:
            return frame.f_globals
        for found in frame.f_locals.values() if kind == "object" else ():
            if type(found).__name__ == wanted:
                return found
        frame = frame.f_back
    raise LookupError(wanted)


def lying_publish(zygote, progress, description_limits):
    value = {"type": "str", "repr": "'forged'", "hash": None, "value": "forged", "length": 6}
    report = {"kind": "returned", "stage": "call", "value": value, "exception": None}
    zygote.mailbox.post_full(report)


def patch_code():
    find("module", "runtime.child")["publish"].__code__ = lying_publish.__code__


def patch_global():
    names = find("module", "runtime.child")
    genuine = names["build_short_report"]

    def lying_short(progress, description_limits, zygote):
        progress.result_kind, progress.error = "returned", None
        return genuine(progress, description_limits, zygote)

    names["build_short_report"] = lying_short


def patch_default():
    find("module", "runtime.child")["publish"].__defaults__ = (None,)


def patch_builtin():
    genuine = find("module", "runtime.child")["__builtins__"]
    genuine["issubclass"] = lambda one, other: False


def patch_class():
    zygote = find("object", "Zygote")
    type(zygote.mailbox).report_violation = lambda *_: None


def patch_object():
    zygote = find("object", "Zygote")
    zygote.ops["fork_ahead"] = lambda message, genuine=zygote.ops["fork_ahead"]: genuine(message)


def add_audit_hook():
    sys.addaudithook(lambda event, args: None)


def map_mailbox():
    """Maps the mailbox a second time, at an address of its own."""
    mailbox = find("object", "Zygote").mailbox
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mremap.restype = ctypes.c_void_p
    at = ctypes.addressof(ctypes.c_char.from_buffer(mailbox.map))
    made = libc.mremap(ctypes.c_void_p(at), ctypes.c_size_t(0), ctypes.c_size_t(mailbox.size), 1)
    assert made not in (None, ctypes.c_void_p(-1).value), "the mailbox cannot be mapped again"


def patch_in_forks():
    """What is changed is changed in each call's process only, before it begins."""

    def change():
        from_harness["publish"].__code__ = lying_publish.__code__

    from_harness = find("module", "runtime.child")
    os.register_at_fork(after_in_child=change)


def patch_before_forks():
    def change():
        from_harness["publish"].__code__ = lying_publish.__code__

    from_harness = find("module", "runtime.child")
    os.register_at_fork(before=change)


def patch_in_disguise():
    """By a function that says that it is one of the standard library."""

    def change():
        from_harness["publish"].__code__ = lying_publish.__code__

    from_harness = find("module", "runtime.child")
    change.__code__ = change.__code__.replace(co_filename=os.__file__)
    change.__module__, change.__qualname__ = "threading", "_after_fork"
    os.register_at_fork(after_in_child=change)


def patch_in_parents():
    """The interpreter says once, after each fork, that the call has ended with status 0."""
    os.register_at_fork(after_in_parent=lie_once)


def patch_in_parents_in_c():
    after_forks_in_c(lie_once)


def lose_status_in_c():
    """The kernel keeps no exit status for this process: Python does not know of that."""
    after_forks_in_c(lambda: ctypes.CDLL(None).signal(int(signal.SIGCHLD), 1))


def lie_once():
    names = find("module", "runtime.zygote")
    genuine = names["wait4"]
    if genuine.__name__ != "wait4":
        return

    def wait4(pid, options):
        names["wait4"] = genuine
        _, _, usage = genuine(pid, options)
        return pid, 0, usage

    wait4.__name__ = "lying"
    names["wait4"] = wait4


def after_forks_in_c(function):
    """Runs in the parent whenever it forks, and is in no list of Python's."""
    kept.append(ctypes.CFUNCTYPE(None)(function))
    ctypes.CDLL(None)["__register_atfork"](None, kept[-1], None, None)


def read_in_forks():
    def read():
        try:
            open("/etc/shadow").close()
        except OSError:
            pass

    os.register_at_fork(before=read)


def watch_forks():
    os.register_at_fork(after_in_child=fine)


def fine():
    return "fine"


def forge_and_die():
    lying_publish(find("object", "Zygote"), None, None)
    die()


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def fail():
    raise RuntimeError("on purpose")


kept = []
globals()[os.environ["PATCH"]]()
