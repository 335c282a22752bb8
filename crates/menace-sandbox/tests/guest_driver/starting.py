"""The harness starts, ends, and sweeps processes away."""

from __future__ import annotations

import errno
import marshal
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from typing import Any, Sequence

from cases import case, equal, guest, loaded_anyway
from driving import HARNESS, RECEIVE_TIMEOUT_SECONDS, Guest
from under_test import PYTHON, VERSION


@case
def the_harness_says_which_python_it_is() -> None:
    with Guest(PYTHON) as one:
        equal(one.ready["op"], "ready")
        assert tuple(one.ready["version"][:2]) == VERSION


@case
def the_harness_ends_when_the_init_is_gone() -> None:
    one = Guest(PYTHON)
    equal(one.close(), 0)


@case
def nonsense_on_the_wire_ends_the_harness() -> None:
    one = Guest(PYTHON)
    one.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
    equal(one.close(), 71)


@case
def a_frame_of_another_version_ends_the_harness() -> None:
    body = marshal.dumps({"op": "sweep"}, 2)
    for magic in (b"MNC1", b"MNC3"):
        one = Guest(PYTHON)
        one.socket.sendall(magic + len(body).to_bytes(4, "little") + body)
        equal(one.close(), 71, magic)


@case
def a_frame_that_is_too_long_ends_the_harness_before_it_is_read() -> None:
    one = Guest(PYTHON)
    one.socket.sendall(b"MNC2" + ((16 << 20) + 1).to_bytes(4, "little"))
    equal(one.close(), 71)


@case
def nothing_expensive_is_loaded_at_the_start() -> None:
    text = "import sys\nnames = sorted(sys.modules)\ndef f():\n    return names"
    expensive = "json re signal enum traceback inspect ctypes asyncio typing threading random"
    with guest(text) as one:
        value = one.call("m:f", description_limits={"items": 1000})["value"]["value"]
        found = set(value[1]) & set(expensive.split() + ["socket", "datetime", "collections"])
        equal(found - loaded_anyway(), set())


@case
def compiled_files_are_used_when_they_fit() -> None:
    copied = tempfile.mkdtemp(prefix="menace-harness-")
    try:
        for directory, _, names in os.walk(HARNESS):
            for name in names:
                if name.endswith(".py"):
                    source = os.path.join(directory, name)
                    target = os.path.join(copied, os.path.relpath(source, HARNESS))
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    shutil.copy(source, target)
        script = (
            "import py_compile, sys\nfor p in sys.argv[1:]: py_compile.compile(p, cfile=p + 'c')"
        )
        sources = [
            os.path.join(directory, name)
            for directory, _, names in os.walk(copied)
            for name in names
        ]
        subprocess.check_call([PYTHON, "-I", "-c", script, *sources])
        for source in sources:
            if not source.endswith("__main__.py"):
                with open(source, "w") as file:
                    file.write("1 / 0\n")
        with guest("def f():\n    return 1", harness=copied) as one:
            equal(one.call("m:f")["value"]["value"], 1)
        bundle = make_bundle(copied, sources)
        with guest("def f():\n    return 3", harness=copied, bundle=bundle) as one:
            equal(one.call("m:f")["value"]["value"], 3)
        for source in sources:
            name = os.path.relpath(source, copied)
            shutil.copy(os.path.join(HARNESS, name), source)
            with open(source + "c", "wb") as file:
                file.write(b"\0" * 16)
        with guest("def f():\n    return 2", harness=copied) as one:
            equal(one.call("m:f")["value"]["value"], 2)
    finally:
        shutil.rmtree(copied)


