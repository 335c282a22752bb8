import os
import signal
import subprocess
import tempfile

import pytest


def alone(lines, seconds):
    """Runs lines that know the names of this file in a process of their own.

    Gives the number with which it ended, below zero for a signal, and what it said. The seconds
    begin when Python is up, and whoever takes more is shown where it is.
    """
    start = (
        "import faulthandler, runpy, sys\n"
        "names = runpy.run_path(sys.argv[1])\n"
        "faulthandler.dump_traceback_later(int(sys.argv[3]), exit=True)\n"
        "exec(sys.argv[2], names)\n"
        "faulthandler.cancel_dump_traceback_later()\n"
    )
    command = [sys.executable, "-c", start, __file__, "\n".join(lines), str(seconds)]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        try:
            process.wait(seconds + 60)
        except subprocess.TimeoutExpired:
            pytest.fail("it was still there after " + str(seconds + 60) + " seconds")
        finally:
            # Whatever it started ends with it.
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
        if process.returncode == 1 and "Timeout (" in text:
            pytest.fail("it was still at it after " + str(seconds) + " seconds: " + text)
        return process.returncode, text
