"""Plays the init: starts the guest harness, sends it frames and reads its mailbox."""

from __future__ import annotations

import fcntl
import marshal
import mmap
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import textwrap
import time
from typing import Any, Dict, Mapping, Sequence

HARNESS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "guest")
SIZE = 1 << 20
DESCRIPTION_LIMITS = {"repr": 2000, "items": 100, "depth": 20, "message": 1000, "frames": 20}
RECEIVE_TIMEOUT_SECONDS = 20.0
# What comes back for a call: values of any type under their names.
Report = Dict[str, Any]
# What a call may have beside what every call has.
CONDITIONS = ("coverage", "burst", "files", "environment", "faults", "network", "upstream", "steps")


def stat_of(pid: int) -> list[str]:
    """What the kernel says of a process, from its state on."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()


class Guest:
    """One warm interpreter with the harness in it."""

    def __init__(
        self,
        python: str,
        files: Mapping[str, str] | None = None,
        module: str | None = None,
        path: str | None = None,
        start: Sequence[str] | None = None,
        harness: str = HARNESS,
        bundle: bytes | None = None,
        **setup: object,
    ) -> None:
        self.home = tempfile.mkdtemp(prefix="menace-guest-")
        self.request_number = 0
        for name, text in (files or {}).items():
            target = os.path.join(self.home, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(textwrap.dedent(text))
        self.socket, theirs = socket.socketpair()
        self.call_socket, call_theirs = socket.socketpair()
        box = os.memfd_create("mailbox")
        os.ftruncate(box, SIZE)
        self.box = mmap.mmap(box, SIZE)
        own = (theirs.fileno(), call_theirs.fileno(), box)
        handed = [fcntl.fcntl(fd, fcntl.F_DUPFD, 900) for fd in own]
        self.output, written = os.pipe()
        self.stack_dump, stack_dump_writer = os.pipe()
        stack_dump = fcntl.fcntl(stack_dump_writer, fcntl.F_DUPFD, 900)
        packed: list[int] = []
        if bundle is not None:
            packed.append(os.memfd_create("bundle"))
            os.write(packed[0], bundle)
        pass_fds = [*handed, stack_dump, *packed]
        self.process = subprocess.Popen(
            [python, *(start or ["-I", "-B"]), os.path.join(harness, "__main__.py")]
            + [str(fd) for fd in handed]
            + [str(SIZE), str(stack_dump)]
            + [str(fd) for fd in packed],
            pass_fds=pass_fds,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            cwd=self.home,
        )
        theirs.close()
        for fd in [call_theirs.detach(), box, written, stack_dump_writer, *pass_fds]:
            os.close(fd)
        os.set_blocking(self.output, False)
        os.set_blocking(self.stack_dump, False)
        self.printed = b""
        self.imported: Report | None = None
        message: dict[str, Any] = {
            "op": "setup",
            "repo": self.home,
            "unrecorded_read": [self.home, "/dev/null"],
            "unrecorded_write": [self.home],
            "seed": 7,
            "freeze_time": None,
            "sys_executable": None,
            "venv_dir": None,
            "site_excludes_repository": False,
            "description_limits": DESCRIPTION_LIMITS,
        }
        message.update(setup)
        self.ready = self.ask(message)
        self.send({"op": "path", "sys_path": [self.home]})
        if module is not None:
            self.import_(module, path)

    def send(self, message: dict[str, Any]) -> None:
        body = marshal.dumps(message, 2)
        self.socket.sendall(b"MNC2" + len(body).to_bytes(4, "little") + body)

    def receive(self, timeout: float = RECEIVE_TIMEOUT_SECONDS) -> Report:
        header = self._exactly(8, timeout)
        assert header[:4] == b"MNC2", header
        return marshal.loads(self._exactly(int.from_bytes(header[4:], "little"), timeout))

    def _exactly(self, count: int, timeout: float) -> bytes:
        data = b""
        sources: list[socket.socket | int] = [self.socket, self.output]
        end = time.monotonic() + timeout
        while len(data) < count:
            left = end - time.monotonic()
            ready, _, _ = select.select(sources, [], [], max(0, left))
            if self.output in ready and not self._drain():
                ready, _, _ = select.select(sources[:1], [], [], max(0, left))
            if self.socket in ready:
                chunk = self.socket.recv(count - len(data))
                if not chunk:
                    raise EOFError("the harness is gone: " + self.text())
                data += chunk
            elif left <= 0:
                raise TimeoutError("no answer: " + self.text())
        return data

    def _drain(self) -> bool:
        try:
            chunk = os.read(self.output, 1 << 16)
        except BlockingIOError:
            return True
        self.printed += chunk
        return bool(chunk)

    def text(self) -> str:
        """All that was printed so far."""
        while select.select([self.output], [], [], 0)[0] and self._drain():
            if not select.select([self.output], [], [], 0)[0]:
                break
        return self.printed.decode("utf-8", "replace")

    def ask(self, message: dict[str, Any]) -> Report:
        self.send(message)
        return self.receive()

    def report(self) -> tuple[int, Report | None, Report | None]:
        """The report's state, the short and the full report."""
        assert self.box[:4] == b"MNB1", self.box[:4]
        assert int.from_bytes(self.box[16:24], "little") == self.request_number
        short = int.from_bytes(self.box[8:12], "little")
        full = int.from_bytes(self.box[12:16], "little")
        assert short <= 32768 - 64 and full <= SIZE - 65536
        return (
            self.box[4],
            marshal.loads(self.box[64 : 64 + short]) if short else None,
            marshal.loads(self.box[65536 : 65536 + full]) if full else None,
        )

    def _clear(self) -> None:
        self.request_number += 1
        self.box[:64] = (
            b"MNB1\x01" + bytes(11) + self.request_number.to_bytes(8, "little") + bytes(40)
        )

    def import_(
        self,
        module: str,
        path: str | None = None,
        description_limits: Mapping[str, int] | None = None,
    ) -> Report | None:
        self._clear()
        self.imported = self.ask(
            {
                "op": "import",
                "module": module,
                "path": path,
                "description_limits": dict(DESCRIPTION_LIMITS, **(description_limits or {})),
            }
        )
        return self.report()[2]

    def start_call(
        self,
        name: str,
        args: Sequence[object] = (),
        kind: str = "function",
        receiver: object = None,
        **more: Any,
    ) -> Report:
        module, _, qualname = name.partition(":")
        self._clear()
        self.message: dict[str, Any] = {
            "target": {
                "module": module,
                "path": more.pop("path", None),
                "qualname": qualname,
                "kind": kind,
            },
            "receiver": receiver,
            "args": list(args),
            "kwargs": more.pop("kwargs", []),
            "seed": more.pop("seed", 3),
            "cwd": more.pop("cwd", self.home),
            "description_limits": dict(DESCRIPTION_LIMITS, **more.pop("description_limits", {})),
            "needs_no_building": more.pop("needs_no_building", False),
        }
        for condition in CONDITIONS:
            if condition in more:
                self.message[condition] = more.pop(condition)
        rlimits = more.pop("rlimits", [])
        assert not more, more
        forked = self.ask({"op": "fork_ahead"})
        assert forked["op"] == "forked", forked
        for number, soft, hard in rlimits:
            resource.prlimit(forked["pid"], number, (soft, hard))
        return forked

    def let_go(self) -> None:
        """Gives the process that was forked its call."""
        body = marshal.dumps(self.message, 2)
        self.call_socket.sendall(b"MNC2" + len(body).to_bytes(4, "little") + body)

    def call(
        self,
        name: str,
        args: Sequence[object] = (),
        kind: str = "function",
        receiver: object = None,
        **more: Any,
    ) -> Report:
        """The full report of a call that ends by itself."""
        forked = self.start_call(name, args, kind, receiver, **more)
        assert "pid" in forked, forked
        self.let_go()
        self.wait_for_end(forked["pid"], RECEIVE_TIMEOUT_SECONDS)
        self.reap(forked["pid"])
        report_state, short, full = self.report()
        self.report_state, self.short = report_state, short
        assert report_state == 3, (report_state, short, self.exited, self.text())
        assert self.exited["status"] == 0, self.exited
        return full

    def call_and_kill(
        self, name: str, seconds: float, args: Sequence[object] = (), **more: Any
    ) -> tuple[int, Report | None, Report | None]:
        """The mailbox of a call that is killed after a while, if it does not end before."""
        forked = self.start_call(name, args, **more)
        self.let_go()
        try:
            self.wait_for_end(forked["pid"], seconds)
        except TimeoutError:
            os.kill(forked["pid"], signal.SIGKILL)
            self.wait_for_end(forked["pid"], RECEIVE_TIMEOUT_SECONDS)
        self.reap(forked["pid"])
        return self.report()

    def wait_for_end(self, pid: int, seconds: float) -> None:
        """Waits until a call has ended; the harness leaves its exit status in the kernel."""
        end = time.monotonic() + seconds
        while stat_of(pid)[0] != "Z":
            if time.monotonic() >= end:
                raise TimeoutError("it has not ended: " + self.text())
            if not self._wait_for_output(0.001):
                raise EOFError("the harness is gone: " + self.text())

    def _wait_for_output(self, seconds: float) -> bool:
        """Reads what is printed meanwhile; whether the harness can still print."""
        ready, _, _ = select.select([self.output], [], [], seconds)
        return not ready or self._drain()

    def reap(self, pid: int) -> None:
        """Has the harness take the exit status, which is what the kernel kept."""
        kept = int(stat_of(pid)[-1])
        self.exited = self.ask({"op": "reap", "pid": pid})
        seen = [self.exited.get(key) for key in ("op", "pid", "status")]
        assert seen == ["reaped", pid, kept], (self.exited, kept)

    def close(self) -> int:
        self.socket.close()
        try:
            code = self.process.wait(RECEIVE_TIMEOUT_SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
            self.call_socket.close()
            os.close(self.output)
            os.close(self.stack_dump)
            self.box.close()
            shutil.rmtree(self.home, ignore_errors=True)
        return code

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