def make_bundle(directory: str, sources: Sequence[str]) -> bytes:
    """Moves all compiled files but the main one into one file."""
    index: dict[str, tuple[int, int]] = {}
    contents = b""
    for source in sources:
        name = os.path.relpath(source, directory) + "c"
        if name != "__main__.pyc":
            with open(source + "c", "rb") as file:
                content = file.read()
            index[name] = (len(contents), len(content))
            contents += content
            os.remove(source + "c")
    # Numbers take as much room in there, however large they are.
    first = 4 + len(marshal.dumps(index, 2))
    index = {name: (first + start, length) for name, (start, length) in index.items()}
    packed = marshal.dumps(index, 2)
    return len(packed).to_bytes(4, "little") + packed + contents


SITE_STATE = """
import builtins, sys

def f(import_root):
    names = [name for name in dir(sys.flags) if name[:2] != "__"]
    flags = [getattr(sys.flags, name) for name in names if name not in ("count", "index")]
    return repr([
        [sys.executable, sys.prefix, sys.exec_prefix, sys.base_prefix],
        [path for path in sys.path if path not in ("", import_root)],
        flags, list(sys.flags), repr(sys.flags),
        hasattr(builtins, "exit"), hasattr(sys, "__interactivehook__"),
        sorted(name for name in ("site", "sitecustomize", "here") if name in sys.modules),
    ])
"""


@case
def the_work_of_site_is_done_for_the_guest_as_python_does_it() -> None:
    with tempfile.TemporaryDirectory() as top:
        environment = os.path.join(top, "env")
        for flags in ([], ["--system-site-packages"]):
            make = [PYTHON, "-I", "-m", "venv", "--without-pip", "--clear", *flags, environment]
            subprocess.check_call(make)
            python = os.path.join(environment, "bin", "python")
            question = "import site; print(site.getsitepackages()[0], end='')"
            packages = subprocess.check_output([python, "-I", "-c", question]).decode()
            for name, text in (("here.py", ""), ("a.pth", "import here\n/\n")):
                with open(os.path.join(packages, name), "w") as file:
                    file.write(text)
            script = SITE_STATE + "\nprint(f(None), end='')"
            expected = subprocess.check_output([python, "-s", "-B", "-c", script]).decode()
            setup: dict[str, Any] = {"sys_executable": python, "venv_dir": environment}
            base = os.path.realpath(python)
            for excludes in (False, True):
                setup.update(start=["-s", "-S", "-B"], site_excludes_repository=excludes)
                with Guest(base, {"m.py": SITE_STATE}, "m", **setup) as one:
                    equal(one.call("m:f", [one.home])["value"]["value"], expected)


@case
def at_exit_functions_do_not_run() -> None:
    text = "import atexit\natexit.register(print, 'at exit')\ndef f():\n    return 1"
    with guest(text) as one:
        one.call("m:f")
        one.socket.shutdown(socket.SHUT_RDWR)
        one.process.wait(RECEIVE_TIMEOUT_SECONDS)
        assert "at exit" not in one.text()


@case
def a_sweep_outside_a_namespace_of_its_own_is_refused() -> None:
    with Guest(PYTHON) as one:
        if one.process.pid and os.getpid() != 1:
            equal(one.ask({"op": "sweep"}), {"op": "swept", "errno": errno.EPERM})


@case
def a_sweep_leaves_no_process() -> None:
    tool = shutil.which("unshare")
    enter = [tool or "", "-pf", "--mount-proc"]
    works = tool and subprocess.call([*enter, "true"], stderr=subprocess.DEVNULL) == 0
    if not works:
        return
    inner = [*enter, sys.executable, "-B", os.path.dirname(os.path.abspath(__file__))]
    inner += [PYTHON, "--as-init"]
    done = subprocess.Popen(inner, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    printed, _ = done.communicate(timeout=60)
    assert b"swept clean" in printed, printed.decode()


def as_init() -> None:
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
        except ChildProcessError as error:
            raise AssertionError("the harness itself is gone") from error
        if pid == 0:
            break
    equal(one.call("m:f")["kind"], "returned")
    equal(one.ask({"op": "sweep"}), {"op": "swept"})
    one.close()
    print("swept clean", flush=True)
    os._exit(0)
