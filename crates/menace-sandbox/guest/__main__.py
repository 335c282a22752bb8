"""Starts the guest harness: loads its packages and hands over to `runtime.zygote`.

The modules of the harness import each other by their dotted names (`from runtime.wire import
Wire`), but they are not in `sys.modules`, their directory is not on `sys.path`, and they share a
private copy of the builtins, so that the guest can neither find them by name nor change what `len`
means to them. The packages are directories only: a package cannot be imported itself.

`runtime.wire` is loaded from `runtime/wire.pyc` when that fits this interpreter, else from
`runtime/wire.py`. The `.pyc` files may come in a bundle, an open file: four bytes with the length
of the index, the index (name → offset and length), and the contents.
"""

if False:  # for type checkers only: nothing is loaded at run time
    from collections.abc import Callable
    from typing import Any


def make_import(directory: str, bundle: "int | None") -> "Callable[..., Any]":
    """Returns the `__import__` of the harness: its own modules first, then the interpreter's."""
    import builtins
    import sys
    from marshal import loads
    from posix import O_CLOEXEC, O_RDONLY, close, fstat, listdir, open, pread

    magic = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER
    Module = type(sys)
    # Some modules are loaded late, when the guest may have changed the builtins of this file.
    compile, exec, len, memoryview, BaseException = (
        builtins.compile,
        builtins.exec,
        builtins.len,
        builtins.memoryview,
        builtins.BaseException,
    )
    genuine_import = builtins.__import__
    files = set(listdir(directory))
    for package in [name for name in files if "." not in name]:
        files.update([package + "/" + name for name in listdir(directory + "/" + package)])
    packed: Any = None
    index: dict = {}
    # `from __future__ import annotations` has its effect when a file is compiled. Loading the
    # real module would take time and leave it in `sys.modules`.
    future = Module("__future__")
    future.__dict__["annotations"] = None
    loaded = {"__future__": future}

    def read_and_close(descriptor: int) -> "Any":
        try:
            chunks = []
            size, at = fstat(descriptor).st_size, 0
            while at < size:
                chunk = pread(descriptor, size - at, at)
                if not chunk:
                    break
                chunks.append(chunk)
                at += len(chunk)
            return memoryview(chunks[0] if len(chunks) == 1 else b"".join(chunks))
        finally:
            close(descriptor)

    def read_file(path: str) -> "Any":
        return read_and_close(open(directory + "/" + path, O_RDONLY | O_CLOEXEC))

    def load_code(path: str) -> "Any":
        if path + "c" in files:
            place = index.get(path + "c")
            if place is None:
                compiled = read_file(path + "c")
            else:
                compiled = packed[place[0] : place[0] + place[1]]
            if compiled[:4] == magic:
                return loads(compiled[16:])
        return compile(read_file(path), directory + "/" + path, "exec", dont_inherit=True)

    def import_module(
        name: str,
        globals: "dict | None" = None,
        locals: "dict | None" = None,
        fromlist: "tuple | None" = (),
        level: int = 0,
    ) -> object:
        module = loaded.get(name)
        if module is not None:
            return module
        path = name.replace(".", "/") + ".py"
        if path not in files and path + "c" not in files:
            return genuine_import(name, globals, locals, fromlist, level)
        module = Module(name)
        module.__dict__["__builtins__"] = private
        loaded[name] = module
        try:
            exec(load_code(path), module.__dict__)
        except BaseException:
            # An audit hook of the guest may have interrupted the loading: a partial module is
            # dropped.
            del loaded[name]
            raise
        return module

    if bundle is not None:
        packed = read_and_close(bundle)
        index = loads(packed[4 : 4 + int.from_bytes(packed[:4], "little")])
        files.update(index)
    private = dict(vars(builtins))
    private["__import__"] = import_module
    # For `state.integrity`.
    private["__loaded__"] = loaded
    return import_module


def start() -> None:
    """Reads the arguments, hides the harness from the guest and serves until the end."""
    import sys

    directory = __file__.rpartition("/")[0] or "."
    control, call_socket, mailbox, size, stack_dump, *bundle = (int(text) for text in sys.argv[1:])
    sys.argv = [""]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = [sys.executable]
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        # The directory of the script, which Python adds unless it is started with -I or -P.
        del sys.path[0]
    sys.modules["__main__"] = type(sys)("__main__")
    import_module = make_import(directory, *(bundle or [None]))
    import_module("runtime.zygote").serve(control, call_socket, mailbox, size, stack_dump)


start()
