"""Describes the interpreter that runs it and compiles the guest harness: JSON in, JSON out.

Menace starts it on the host, with ``-I -S -B``, as the base interpreter even of a virtual
environment: no line that a repository could have written is executed. ``.pth`` files are read as
text, not run.

Keeps to what Python 3.4 can parse, so that an old one can still say how old it is.
"""

import sys


def site_directories(prefixes: list) -> list:
    import os
    import site

    found = []
    for directory in site.getsitepackages(prefixes):
        if os.path.isdir(directory) and directory not in found:
            found.append(directory)
    return found


def lines_of(path: str) -> list:
    import os
    import stat

    try:
        # A pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, encoding="utf-8-sig", errors="replace") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return []
            return file.read(1 << 20).splitlines()
    except OSError:
        return []


def mapped_directories(directory: str, line: str) -> list:
    """Where an editable installation keeps its packages, from a module that is only parsed."""
    import ast
    import os
    import re

    name = re.match(r"import\s+(__editable__\w+)", line)
    if not name:
        return []
    try:
        tree = ast.parse("\n".join(lines_of(os.path.join(directory, name.group(1) + ".py"))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: list = []
    for node in tree.body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(getattr(target, "id", None) == "MAPPING" for target in targets):
            try:
                mapping = ast.literal_eval(node.value)
                found.extend(os.path.dirname(str(path)) for path in mapping.values())
            except (ValueError, TypeError, AttributeError):
                continue
    return found


def site_paths(directories: list) -> tuple:
    """What ``site`` would add to ``sys.path``, and the files and directories it read for that."""
    import os

    paths, pth_files, asked = [], [], []
    for directory in directories:
        if directory not in paths:
            paths.append(directory)
        try:
            names = sorted(os.listdir(directory))
        except OSError:
            continue
        for name in names:
            if not name.endswith(".pth") or name.startswith("."):
                continue
            path = os.path.join(directory, name)
            pth_files.append(path)
            for line in lines_of(path):
                if line.startswith("#") or not line.strip():
                    continue
                if line.startswith(("import ", "import\t")):
                    asked.extend(mapped_directories(directory, line))
                    continue
                extra = os.path.abspath(os.path.join(directory, line.rstrip()))
                if os.path.exists(extra):
                    asked.append(extra)
                    if extra not in paths:
                        paths.append(extra)
    return paths, pth_files, [path for path in asked if os.path.exists(path)]


def libraries() -> list:
    """Shared libraries that this interpreter and its usual extension modules are linked with."""
    for name in ("_bz2", "_ctypes", "_decimal", "_hashlib", "_lzma", "_sqlite3", "_ssl", "zlib"):
        try:
            __import__(name)
        except ImportError:
            pass
    found = set()
    try:
        with open("/proc/self/maps", "rb") as maps:
            for line in maps:
                fields = line.rstrip(b"\n").split(None, 5)
                if len(fields) == 6 and fields[5].startswith(b"/") and b".so" in fields[5]:
                    found.add(fields[5].decode("utf-8", "surrogateescape"))
    except OSError:
        pass
    return sorted(found)


def compiled(sources: list) -> list:
    """``.pyc`` files that are never checked against their source."""
    from importlib import _bootstrap_external, util

    found = []
    for name, text in sources:
        source = text.encode("utf-8")
        code = compile(source, name, "exec", dont_inherit=True, optimize=0)
        make = _bootstrap_external._code_to_hash_pyc  # type: ignore[attr-defined]
        content = make(code, util.source_hash(source), False)
        found.append([name + "c", bytes(content).hex()])
    return found


def described(request: dict) -> dict:
    import importlib.util
    import sysconfig

    base_prefix, base_paths = sys.base_prefix, list(sys.path)
    stdlib, platstdlib = sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")
    prefixes = [sys.prefix, sys.exec_prefix]
    if request["venv"] is not None:
        venv = request["venv"]["directory"]
        prefixes = [venv] + (prefixes if request["venv"]["system_site"] else [])
        # As `site` does it; Debian's looks there for whether it is in a virtual environment.
        sys.prefix = sys.exec_prefix = venv
    directories = site_directories(prefixes)
    paths, pth_files, asked = site_paths(directories)
    try:
        pycs = compiled(request["sources"]) if sys.version_info >= (3, 8) else []
    except SyntaxError as error:
        return {"result": "uncompilable", "name": str(error.filename), "message": str(error)}
    return {
        "result": "described",
        "version": list(sys.version_info[:3]),
        "implementation": sys.implementation.name,
        "prefix": sys.prefix,
        "base_prefix": base_prefix,
        "stdlib": stdlib,
        "platstdlib": platstdlib,
        "paths": base_paths + [path for path in paths if path not in base_paths],
        "site_directories": directories,
        "pth_files": pth_files,
        "asked": asked,
        "libraries": libraries(),
        "soabi": sysconfig.get_config_var("SOABI") or "",
        "cache_tag": sys.implementation.cache_tag or "",
        "magic": bytes(importlib.util.MAGIC_NUMBER).hex(),
        "compiled": pycs,
    }


def main() -> None:
    import json

    request = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    sys.stdout.buffer.write(json.dumps(described(request)).encode("ascii"))


main()
