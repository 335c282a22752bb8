"""Writes `modules.txt`: the dotted names of the standard library's modules.

python3 modules.py > modules.txt
"""

import os
import pkgutil
import sys
import sysconfig

LEFT_OUT = {"test", "idlelib", "lib2to3", "turtledemo", "ensurepip", "antigravity", "this"}


def main() -> None:
    stdlib = sysconfig.get_paths()["stdlib"]
    names = {name for name in sys.stdlib_module_names if name[0] != "_" or name == "__future__"}
    for package in sorted(names - LEFT_OUT):
        folder = os.path.join(stdlib, *package.split("."))
        if os.path.isdir(folder):
            inside = pkgutil.walk_packages([folder], package + ".", onerror=lambda _: None)
            names.update(module.name for module in inside if "._" not in module.name)
    names.add("os.path")
    wanted = (name for name in names if name.partition(".")[0] not in LEFT_OUT)
    print("\n".join(sorted(name for name in wanted if ".test" not in name)))


main()
