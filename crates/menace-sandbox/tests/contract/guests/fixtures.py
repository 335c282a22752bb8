"""Uses what it is given."""

import os
import subprocess


def fine():
    return "fine"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def exists(path):
    return os.path.exists(path)


def append(path):
    with open(path, "ab") as file:
        file.write(b"!")


def overwrite(path):
    """With as many bytes as before."""
    size = os.path.getsize(path)
    with open(path, "wb") as file:
        file.write(b"x" * size)


def remove(path):
    os.remove(path)


def variable(name):
    return os.environ.get(name)


def variable_below(name):
    """In a program that it starts."""
    return subprocess.check_output(["/bin/sh", "-c", "printf %s \"$" + name + "\""]).decode()


def change_variable(name):
    os.environ[name] = "other"


# At import nothing was given yet.
AT_IMPORT = [os.environ.get("GIVEN"), os.path.exists("given.txt")]


def at_import():
    return AT_IMPORT
