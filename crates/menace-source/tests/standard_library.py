"""Prints the version, the directory of the standard library, and the files that do not compile."""

import os
import sys
import sysconfig
import warnings

warnings.simplefilter("ignore")
library = sysconfig.get_path("stdlib")
print("{}.{}".format(*sys.version_info))
print(library)
if sys.version_info < (3, 8) or sys.version_info >= (3, 15):
    sys.exit("not a version that is compared")
for directory, directories, files in os.walk(library):
    directories[:] = [name for name in directories if name not in ("site-packages", "__pycache__")]
    for name in files:
        if not name.endswith(".py"):
            continue
        path = os.path.join(directory, name)
        try:
            with open(path, "rb") as file:
                compile(file.read(), path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            print(os.path.relpath(path, library).replace(os.sep, "/"))
