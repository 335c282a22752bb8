"""Tells which Python it runs with."""

import shutil
import subprocess
import sys

import only_in_the_environment


def fine():
    return "fine"


def where():
    return [sys.prefix, sys.executable, only_in_the_environment.__file__, shutil.which("python")]


def prefix_of_a_child():
    question = [sys.executable, "-c", "import sys; print(sys.prefix, end='')"]
    return subprocess.run(question, capture_output=True, check=True, text=True).stdout
