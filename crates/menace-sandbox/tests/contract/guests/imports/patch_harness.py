"""Changes the harness while it is imported, as the variable PATCH says."""

import ctypes
import os
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
        progress.ending, progress.error = "returned", None
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


def fail():
    raise RuntimeError("on purpose")


globals()[os.environ["PATCH"]]()
