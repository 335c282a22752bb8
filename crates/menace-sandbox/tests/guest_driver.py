"""Plays the init for the guest harness and checks what comes back. Standard library only.

    python guest_driver.py PYTHON_UNDER_TEST [part of a case's name]

Prints a line for each failed case and `N passed, N failed` at the end; the exit code follows.
Each case is one function whose name states a fact.
"""

import errno
import fcntl
import marshal
import math
import mmap
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback

HARNESS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest")
SIZE = 1 << 20
CAPS = {"repr": 2000, "items": 100, "depth": 20, "message": 1000, "frames": 20}
PATIENCE = 20.0
CASES = []


def case(function):
    """Registers a case."""
    CASES.append(function)
    return function


class Guest:
    """One warm interpreter with the harness in it."""

    def __init__(self, python, files=None, module=None, path=None, start=None, **setup):
        self.home = tempfile.mkdtemp(prefix="menace-guest-")
        self.nonce = 0
        for name, text in (files or {}).items():
            target = os.path.join(self.home, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(textwrap.dedent(text))
        self.socket, theirs = socket.socketpair()
        self.go, go = socket.socketpair()
        box = os.memfd_create("mailbox")
        os.ftruncate(box, SIZE)
        self.box = mmap.mmap(box, SIZE)
        handed = [fcntl.fcntl(fd, fcntl.F_DUPFD, 900) for fd in (theirs.fileno(), go.fileno(), box)]
        self.output, written = os.pipe()
        self.process = subprocess.Popen(
            [python, *(start or ["-I", "-B"]), os.path.join(HARNESS, "__main__.py")]
            + [str(fd) for fd in handed]
            + [str(SIZE)],
            pass_fds=handed,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            cwd=self.home,
        )
        theirs.close()
        for fd in [go.detach(), box, written, *handed]:
            os.close(fd)
        os.set_blocking(self.output, False)
        self.printed = b""
        self.imported = None
        message = {
            "op": "setup",
            "repo": self.home,
            "sys_path": [self.home],
            "roots": [self.home, "/dev/null"],
            "write_roots": [self.home],
            "seed": 7,
            "freeze_time": None,
            "caps": CAPS,
        }
        message.update(setup)
        self.ready = self.ask(message)
        if module is not None:
            self.import_(module, path)

    def send(self, message):
        body = marshal.dumps(message, 2)
        self.socket.sendall(b"MNC1" + len(body).to_bytes(4, "little") + body)

    def receive(self, patience=PATIENCE):
        header = self._exactly(8, patience)
        assert header[:4] == b"MNC1", header
        return marshal.loads(self._exactly(int.from_bytes(header[4:], "little"), patience))

    def _exactly(self, count, patience):
        data = b""
        end = time.monotonic() + patience
        while len(data) < count:
            left = end - time.monotonic()
            ready, _, _ = select.select([self.socket, self.output], [], [], max(0, left))
            if self.output in ready and not self._drain():
                ready, _, _ = select.select([self.socket], [], [], max(0, left))
            if self.socket in ready:
                chunk = self.socket.recv(count - len(data))
                if not chunk:
                    raise EOFError("the harness is gone: " + self.text())
                data += chunk
            elif left <= 0:
                raise TimeoutError("no answer: " + self.text())
        return data

    def _drain(self):
        try:
            chunk = os.read(self.output, 1 << 16)
        except BlockingIOError:
            return True
        self.printed += chunk
        return bool(chunk)

    def text(self):
        """All that was printed so far."""
        while select.select([self.output], [], [], 0)[0] and self._drain():
            if not select.select([self.output], [], [], 0)[0]:
                break
        return self.printed.decode("utf-8", "replace")

    def ask(self, message):
        self.send(message)
        return self.receive()

    def report(self):
        """The phase, the short and the full report."""
        assert self.box[:4] == b"MNB1", self.box[:4]
        assert int.from_bytes(self.box[16:24], "little") == self.nonce
        short = int.from_bytes(self.box[8:12], "little")
        full = int.from_bytes(self.box[12:16], "little")
        assert short <= 65536 - 64 and full <= SIZE - 65536
        return (
            self.box[4],
            marshal.loads(self.box[64 : 64 + short]) if short else None,
            marshal.loads(self.box[65536 : 65536 + full]) if full else None,
        )

    def _clear(self):
        self.nonce += 1
        self.box[:64] = b"MNB1\x01" + bytes(11) + self.nonce.to_bytes(8, "little") + bytes(40)

    def import_(self, module, path=None, caps=None):
        self._clear()
        self.imported = self.ask(
            {
                "op": "import",
                "module": module,
                "path": path,
                "nonce": self.nonce,
                "caps": dict(CAPS, **(caps or {})),
            }
        )
        return self.report()[2]

    def start_call(self, name, args=(), how="function", receiver=None, **more):
        module, _, qualname = name.partition(":")
        self._clear()
        self.message = {
            "nonce": self.nonce,
            "target": {
                "module": module,
                "path": more.pop("path", None),
                "qualname": qualname,
                "how": how,
            },
            "receiver": receiver,
            "args": list(args),
            "kwargs": more.pop("kwargs", []),
            "seed": more.pop("seed", 3),
            "cwd": more.pop("cwd", self.home),
            "caps": dict(CAPS, **more.pop("caps", {})),
            "plain": more.pop("plain", False),
        }
        rlimits = more.pop("rlimits", [])
        assert not more, more
        forked = self.ask({"op": "prepare"})
        assert forked["op"] == "forked", forked
        for number, soft, hard in rlimits:
            resource.prlimit(forked["pid"], number, (soft, hard))
        return forked

    def let_go(self):
        """Gives the process that was forked its call."""
        body = marshal.dumps(self.message, 2)
        self.go.sendall(b"MNC1" + len(body).to_bytes(4, "little") + body)

    def call(self, name, args=(), how="function", receiver=None, **more):
        """The full report of a call that ends by itself."""
        forked = self.start_call(name, args, how, receiver, **more)
        assert "pid" in forked, forked
        self.let_go()
        self.exited = self.receive()
        assert self.exited["op"] == "exited" and self.exited["pid"] == forked["pid"]
        phase, short, full = self.report()
        self.phase, self.short = phase, short
        assert phase == 3, (phase, short, self.exited, self.text())
        assert self.exited["status"] == 0, self.exited
        return full

    def call_and_kill(self, name, seconds, args=(), **more):
        """The mailbox of a call that is killed after a while, if it does not end before."""
        forked = self.start_call(name, args, **more)
        self.let_go()
        try:
            self.exited = self.receive(seconds)
        except TimeoutError:
            os.kill(forked["pid"], signal.SIGKILL)
            self.exited = self.receive()
        return self.report()

    def close(self):
        self.socket.close()
        try:
            code = self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self.go.close()
            os.close(self.output)
            self.box.close()
            shutil.rmtree(self.home, ignore_errors=True)
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


PYTHON = None
VERSION = None


def guest(text="", module="m", **more):
    """A guest whose module `m` has this text, already imported."""
    files = dict(more.pop("files", {}))
    files[module + ".py"] = text
    return Guest(PYTHON, files, module, **more)


def result_of(text, args=(), name="f", **more):
    """The report of calling `f` of a module with this text."""
    with guest(text) as one:
        return one.call("m:" + name, args, **more)


def loaded_anyway():
    """The modules that this Python loads by itself, `.pth` files included."""
    script = "import sys; print(*sys.modules)"
    return set(subprocess.check_output([PYTHON, "-I", "-B", "-c", script]).decode().split())


def equal(found, expected, what=""):
    assert found == expected, f"{what}: expected {expected!r}, found {found!r}"


# ---------------------------------------------------------------- start, import, sweep


@case
def the_harness_says_which_python_it_is():
    with Guest(PYTHON) as one:
        equal(one.ready["op"], "ready")
        assert tuple(one.ready["version"][:2]) == VERSION


@case
def the_harness_ends_when_the_init_is_gone():
    one = Guest(PYTHON)
    equal(one.close(), 0)


@case
def nonsense_on_the_wire_ends_the_harness():
    one = Guest(PYTHON)
    one.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
    equal(one.close(), 71)


@case
def an_import_is_reported_in_the_mailbox():
    with guest("x = 1") as one:
        phase, _, full = one.report()
        equal(phase, 3)
        equal((full["kind"], full["stage"], full["exception"]), ("returned", "import", None))
        assert one.imported["ok"] is True and one.imported["keeps"] == []
        assert full["wall_ns"] > 0
        equal(full["descriptors_left"], [])


@case
def a_failing_import_is_data():
    with guest("import os\nraise ValueError('at import')") as one:
        full = one.report()[2]
        assert one.imported["ok"] is False
        equal((full["kind"], full["stage"]), ("raised", "import"))
        error = full["exception"]
        equal((error["type"], error["message"]), ("ValueError", "at import"))
        equal([(f["line"], f["function"]) for f in error["frames"]], [(2, "<module>")])


@case
def a_syntax_error_has_its_place():
    with guest("x = 1\ndef f(:\n    pass\n") as one:
        error = one.report()[2]["exception"]
        equal(error["type"], "SyntaxError")
        last = error["frames"][-1]
        assert last["file"].endswith("/m.py") and last["line"] == 2, last


@case
def an_import_that_exits_is_exited():
    with guest("import sys\nsys.exit(3)") as one:
        full = one.report()[2]
        equal((full["kind"], full["exception"]["code"]), ("exited", 3))
        assert one.imported["ok"] is False


@case
def a_missing_module_is_reported():
    with Guest(PYTHON) as one:
        full = one.import_("not_there")
        equal((full["kind"], full["exception"]["type"]), ("raised", "ModuleNotFoundError"))


@case
def a_file_without_an_importable_name_is_loaded_from_its_path():
    files = {"scripts/my-tool.py": "def f():\n    return __name__\n"}
    with Guest(PYTHON, files) as one:
        path = one.home + "/scripts/my-tool.py"
        full = one.import_("scripts.my-tool", path)
        equal(full["kind"], "returned")
        equal(one.call("scripts.my-tool:f", path=path)["value"]["value"], "scripts.my-tool")


@case
def a_script_without_suffix_is_loaded_from_its_path():
    with Guest(PYTHON, {"bin/tool": "def f():\n    return 5\n"}) as one:
        path = one.home + "/bin/tool"
        equal(one.import_("bin.tool", path)["kind"], "returned")
        equal(one.call("bin.tool:f", path=path)["value"]["value"], 5)


@case
def a_path_that_its_name_leads_to_is_imported_by_name():
    files = {
        "pkg/__init__.py": "order = ['pkg']\n",
        "pkg/sub.py": "from . import order\norder.append('sub')\ndef f():\n    return order\n",
    }
    with Guest(PYTHON, files) as one:
        path = one.home + "/pkg/sub.py"
        equal(one.import_("pkg.sub", path)["kind"], "returned")
        equal(one.call("pkg.sub:f", path=path)["value"]["value"], ("l", ["pkg", "sub"]))


@case
def a_file_named_like_a_loaded_module_does_not_replace_it():
    with Guest(PYTHON, {"os.py": "def f():\n    import os\n    return os.sep\n"}) as one:
        path = one.home + "/os.py"
        equal(one.import_("os", path)["kind"], "returned")
        equal(one.call("os:f", path=path)["value"]["value"], "/")


@case
def the_main_guard_is_not_triggered():
    text = "ran = False\nif __name__ == '__main__':\n    ran = True\ndef f():\n    return ran\n"
    with Guest(PYTHON, {"__main__.py": text}) as one:
        path = one.home + "/__main__.py"
        equal(one.import_("__main__", path)["kind"], "returned")
        equal(one.call("__main__:f", path=path)["value"]["value"], False)


@case
def an_import_inside_a_package_that_fails_passes_on_the_packages_error():
    files = {"pkg/__init__.py": "1 / 0\n", "pkg/sub.py": "x = 1\n"}
    with Guest(PYTHON, files) as one:
        full = one.import_("pkg.sub", one.home + "/pkg/sub.py")
        equal(full["exception"]["type"], "ZeroDivisionError")


@case
def prints_of_the_import_appear_once():
    with guest("print('hello from import')\ndef f():\n    print('hello from f')") as one:
        one.call("m:f")
        one.call("m:f")
        equal(one.text().count("hello from import"), 1)
        equal(one.text().count("hello from f"), 2)


@case
def an_import_that_forks_leaves_one_zygote():
    with guest("import os\nos.fork()\ndef f():\n    return 1\n") as one:
        equal(one.call("m:f")["value"]["value"], 1)


@case
def a_sweep_outside_a_namespace_of_its_own_is_refused():
    with Guest(PYTHON) as one:
        if one.process.pid and os.getpid() != 1:
            equal(one.ask({"op": "sweep"}), {"op": "swept", "errno": errno.EPERM})


@case
def a_sweep_leaves_no_process():
    tool = shutil.which("unshare")
    works = tool and subprocess.call([tool, "-pf", "true"], stderr=subprocess.DEVNULL) == 0
    if not works:
        return
    inner = [tool, "-pf", sys.executable, os.path.abspath(__file__), PYTHON, "--as-init"]
    done = subprocess.Popen(inner, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    told, _ = done.communicate(timeout=60)
    assert b"swept clean" in told, told.decode()


def as_init():
    """Runs as PID 1 of a namespace: a call leaves a daemon behind and the sweep ends it."""
    text = """
        import os, time
        def f():
            for _ in range(3):
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(60)
            return os.getpid()
    """
    assert os.getpid() == 1
    one = guest(text)
    equal(one.call("m:f")["kind"], "returned")
    equal(one.ask({"op": "sweep"}), {"op": "swept"})
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            raise AssertionError("the harness itself is gone")
        if pid == 0:
            break
    equal(one.call("m:f")["kind"], "returned")
    equal(one.ask({"op": "sweep"}), {"op": "swept"})
    print("swept clean")
    os._exit(0)


# ---------------------------------------------------------------- what the import keeps


def keeps_of(text):
    with guest(text) as one:
        return one.imported["keeps"]


@case
def a_plain_import_keeps_nothing():
    text = """
        import os
        kept = open(os.devnull), open('/dev/urandom', 'rb'), os.open('/', 0), open(__file__)
    """
    equal(keeps_of(text), [])


@case
def a_thread_is_kept():
    text = """
        import threading, time
        threading.Thread(target=time.sleep, args=(60,), name='ticker', daemon=True).start()
    """
    equal(keeps_of(text), ["thread ticker"])


@case
def a_child_process_is_kept_but_a_zombie_is_not():
    text = """
        import os
        pid = os.posix_spawn('/bin/true', ['true'], {})
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    """
    equal(keeps_of(text), [])
    text = "import os, time\nif os.fork() == 0:\n    time.sleep(0.5)\n    os._exit(0)\n"
    equal(keeps_of(text), ["child process"])


@case
def pipes_and_sockets_are_kept():
    kept = keeps_of("import os, socket\np = os.pipe()\ns = socket.socket()\n")
    equal(sorted(text.split()[0] for text in kept), ["pipe", "pipe", "socket"])


@case
def an_event_loop_is_kept():
    kept = keeps_of("import asyncio\nloop = asyncio.new_event_loop()\n")
    assert any(text.startswith("eventpoll") for text in kept), kept


@case
def shared_memory_is_kept():
    kept = keeps_of("import mmap\nm = mmap.mmap(-1, 4096)\n")
    assert len(kept) == 1 and kept[0].startswith("shared mapping"), kept


@case
def an_unlinked_file_is_kept():
    kept = keeps_of("import tempfile\nf = tempfile.TemporaryFile()\n")
    assert len(kept) == 1 and kept[0].startswith("unlinked file"), kept


@case
def each_call_has_its_own_place_in_a_file_left_open():
    text = """
        log = open('log.txt', 'w', buffering=1)
        log.write('import\\n')
        def f():
            log.write('called\\n')
            return log.tell()
    """
    with guest(text) as one:
        first = one.call("m:f")
        second = one.call("m:f")
        equal(first["value"]["value"], second["value"]["value"])
        equal(first["notes"], [])
        with open(one.home + "/log.txt") as file:
            equal(file.read(), "import\ncalled\n")


# ---------------------------------------------------------------- calling


@case
def a_function_is_called_with_arguments():
    full = result_of("def f(a, b=2, *, c):\n    return a + b + c", [1], kwargs=[["c", 10]])
    equal((full["kind"], full["stage"]), ("returned", "call"))
    equal(full["value"]["value"], 13)
    equal(full["value"]["repr"], "13")
    equal(full["value"]["type"], "int")
    equal(len(full["value"]["hash"]), 32)
    assert full["wall_ns"] > 0 and full["exception"] is None


@case
def calls_do_not_see_each_other():
    with guest("seen = []\ndef f():\n    seen.append(1)\n    return len(seen)") as one:
        for _ in range(3):
            equal(one.call("m:f")["value"]["value"], 1)


CLASSES = """
    import functools
    class A:
        def __init__(self, n=1):
            self.n = n
        def m(self, k):
            return ('A.m', self.n, k)
        def __secret(self):
            return 'secret'
        @classmethod
        def c(cls, k):
            return (cls.__name__, k)
        @staticmethod
        def s(k):
            return k
        @property
        def p(self):
            return self.n * 2
        @functools.lru_cache()
        def cached(self):
            return 'cached'
        class B:
            class C:
                def deep(self):
                    return 'deep'
    class Sub(A):
        def m(self, k):
            return 'Sub.m'
    def wrapper(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return ('wrapped', f(*args, **kwargs))
        return inner
    @wrapper
    def w(k):
        return k
    def outer():
        def inner():
            pass
    not_callable = 5
"""


def new(name, *args):
    return ("n", name, list(args), [])


@case
def methods_properties_and_nested_classes_are_called():
    with guest(CLASSES) as one:

        def value(*args, **more):
            return one.call(*args, **more)["value"]["value"]

        equal(value("m:A.m", [5], "method", new("m:A", 9)), ("t", ["A.m", 9, 5]))
        equal(value("m:A.p", [], "property", new("m:A", 9)), 18)
        equal(value("m:A.c", [5], "class_method"), ("t", ["A", 5]))
        equal(value("m:A.s", [5], "static_method"), 5)
        equal(value("m:A.B.C.deep", [], "method", new("m:A.B.C")), "deep")
        equal(value("m:A.__secret", [], "method", new("m:A")), "secret")
        equal(value("m:A.cached", [], "method", new("m:A")), "cached")
        equal(value("m:w", [5]), ("t", ["wrapped", 5]))


@case
def a_method_is_the_named_one_even_on_an_instance_of_a_subclass():
    with guest(CLASSES) as one:
        full = one.call("m:A.m", [5], "method", new("m:Sub", 9))
        equal(full["value"]["value"], ("t", ["A.m", 9, 5]))


@case
def a_name_that_leads_nowhere_is_unreachable():
    with guest(CLASSES) as one:
        for name, how in (
            ("m:nothing", "function"),
            ("m:A.nothing", "method"),
            ("m:A.nothing.at_all", "function"),
            ("m:outer.<locals>.inner", "function"),
            ("m:not_callable", "function"),
        ):
            full = one.call(name, [], how, new("m:A") if how == "method" else None)
            equal((full["kind"], full["stage"]), ("unreachable", "resolve"), name)
            assert full["exception"] is not None


@case
def a_method_without_instance_is_unreachable():
    with guest(CLASSES) as one:
        full = one.call("m:A.m", [5], "method")
        equal((full["kind"], full["stage"]), ("unreachable", "construct"))


@case
def a_receiver_that_cannot_be_made_is_told_from_the_call():
    text = """
        class A:
            def __init__(self):
                raise OSError(28, 'full')
            def m(self):
                pass
        def f(a):
            pass
    """
    with guest(text) as one:
        full = one.call("m:A.m", [], "method", new("m:A"))
        equal((full["kind"], full["stage"]), ("raised", "construct"))
        equal((full["exception"]["type"], full["exception"]["errno"]), ("OSError", 28))
        full = one.call("m:f", [new("m:A")])
        equal((full["kind"], full["stage"]), ("raised", "arguments"))
        full = one.call("m:f", [("r", "m:nope")])
        equal((full["kind"], full["stage"]), ("raised", "arguments"))


@case
def wrong_arguments_are_a_type_error_of_the_call():
    full = result_of("def f():\n    pass", [1, 2])
    equal((full["kind"], full["stage"]), ("raised", "call"))
    equal(full["exception"]["type"], "TypeError")
    equal(full["exception"]["frames"], [])


@case
def a_module_is_imported_in_the_child():
    files = {"broken.py": "1 / 0\n", "fine.py": "x = 1\n"}
    with Guest(PYTHON, files) as one:
        full = one.call("fine:", how="module")
        equal((full["kind"], full["stage"], full["value"]), ("returned", "import", None))
        assert full["changed"]["modules"] >= 1
        full = one.call("broken:", how="module")
        equal((full["kind"], full["stage"]), ("raised", "import"))
        equal(full["exception"]["type"], "ZeroDivisionError")


@case
def a_call_without_a_previous_import_imports_in_the_child():
    with Guest(PYTHON, {"late.py": "def f():\n    return 4\n", "bad.py": "1 / 0\n"}) as one:
        equal(one.call("late:f")["value"]["value"], 4)
        full = one.call("bad:f")
        equal((full["kind"], full["stage"]), ("raised", "import"))


@case
def values_of_every_kind_are_built():
    cycle = ("g", 1, ("l", [1, ("v", 1)]))
    described = [
        None,
        True,
        1.5,
        "text",
        b"bytes",
        ("l", [1, ("t", [2])]),
        ("s", [1, 2]),
        ("z", [1]),
        ("d", [["a", ("l", [])]]),
        ("a", b"xy"),
        ("c", 1.0, -2.0),
        ("i", "-0x1" + "0" * 40),
        ("e",),
        ("x", ("l", [0]), 3),
        ("m", "a,b", "split", [","], []),
        ("n", "builtins:dict", [], [["k", 1]]),
    ]
    text = """
        def f(*args):
            return args
        def g(c, same):
            return c[1] is c, same is c
        def h(fn):
            return fn(1, 2, k=3), fn()
    """
    with guest(text) as one:
        full = one.call("m:f", described)
        equal(full["kind"], "returned", full)
        built = eval(full["value"]["repr"])
        expected = (
            None,
            True,
            1.5,
            "text",
            b"bytes",
            [1, (2,)],
            {1, 2},
            frozenset([1]),
            {"a": []},
            bytearray(b"xy"),
            1 - 2j,
            -(16**40),
            Ellipsis,
            [0, 0, 0],
            ["a", "b"],
            {"k": 1},
        )
        equal(built, expected)
        equal(one.call("m:g", [cycle, ("v", 1)])["value"]["value"], ("t", [True, True]))
        equal(one.call("m:h", [("f", 9)])["value"]["value"], ("t", [9, 9]))


@case
def deep_arguments_are_built():
    value = 0
    for _ in range(900):
        value = ("l", [value])
    text = "def f(v):\n    n = 0\n    while v:\n        v = v[0]\n        n += 1\n    return n"
    full = result_of(text, [value])
    equal(full["value"] and full["value"]["value"], 900, full["exception"])
    equal(full["changed"]["recursion_limit"], None)


@case
def a_callable_argument_does_not_lead_to_the_harness():
    full = result_of("def f(fn):\n    return sorted(fn.__globals__)", [("f", 1)])
    equal(full["value"]["value"], ("l", ["__builtins__", "__name__"]))


@case
def plain_arguments_are_taken_as_they_are():
    with guest("def f(a, *, b):\n    return [a, b]") as one:
        full = one.call("m:f", [1], kwargs=[["b", "x"]], plain=True)
        equal(full["value"]["value"], ("l", [1, "x"]))


@case
def malformed_calls_are_refused():
    with guest("def f():\n    return 1") as one:
        one.start_call("m:f")
        del one.message["caps"]
        one.let_go()
        equal(one.receive()["status"] >> 8, 73)
        equal(one.call("m:f")["value"]["value"], 1)


# ---------------------------------------------------------------- consuming


@case
def async_functions_run_to_their_end():
    text = "import asyncio\nasync def f(n):\n    await asyncio.sleep(0)\n    return n + 1"
    full = result_of(text, [1])
    equal((full["kind"], full["stage"], full["value"]["value"]), ("returned", "consume", 2))
    equal(full["descriptors_left"], [])


@case
def async_functions_of_modules_without_asyncio_run_too():
    with guest("async def f(n):\n    return n + 1\ndef g():\n    return f(5)") as one:
        for _ in range(2):
            full = one.call("m:f", [1])
            equal(full["value"]["value"], 2)
            equal(full["changed"]["modules"], 0)
    with guest("async def f(n):\n    return n + 1\ndef g():\n    return f(5)") as one:
        full = one.call("m:g")
        equal(full["value"]["value"], 6)
        equal(full["changed"]["modules"], 0)
        equal(full["descriptors_left"], [])


@case
def an_async_function_that_raises_leaves_no_descriptors():
    full = result_of("async def f():\n    raise KeyError('k')")
    equal((full["kind"], full["stage"]), ("raised", "consume"))
    equal(full["exception"]["message"], "'k'")
    equal([f["function"] for f in full["exception"]["frames"]], ["f"])
    equal(full["descriptors_left"], [])


@case
def pending_tasks_are_noted():
    text = """
        import asyncio
        async def f():
            asyncio.get_event_loop().create_task(asyncio.sleep(60))
            return 1
    """
    full = result_of(text)
    equal(full["value"]["value"], 1)
    assert any("pending" in note for note in full["notes"]), full["notes"]


@case
def generators_are_consumed_up_to_the_cap():
    text = """
        def f(n):
            for i in range(n):
                yield i
        def forever():
            while True:
                yield 1
        def stubborn():
            while True:
                try:
                    yield 1
                except GeneratorExit:
                    pass
        def breaks():
            yield 1
            raise ValueError('later')
    """
    with guest(text) as one:
        full = one.call("m:f", [3])
        equal((full["items"], full["more"], full["stage"]), (3, False, "consume"))
        equal((full["value"]["type"], full["value"]["repr"]), ("generator", "[0, 1, 2]"))
        equal(full["value"]["value"], ("l", [0, 1, 2]))
        full = one.call("m:forever", caps={"items": 10})
        equal((full["items"], full["more"]), (10, True))
        full = one.call("m:f", [10], caps={"items": 10})
        equal((full["items"], full["more"]), (10, False))
        full = one.call("m:stubborn", caps={"items": 2})
        equal(full["kind"], "returned")
        assert any("closing" in note for note in full["notes"]), full["notes"]
        full = one.call("m:breaks")
        equal((full["kind"], full["stage"], full["items"]), ("raised", "consume", 1))


@case
def async_generators_are_consumed_up_to_the_cap():
    text = """
        async def f(n):
            for i in range(n):
                yield i
    """
    with guest(text) as one:
        full = one.call("m:f", [3])
        equal((full["items"], full["more"]), (3, False))
        equal(full["value"]["value"], ("l", [0, 1, 2]))
        equal(full["value"]["type"], "async_generator")
        full = one.call("m:f", [1000], caps={"items": 5})
        equal((full["items"], full["more"]), (5, True))


@case
def managers_from_contextlib_are_entered_and_left_but_files_and_locks_are_not():
    text = """
        import contextlib, threading
        @contextlib.contextmanager
        def f():
            print('in')
            yield 'given'
            print('out')
        @contextlib.asynccontextmanager
        async def g():
            print('ain')
            yield 'agiven'
            print('aout')
        lock = threading.Lock()
        def l():
            return lock
        def o():
            return open(__file__)
        def it():
            return iter([1, 2])
        def state():
            return lock.locked()
    """
    with guest(text) as one:
        equal(one.call("m:f")["value"]["value"], "given")
        equal(one.call("m:g")["value"]["value"], "agiven")
        text = one.text()
        assert all(word in text for word in ("in", "out", "ain", "aout")), text
        assert "unlocked" in one.call("m:l")["value"]["repr"]
        full = one.call("m:o")
        equal(full["kind"], "returned")
        equal([what for _, what in full["descriptors_left"]], [one.home + "/m.py"])
        equal(one.call("m:it")["items"], None)


@case
def a_bare_future_is_not_waited_for():
    text = "import asyncio\ndef f():\n    return asyncio.new_event_loop().create_future()"
    equal(result_of(text)["kind"], "returned")


@case
def objects_that_can_be_awaited_are_awaited():
    text = """
        class W:
            def __await__(self):
                yield from ()
                return 'awaited'
        def f():
            return W()
    """
    equal(result_of(text)["value"]["value"], "awaited")


# ---------------------------------------------------------------- describing


def value_of(expression, **more):
    return result_of("def f():\n    return " + expression, **more)["value"]


@case
def plain_values_come_back_as_they_are():
    for expression in (
        "None",
        "True",
        "-7",
        "2**70",
        "-(2**63)",
        "1.25",
        "float('inf')",
        "'text\\ud800'",
        "b'\\x00\\xff'",
        "[1, [2, (3,)], {'a': {4}}]",
        "()",
        "set()",
        "frozenset()",
        "frozenset({1})",
        "{}",
        "...",
        "1+2j",
        "bytearray(b'x')",
    ):
        described = value_of(expression)
        expected = eval(expression)
        equal(described["repr"], repr(expected), expression)
        equal(described["truncated"], False, expression)
        equal(rebuilt(described["value"]), expected, expression)
        equal(described["type"], type(expected).__name__)
    described = value_of("float('nan')")
    assert math.isnan(described["value"]) and described["hash"]


def rebuilt(value):
    """The value of a typed copy, without cycles."""
    if type(value) is not tuple:
        return value
    tag = value[0]
    if tag == "d":
        return {rebuilt(k): rebuilt(v) for k, v in value[1]}
    if tag in "ltsz":
        kind = {"l": list, "t": tuple, "s": set, "z": frozenset}[tag]
        return kind(rebuilt(item) for item in value[1])
    return {
        "a": lambda: bytearray(value[1]),
        "c": lambda: complex(value[1], value[2]),
        "i": lambda: int(value[1], 16),
        "e": lambda: Ellipsis,
    }[tag]()


@case
def cycles_are_labelled():
    text = "def f():\n    a = [1]\n    a.append(a)\n    d = {'a': a}\n    d['d'] = d\n    return d"
    value = result_of(text)["value"]
    equal(value["repr"], "{'a': [1, [...]], 'd': {...}}")
    label_a = value["value"][2][1][0][1][1]
    label_d = value["value"][1]
    assert label_a != label_d
    expected = (
        "g",
        label_d,
        ("d", [["a", ("g", label_a, ("l", [1, ("v", label_a)]))], ["d", ("v", label_d)]]),
    )
    equal(value["value"], expected)
    assert value["hash"]


@case
def the_hash_does_not_depend_on_order_or_address():
    with guest(
        """
        class P:
            pass
        class D:
            def __init__(self, n):
                self.n = n
            def __repr__(self):
                return 'D(%d) at 0x%x end' % (self.n, id(self))
        def s(words):
            return set(words)
        def d(pairs):
            return dict(pairs)
        def p():
            junk = [P() for _ in range(50)]
            return junk[0], junk[-1]
        def e(n):
            return [object() for _ in range(n * 100)][-1]
        def r(n):
            return D(n)
        def v(value):
            return value
        """
    ) as one:

        def digest(*args):
            found = one.call(*args)["value"]["hash"]
            assert found and len(found) == 32
            return found

        words = ["alpha", "beta", "gamma", "delta"]
        equal(digest("m:s", [("l", words)]), digest("m:s", [("l", words[::-1])]))
        pairs = [("t", ["a", 1]), ("t", ["b", 2])]
        equal(digest("m:d", [("l", pairs)]), digest("m:d", [("l", pairs[::-1])]))
        equal(digest("m:e", [1]), digest("m:e", [5]))
        equal(digest("m:p", []), digest("m:p", []))
        equal(digest("m:r", [1]), digest("m:r", [1]))
        different = [0, False, 0.0, "", b"", None, ("l", []), ("t", []), ("s", []), ("d", [])]
        different += [1, "1", b"1", -0.0, ("l", [1, 2]), ("l", [2, 1]), ("l", [("l", [1]), 2])]
        different += [("l", ["a", "b"]), ("l", ["ab"]), ("l", ["a", ("l", ["b"])]), ("a", b"")]
        hashes = [digest("m:v", [value]) for value in different]
        equal(len(set(hashes)), len(different))
        assert digest("m:r", [1]) != digest("m:r", [2])
    text = "def f():\n    return {'alpha', 'beta', 'gamma'}"
    equal(result_of(text)["value"], result_of(text)["value"])


@case
def long_results_are_cut():
    value = value_of("'x' * 5000", caps={"repr": 100})
    equal(value["repr"], "'" + "x" * 99)
    equal((value["truncated"], value["length"]), (True, 5000))
    value = value_of("list(range(1000))", caps={"repr": 10, "items": 10})
    equal((value["repr"], value["value"], value["length"]), ("[0, 1, 2, ", None, 1000))
    value = value_of("[[[[1]]]]", caps={"depth": 2})
    equal((value["repr"], value["value"], value["truncated"]), ("[[[...]]]", None, True))


@case
def enormous_results_are_described_quickly_and_in_little_memory():
    for expression in (
        "'x' * 100_000_000",
        "b'x' * 100_000_000",
        "bytearray(100_000_000)",
        "[0] * 12_500_000",
        "(0,) * 12_500_000",
        "dict.fromkeys(range(300_000))",
        "set(range(300_000))",
        "[[[0] * 1000] * 1000] * 1000",
        "1 << 80_000_000",
        "-(1 << 80_000_000)",
        "__import__('array').array('b', bytes(100_000_000))",
        "type('L', (list,), {})([0]) * 12_500_000",
        "__import__('collections').deque([0] * 1_000_000)",
    ):
        with guest("def f():\n    return " + expression) as one:
            began = time.monotonic()
            full = one.call("m:f")
            took = time.monotonic() - began
            equal(full["kind"], "returned", expression)
            assert took < 3.0, (expression, took)
            assert one.exited["maxrss"] < 300_000, (expression, one.exited["maxrss"])
            assert full["value"]["truncated"] or full["notes"], expression
            assert full["value"]["value"] is None, expression


HOSTILE = """
    import time
    class Bad(BaseException):
        pass
    def loop(*a, **k):
        while True:
            pass
    def stubborn(*a, **k):
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass
    def sleep(*a, **k):
        time.sleep(100)
    def raises(error):
        def method(*a, **k):
            raise error
        return method
    def lies(*a, **k):
        return 42
    def recurses(self, *a, **k):
        return repr(self)
    METHODS = ('__repr__', '__str__', '__eq__', '__hash__', '__len__', '__reduce__', '__bool__',
               '__iter__', '__format__', '__getattr__', '__getattribute__', '__del__', '__dir__',
               '__sizeof__', '__reduce_ex__', '__contains__', '__index__', '__class_getitem__')
    def make(how):
        method = {
            'loop': loop, 'sleep': sleep, 'lies': lies, 'recurses': recurses,
            'exit': raises(SystemExit(9)), 'interrupt': raises(KeyboardInterrupt()),
            'error': raises(ValueError('no')), 'base': raises(Bad()), 'stubborn': stubborn,
        }[how]
        names = dict.fromkeys(METHODS, method)
        names['__class__'] = property(method)
        names['__dict__'] = property(method)
        return names
    class Meta(type):
        pass
    def f(how):
        return type('Hostile', (), make(how))()
    def inside(how):
        one = type('Hostile', (), make(how))()
        return [1, (one, {'k': one}), 'after']
    def error(how):
        raise type('HostileError', (Exception,), make(how))('arg')
    def yields(how):
        yield type('Hostile', (), make(how))()
    def meta(how):
        names = make(how)
        names['__name__'] = names['__module__'] = names['__mro__'] = property(loop)
        for bad in ('__class__', '__dict__', '__getattribute__', '__del__', '__class_getitem__'):
            names.pop(bad, None)
        names['__getattribute__'] = loop
        M = type('M', (type,), names)
        return M('Hostile', (), make(how))()
    class Nameless(Exception):
        def __str__(self):
            return 5
    def broken_str():
        raise Nameless('x')
    class S(str):
        def __repr__(self):
            return S('sub')
        __str__ = __repr__
    def string():
        return S('content')
    def string_error():
        raise ValueError(S('content'))
    def key_error(how):
        raise KeyError(type('Hostile', (), make(how))())
"""

WAYS = ("loop", "sleep", "lies", "recurses", "exit", "interrupt", "error", "base")


@case
def hostile_results_are_described():
    with guest(HOSTILE) as one:
        for name in ("f", "inside", "yields", "meta"):
            for how in WAYS:
                began = time.monotonic()
                full = one.call("m:" + name, [how])
                equal(full["kind"], "returned", (name, how))
                assert time.monotonic() - began < 2, (name, how)
                if name in ("f", "meta"):
                    equal(full["value"]["type"], "m.Hostile", (name, how))
                    equal(full["value"]["hash"], None, (name, how))
                    assert any("Hostile" in note for note in full["notes"]), full["notes"]
                if name == "inside":
                    assert full["value"]["repr"].startswith("[1, (<m.Hostile>"), full["value"]
                    assert full["value"]["repr"].endswith("'after']"), full["value"]


@case
def hostile_exceptions_are_described():
    with guest(HOSTILE) as one:
        for name in ("error", "key_error"):
            for how in WAYS:
                full = one.call("m:" + name, [how])
                equal(full["kind"], "raised", (name, how))
                expected = "m.HostileError" if name == "error" else "KeyError"
                equal(full["exception"]["type"], expected)
                equal(full["exception"]["frames"][-1]["function"], name)
        full = one.call("m:broken_str")
        equal((full["exception"]["type"], full["exception"]["message"]), ("m.Nameless", ""))
        equal(one.call("m:string")["value"]["repr"], "sub")
        equal(one.call("m:string_error")["kind"], "raised")


@case
def a_hanging_repr_does_not_hide_the_verdict():
    with guest(HOSTILE) as one:
        phase, short, full = one.call_and_kill("m:f", 1.0, ["stubborn"])
        equal((phase, full), (2, None))
        equal((short["kind"], short["value"]["type"]), ("returned", "m.Hostile"))
        phase, short, full = one.call_and_kill("m:error", 1.0, ["stubborn"])
        equal((phase, short["kind"], short["exception"]["type"]), (2, "raised", "m.HostileError"))


@case
def a_crash_in_repr_does_not_hide_the_verdict():
    text = """
        import os
        class C:
            def __repr__(self):
                os.kill(os.getpid(), 11)
        def f():
            return C()
    """
    with guest(text) as one:
        phase, short, _ = one.call_and_kill("m:f", 5.0)
        equal((phase, short["kind"], one.exited["status"] & 127), (2, "returned", 11))


@case
def the_repr_of_a_foreign_object_is_asked_once():
    text = """
        class C:
            def __repr__(self):
                print('asked')
                return 'C()'
        def f():
            c = C()
            return [c, c, {'k': c}]
    """
    with guest(text) as one:
        full = one.call("m:f")
        equal(full["value"]["repr"], "[C(), C(), {'k': C()}]")
        equal(one.text().count("asked"), 1)


@case
def the_guests_alarm_handler_survives_the_description():
    text = """
        import signal
        def f():
            signal.signal(signal.SIGALRM, lambda *a: print('mine'))
            class C:
                def __repr__(self):
                    return 'fine'
            return C()
    """
    full = result_of(text)
    equal(full["value"]["repr"], "fine")
    equal(full["changed"]["signals"], [14])


@case
def an_alarm_of_the_guest_does_not_hit_the_harness():
    text = """
        import signal, time
        class Late(BaseException):
            pass
        def ring(*a):
            raise Late
        def f():
            signal.signal(signal.SIGALRM, ring)
            signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
            return list(range(50000))
        def at_import():
            return 1
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 30, 30)
    """
    with guest(text) as one:
        for _ in range(10):
            phase, _, full = one.call_and_kill("m:f", 5.0)
            equal(phase, 3)
            assert full["kind"] in ("returned", "raised")
        equal(one.call("m:at_import")["kind"], "returned")


@case
def finalizers_do_not_disturb_the_report():
    text = """
        import os
        class C:
            def __del__(self):
                os._exit(5)
        def f():
            return C()
        def g():
            raise ValueError(C())
        def h(c):
            return 1
        def cycle():
            a = C()
            a.a = a
            return 2
    """
    with guest(text) as one:
        equal(one.call("m:f")["kind"], "returned")
        equal(one.call("m:g")["kind"], "raised")
        equal(one.call("m:h", [new("m:C")])["value"]["value"], 1)
        equal(one.call("m:cycle")["value"]["value"], 2)


# ---------------------------------------------------------------- exceptions


@case
def exceptions_have_type_message_and_frames():
    text = """
        class Mine(LookupError):
            pass
        def g(n):
            raise Mine('no %d' % n)
        def f(n):
            g(n)
    """
    with guest(text) as one:
        full = one.call("m:f", [4])
        equal((full["kind"], full["stage"]), ("raised", "call"))
        error = full["exception"]
        equal((error["type"], error["message"]), ("m.Mine", "no 4"))
        frames = [(f["file"], f["line"], f["function"]) for f in error["frames"]]
        equal(frames, [(one.home + "/m.py", 7, "f"), (one.home + "/m.py", 5, "g")])
        equal(
            (error["cause"], error["context"], error["notes"], error["group"]), (None, None, [], [])
        )
        equal(one.short["exception"], error)


@case
def causes_and_contexts_are_followed():
    text = """
        def f():
            try:
                try:
                    {}['a']
                except KeyError as e:
                    raise ValueError('v') from e
            except ValueError:
                raise OSError(2, 'gone', 'file')
        def g():
            try:
                1 / 0
            except ZeroDivisionError:
                raise ValueError('clean') from None
        def ring():
            a, b = ValueError('a'), ValueError('b')
            a.__cause__, b.__cause__ = b, a
            raise a
        def chain(n=100):
            e = None
            for i in range(n):
                new = ValueError(i)
                new.__cause__ = e
                e = new
            raise e
    """
    with guest(text) as one:
        error = one.call("m:f")["exception"]
        equal((error["type"], error["errno"]), ("FileNotFoundError", 2))
        equal(error["message"], "[Errno 2] gone: 'file'")
        equal(error["context"]["type"], "ValueError")
        equal(error["context"]["cause"]["type"], "KeyError")
        error = one.call("m:g")["exception"]
        equal((error["cause"], error["context"]), (None, None))
        error = one.call("m:ring")["exception"]
        equal(error["cause"]["cause"], None)
        error = one.call("m:chain")["exception"]
        length = 0
        while error is not None:
            length, error = length + 1, error["cause"]
        equal(length, 8)


@case
def notes_and_groups_are_reported():
    text = """
        def f():
            e = ValueError('v')
            e.__notes__ = ['first', 5, 'second']
            raise e
        def g():
            raise ExceptionGroup('many', [ValueError(1), ExceptionGroup('in', [KeyError('k')])])
        def big():
            raise ExceptionGroup('many', [ValueError(i) for i in range(100)])
    """
    with guest(text) as one:
        equal(one.call("m:f")["exception"]["notes"], ["first", "second"])
        if VERSION >= (3, 11):
            error = one.call("m:g")["exception"]
            equal([inner["type"] for inner in error["group"]], ["ValueError", "ExceptionGroup"])
            equal(error["group"][1]["group"][0]["type"], "KeyError")
            equal(len(one.call("m:big")["exception"]["group"]), 8)


@case
def exits_are_told_from_exceptions():
    with guest(
        "import sys\ndef f(code):\n    sys.exit(code)\ndef k():\n    raise KeyboardInterrupt"
    ) as one:
        for code, expected in ((3, 3), (None, None), ("text", "text"), (True, 1), (2.5, "float")):
            full = one.call("m:f", [code])
            equal((full["kind"], full["exception"]["code"]), ("exited", expected))
            equal(full["exception"]["type"], "SystemExit")
        full = one.call("m:k")
        equal((full["kind"], full["exception"]["type"]), ("raised", "KeyboardInterrupt"))


@case
def a_recursion_error_is_reported_with_first_and_last_frames():
    with guest("def f(n=0):\n    return f(n + 1)\ndef start():\n    f()") as one:
        full = one.call("m:start", caps={"frames": 10})
        error = full["exception"]
        equal((full["kind"], error["type"]), ("raised", "RecursionError"))
        equal(len(error["frames"]), 10)
        equal(error["frames"][0]["function"], "start")
        assert any("frames were left out" in note for note in full["notes"]), full["notes"]


@case
def a_tiny_recursion_limit_does_not_break_the_report():
    text = """
        import sys
        def depth():
            n, frame = 0, sys._getframe()
            while frame:
                n, frame = n + 1, frame.f_back
            return n
        def f():
            sys.setrecursionlimit(depth() + 6)
            return [1, [2, [3]]]
    """
    full = result_of(text)
    equal(full["value"]["repr"], "[1, [2, [3]]]")
    assert full["changed"]["recursion_limit"] is not None


@case
def a_recursion_limit_set_by_the_import_is_kept_for_the_calls():
    with guest(
        "import sys\nsys.setrecursionlimit(333)\ndef f():\n    return sys.getrecursionlimit()"
    ) as one:
        full = one.call("m:f")
        equal(full["value"]["value"], 333)
        equal(full["changed"]["recursion_limit"], None)


@case
def running_out_of_memory_is_reported():
    text = """
        def f():
            held = []
            while True:
                held.append('x' * 1000000 + str(len(held)))
        def small():
            held = []
            while True:
                held.append(bytearray(1000))
    """
    with guest(text) as one:
        for name in ("f", "small"):
            full = one.call("m:" + name, rlimits=[[9, 300 << 20, 300 << 20]])
            equal((full["kind"], full["exception"]["type"]), ("raised", "MemoryError"))
        full = one.call("m:f", rlimits=[[9, 300 << 20, 300 << 20]])
        equal(full["exception"]["frames"][-1]["function"], "f")


@case
def enormous_messages_are_cut():
    full = result_of("def f():\n    raise ValueError('x' * 50_000_000)")
    equal(len(full["exception"]["message"]), CAPS["message"])


@case
def a_report_never_runs_past_its_place():
    text = """
        def f(n):
            e = None
            for i in range(n):
                try:
                    raise ValueError(str(i) * 100000) from e
                except ValueError as new:
                    e = new
            raise e
        def v():
            return ['\\U0001F600' * 60000] * 3 + ['\\x00' * 1000] * 100
        def names():
            raise type('N' * 100000, (Exception,), {'__module__': 'm' * 100000})
    """
    caps = {"repr": 1 << 30, "message": 1 << 30, "items": 1 << 30, "depth": 1 << 30}
    with guest(text) as one:
        full = one.call("m:f", [40], caps=caps)
        equal(full["exception"]["type"], "ValueError")
        equal(one.short["kind"], "raised")
        full = one.call("m:v", caps=caps)
        equal(full["kind"], "returned")
        assert one.call("m:names", caps=caps)["exception"]["type"].startswith("mmm")


# ---------------------------------------------------------------- side effects


@case
def leftover_threads_are_named():
    text = """
        import threading, time
        def f():
            threading.Thread(target=time.sleep, args=(30,), name='sleeper', daemon=True).start()
            return 1
        def busy():
            def spin():
                while True:
                    pass
            threading.Thread(target=spin, name='spinner').start()
            return 1
        def raw():
            import _thread
            _thread.start_new_thread(time.sleep, (30,))
            time.sleep(0.05)
    """
    with guest(text) as one:
        began = time.monotonic()
        equal(one.call("m:f")["threads_left"], ["sleeper"])
        equal(one.call("m:busy")["threads_left"], ["spinner"])
        equal(len(one.call("m:raw")["threads_left"]), 1)
        assert time.monotonic() - began < 5


@case
def leftover_descriptors_are_listed():
    text = """
        import os, socket
        def f():
            global kept
            kept = open(__file__), os.pipe(), socket.socket()
        def none():
            with open(__file__) as f:
                return f.readline()
        def low():
            os.close(0)
            return os.open('/dev/null', 0)
        def flood():
            global kept
            kept = []
            try:
                while True:
                    kept.append(os.open('/dev/null', 0))
            except OSError:
                return len(kept)
    """
    with guest(text) as one:
        found = [what for _, what in one.call("m:f")["descriptors_left"]]
        equal(sorted(found), sorted([one.home + "/m.py", "pipe", "pipe", "socket"]))
        equal(one.call("m:none")["descriptors_left"], [])
        equal(one.call("m:low")["descriptors_left"], [])
        full = one.call("m:flood", rlimits=[[7, 64, 64]])
        assert len(full["descriptors_left"]) >= 50


@case
def changes_of_the_process_are_reported():
    text = """
        import os, signal, sys
        os.environ['GONE'] = '1'
        def f():
            os.environ['NEW'] = 'x'
            del os.environ['GONE']
            os.chdir('/')
            sys.setrecursionlimit(2345)
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
            import colorsys
        def same():
            os.environ['PATH'] = os.environ.get('PATH', '')
            return os.getcwd()
        def replaced():
            os.environ = {}
    """
    with guest(text) as one:
        changed = one.call("m:f")["changed"]
        equal(changed["environ"], ["GONE", "NEW"])
        equal((changed["cwd"], changed["recursion_limit"]), ("/", 2345))
        equal((changed["signals"], changed["modules"]), ([10], 1))
        os.symlink(one.home, one.home + "/link")
        full = one.call("m:same", cwd=one.home + "/link")
        nothing = {"environ": [], "cwd": None, "modules": 0, "signals": [], "recursion_limit": None}
        equal(full["changed"], nothing)
        equal(full["value"]["value"], os.path.realpath(one.home))
        equal(one.call("m:replaced")["changed"]["environ"], ["os.environ"])


@case
def the_call_leads_a_session_of_its_own_in_its_directory():
    text = "import os\ndef f():\n    return os.getsid(0) == os.getpid(), os.getcwd()"
    with guest(text) as one:
        equal(one.call("m:f", cwd="/")["value"]["value"], ("t", [True, "/"]))


@case
def files_outside_the_roots_are_attempts():
    text = """
        import os, socket
        def f():
            for path in ('/etc/passwd', '/etc/passwd', 'm.py', '../outside', '/etc/../etc/hosts'):
                try:
                    open(path).close()
                except OSError:
                    pass
            for action in (
                lambda: open('/nowhere/at/all', 'w'),
                lambda: os.remove('/nowhere/r'),
                lambda: os.rename('m.py', '/nowhere/n'),
                lambda: os.mkdir('/nowhere/d'),
                lambda: os.listdir('/proc/self'),
                lambda: os.symlink('/etc', '/nowhere/s'),
                lambda: os.open(b'/nowhere/b', os.O_RDWR),
                lambda: os.chmod('/nowhere/c', 0),
            ):
                try:
                    action()
                except OSError:
                    pass
            s = socket.socket()
            try:
                s.connect(('127.0.0.1', 9))
            except OSError:
                pass
        def inside():
            with open('new.txt', 'w') as file:
                file.write('x')
            os.remove('new.txt')
            import colorsys
            return os.listdir()
        def many():
            for i in range(100):
                try:
                    open('/nowhere/%d' % i)
                except OSError:
                    pass
    """
    with guest(text) as one:
        outside = os.path.dirname(one.home) + "/outside"
        expected = [
            ["read", "/etc/passwd"],
            ["read", outside],
            ["read", "/etc/hosts"],
            ["write", "/nowhere/at/all"],
            ["remove", "/nowhere/r"],
            ["rename", "/nowhere/n"],
            ["mkdir", "/nowhere/d"],
            ["list", "/proc/self"],
            ["symlink", "/nowhere/s"],
            ["write", "/nowhere/b"],
            ["chmod", "/nowhere/c"],
            ["connect", "127.0.0.1:9"],
        ]
        equal(one.call("m:f")["attempts"], expected)
        equal(one.call("m:inside")["attempts"], [])
        equal(len(one.call("m:many")["attempts"]), 32)
    with guest("open('/etc/passwd')") as one:
        equal(one.report()[2]["attempts"], [["read", "/etc/passwd"]])


# ---------------------------------------------------------------- randomness and time


@case
def random_numbers_depend_on_the_seed_alone():
    for text in (
        "import random\ndef f():\n    return random.random()",
        "def f():\n    import random\n    return random.random()",
    ):
        with guest(text) as one:
            first = one.call("m:f", seed=1)["value"]["value"]
            equal(one.call("m:f", seed=1)["value"]["value"], first)
            assert one.call("m:f", seed=2)["value"]["value"] != first
        with guest(text) as one:
            equal(one.call("m:f", seed=1)["value"]["value"], first)
    with guest("import random\nx = random.random()\ndef f():\n    return x") as one:
        first = one.call("m:f")["value"]["value"]
    with guest("import random\nx = random.random()\ndef f():\n    return x") as one:
        equal(one.call("m:f")["value"]["value"], first)


@case
def a_module_of_the_guests_called_random_is_left_alone():
    if "random" in loaded_anyway():
        return
    files = {"random.py": "calls = []\ndef seed(n):\n    calls.append(n)\n_inst = 5\n"}
    with guest("import random\ndef f():\n    return random.calls", files=files) as one:
        equal(one.call("m:f")["value"]["value"], ("l", []))


TIMES = """
    import datetime, pickle, time
    from datetime import datetime as dt, date
    def f():
        a = (time.time(), time.time_ns(), time.gmtime()[:6], time.strftime('%Y', time.gmtime()))
        b = (dt.utcnow().isoformat(), dt.now(datetime.timezone.utc).isoformat())
        c = (dt.now() == dt.fromtimestamp(time.time()), date.today() == dt.now().date())
        d = (dt.today() == dt.now(), time.localtime() == time.localtime(time.time()))
        e = (time.ctime() == time.ctime(time.time()), time.asctime() == time.ctime())
        g = (time.clock_gettime(time.CLOCK_REALTIME), time.strftime('%s') == str(int(time.time())))
        now = dt.now()
        h = (isinstance(now, dt), isinstance(now, date), type(now) is dt, repr(now)[:18])
        i = pickle.loads(pickle.dumps(now)) == now
        start = time.perf_counter()
        time.sleep(0.002)
        j = (time.perf_counter() > start, dt.now() == now)
        class Sub(dt):
            pass
        k = (type(Sub.now()).__name__, Sub.now() == now)
        return a, b, c, d, e, g, h, i, j, k
"""


@case
def frozen_time_stands_still():
    with guest(TIMES, freeze_time=1_000_000_000.5) as one:
        full = one.call("m:f")
        equal(full["kind"], "returned", full["exception"])
        found = eval(full["value"]["repr"])
        equal(found[0], (1000000000.5, 1000000000500000000, (2001, 9, 9, 1, 46, 40), "2001"))
        equal(found[1], ("2001-09-09T01:46:40.500000", "2001-09-09T01:46:40.500000+00:00"))
        equal(found[2:5], ((True, True),) * 3)
        equal(found[5], (1000000000.5, True))
        equal(found[6], (True, True, True, "datetime.datetime("))
        equal(found[7:], (True, (True, True), ("Sub", True)))


@case
def time_goes_on_unless_frozen():
    full = result_of("import time\ndef f():\n    return time.time()")
    assert abs(full["value"]["value"] - time.time()) < 60


# ---------------------------------------------------------------- the harness among guests


@case
def patched_modules_do_not_change_the_harness():
    text = """
        import builtins, gc, io, os, posix, sys, time, marshal, _signal, _thread, resource
        def boom(*a, **k):
            raise RuntimeError('patched')
        import json, mmap
        def patch(modules):
            for module in modules:
                for name in dir(module):
                    if callable(getattr(module, name)) and not name.startswith('__'):
                        try:
                            setattr(module, name, boom)
                        except Exception:
                            pass
        # The interpreter's own import machinery needs `_thread` and the builtins to the end.
        patch((os, posix, time, marshal, _signal, resource, gc, json, mmap))
        sys.stdout = sys.stderr = sys.modules['io'] = None
        def patch_all():
            patch((_thread, sys))
            for name in ('len', 'repr', 'str', 'type', 'isinstance', 'issubclass', 'sorted',
                         'list', 'tuple', 'id', 'round', 'max', 'min', 'range', 'getattr', 'hex',
                         'open', 'print', 'int', 'bytes', 'BaseException', 'OSError', 'dict',
                         '__import__', 'frozenset', '__build_class__'):
                setattr(builtins, name, boom)
        def f(x):
            patch_all()
            return [x, {x: (x,)}]
        def g():
            error = ValueError('as usual')
            patch_all()
            raise error
    """
    with guest(text) as one:
        equal(one.imported["ok"], True, one.report()[2]["exception"])
        full = one.call("m:f", [1])
        equal(full["value"]["repr"], "[1, {1: (1,)}]")
        equal(one.call("m:g")["exception"]["message"], "as usual")


@case
def hostile_streams_are_survived():
    text = """
        import sys
        class Stream:
            def write(self, text):
                pass
            def flush(self):
                while True:
                    pass
            def __eq__(self, other):
                while True:
                    pass
        def f():
            print('before')
            sys.stdout = sys.stderr = Stream()
            return 1
        def closed():
            sys.stdout.close()
            return 2
        def gone():
            del sys.stdout, sys.stderr
            return 3
    """
    with guest(text) as one:
        began = time.monotonic()
        equal(one.call("m:f")["value"]["value"], 1)
        assert time.monotonic() - began < 2
        assert "before" in one.text()
        equal(one.call("m:closed")["value"]["value"], 2)
        equal(one.call("m:gone")["value"]["value"], 3)


@case
def the_harness_is_not_to_be_found():
    text = """
        import sys
        def f():
            import __main__
            found = [name for name, module in list(sys.modules.items())
                     if '/guest/' in str(getattr(module, '__file__', ''))]
            paths = [entry for entry in sys.path if entry.endswith('/guest')]
            return found, paths, sorted(vars(__main__)), sys.argv
    """
    for start in (["-I", "-B"], ["-s", "-B"]):
        with guest(text, start=start) as one:
            found, paths, names, argv = eval(one.call("m:f")["value"]["repr"])
            equal((found, paths, argv), ([], [], [""]))
            assert all(name.startswith("__") for name in names), names


@case
def closing_all_low_descriptors_does_not_hide_the_report():
    text = """
        import os
        def f():
            os.closerange(0, 100)
            return 1
        def all_of_them():
            os.closerange(0, 5000)
            return 2
    """
    with guest(text) as one:
        equal(one.call("m:f")["value"]["value"], 1)
        equal(one.call("m:all_of_them")["value"]["value"], 2)


@case
def a_copy_that_the_guest_forked_does_not_report():
    text = """
        import os, time
        def f():
            pid = os.fork()
            if pid == 0:
                return 'copy'
            os.waitpid(pid, 0)
            return 'original'
        def late():
            pid = os.fork()
            if pid == 0:
                time.sleep(0.1)
                raise ValueError('copy')
            return 'original'
    """
    with guest(text) as one:
        equal(one.call("m:f")["value"]["value"], "original")
        equal(one.call("m:late")["value"]["value"], "original")
        time.sleep(0.3)
        equal(one.report()[2]["value"]["value"], "original")


@case
def a_call_that_dies_leaves_an_empty_report_and_a_status():
    text = """
        import os
        def f():
            os.kill(os.getpid(), 9)
        def g():
            os._exit(3)
        def ok():
            return 1
    """
    with guest(text) as one:
        phase, short, full = one.call_and_kill("m:f", 5)
        equal((phase, short, full, one.exited["status"]), (1, None, None, 9))
        phase, short, full = one.call_and_kill("m:g", 5)
        equal((phase, short, full, one.exited["status"]), (1, None, None, 3 << 8))
        equal(one.call("m:ok")["value"]["value"], 1)


@case
def a_tracing_guest_does_not_trace_the_harness():
    text = """
        import sys
        def tracer(*a):
            raise RuntimeError('traced')
        def f():
            sys.settrace(tracer)
            return [1]
        def g():
            sys.setprofile(tracer)
        def m():
            tool = sys.monitoring
            tool.use_tool_id(3, 'x')
            tool.register_callback(3, tool.events.PY_START, tracer)
            tool.set_events(3, tool.events.PY_START)
            return [2]
    """
    with guest(text) as one:
        equal(one.call("m:f")["kind"], "returned")
        phase, _, _ = one.call_and_kill("m:g", 5)
        equal((phase, one.exited["status"]), (3, 0))
        if VERSION >= (3, 12):
            equal(one.call("m:m")["value"]["value"], ("l", [2]))


@case
def the_guests_garbage_collection_is_as_it_left_it():
    with guest("import gc\ndef f():\n    return gc.isenabled()") as one:
        equal(one.call("m:f")["value"]["value"], True)
    with guest("import gc\ngc.disable()\ndef f():\n    return gc.isenabled()") as one:
        equal(one.call("m:f")["value"]["value"], False)


@case
def signals_reach_the_guest():
    text = """
        import os, signal
        got = []
        def f():
            signal.signal(signal.SIGUSR1, lambda *a: got.append(1))
            os.kill(os.getpid(), signal.SIGUSR1)
            return got, signal.pthread_sigmask(signal.SIG_BLOCK, []) == set()
    """
    equal(result_of(text)["value"]["value"], ("t", [("l", [1]), True]))


@case
def at_exit_functions_do_not_run():
    text = "import atexit\natexit.register(print, 'at exit')\ndef f():\n    return 1"
    with guest(text) as one:
        one.call("m:f")
        one.socket.shutdown(socket.SHUT_RDWR)
        one.process.wait(PATIENCE)
        assert "at exit" not in one.text()


@case
def nothing_expensive_is_loaded_at_the_start():
    text = "import sys\nnames = sorted(sys.modules)\ndef f():\n    return names"
    expensive = "json re signal enum traceback inspect ctypes asyncio typing threading random"
    with guest(text) as one:
        value = one.call("m:f", caps={"items": 1000})["value"]["value"]
        found = set(value[1]) & set(expensive.split() + ["socket", "datetime", "collections"])
        equal(found - loaded_anyway(), set())


@case
def compiled_files_are_used_when_they_fit():
    global HARNESS
    copied = tempfile.mkdtemp(prefix="menace-harness-")
    kept = HARNESS
    try:
        for name in os.listdir(HARNESS):
            if name.endswith(".py"):
                shutil.copy(os.path.join(HARNESS, name), copied)
        script = (
            "import py_compile, sys\nfor p in sys.argv[1:]: py_compile.compile(p, cfile=p + 'c')"
        )
        sources = [os.path.join(copied, name) for name in os.listdir(copied)]
        subprocess.check_call([PYTHON, "-I", "-c", script, *sources])
        for source in sources:
            if not source.endswith("__main__.py"):
                with open(source, "w") as file:
                    file.write("1 / 0\n")
        HARNESS = copied
        with guest("def f():\n    return 1") as one:
            equal(one.call("m:f")["value"]["value"], 1)
        for source in sources:
            name = os.path.basename(source)
            shutil.copy(os.path.join(kept, name), source)
            with open(source + "c", "r+b") as file:
                file.write(b"\0\0\0\0")
        with guest("def f():\n    return 2") as one:
            equal(one.call("m:f")["value"]["value"], 2)
    finally:
        HARNESS = kept
        shutil.rmtree(copied)


def main():
    """Runs all cases and counts."""
    global PYTHON, VERSION
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    PYTHON = sys.argv[1]
    told = subprocess.check_output(
        [PYTHON, "-I", "-c", "import sys; print(*sys.version_info[:2])"]
    ).split()
    VERSION = tuple(int(number) for number in told)
    if "--as-init" in sys.argv:
        as_init()
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    passed = failed = 0
    for function in CASES:
        if wanted not in function.__name__:
            continue
        try:
            function()
            passed += 1
        except Exception as error:  # noqa: BLE001 (a case may fail in any way)
            failed += 1
            place = traceback.extract_tb(error.__traceback__)
            lines = [entry.lineno for entry in place if entry.filename == __file__]
            print(f"{function.__name__}, lines {lines}: {type(error).__name__}: {error}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
