import os
import signal
import subprocess
import tempfile

import pytest


def run_in_subprocess(lines, seconds):
    """Runs lines of Python, with the names of this file, in a process of their own.

    Returns the exit code (negative for a signal) and what was written to standard error. The
    seconds count from the start of Python; a process that takes longer is killed, and its stack
    is shown.
    """
    start = (
        "import faulthandler, runpy, sys\n"
        "names = runpy.run_path(sys.argv[1])\n"
        "faulthandler.dump_traceback_later(int(sys.argv[3]), exit=True)\n"
        "exec(sys.argv[2], names)\n"
        "faulthandler.cancel_dump_traceback_later()\n"
    )
    command = [sys.executable, "-c", start, __file__, "\n".join(lines), str(seconds)]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
            start_new_session=True,
        )
        try:
            process.wait(seconds + 60)
        except subprocess.TimeoutExpired:
            pytest.fail("the process had not ended after " + str(seconds + 60) + " seconds")
        finally:
            # Also the processes that it started.
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
        if process.returncode == 1 and "Timeout (" in text:
            pytest.fail("the call had not ended after " + str(seconds) + " seconds: " + text)
        return process.returncode, text
