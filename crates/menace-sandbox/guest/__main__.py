"""Starts the guest harness: loads the files beside it and hands over to `zygote`.

The siblings are ordinary modules to each other (`import wire` works between them), but they are
not in `sys.modules`, their directory is not on `sys.path`, and they share a private copy of the
builtins, so that a guest can neither find them by name nor change what `len` means to them.
A sibling is taken from `<name>.pyc` when that fits this interpreter, else from `<name>.py`. The
`.pyc` may come in a bundle, an open file: four bytes that say how long the index is, the index
(where each of them begins, and how long it is), and they themselves.
"""


def load_siblings(directory, bundle):
    """The import function of the harness: siblings first, then the interpreter's own."""
    import builtins
    import sys
    from marshal import loads
    from posix import O_CLOEXEC, O_RDONLY, close, fstat, listdir, open, pread

    magic = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER
    Module = type(sys)
    # Some siblings are loaded late, when a guest may have changed the builtins of this file.
    compile, exec, len, memoryview, BaseException = (
        builtins.compile,
        builtins.exec,
        builtins.len,
        builtins.memoryview,
        builtins.BaseException,
    )
    genuine_import = builtins.__import__
    files = set(listdir(directory))
    packed, index = None, {}
    loaded = {}

    def contents(descriptor):
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

    def file(name):
        return contents(open(directory + "/" + name, O_RDONLY | O_CLOEXEC))

    def code_of(name):
        if name + ".pyc" in files:
            place = index.get(name + ".pyc")
            if place is None:
                compiled = file(name + ".pyc")
            else:
                compiled = packed[place[0] : place[0] + place[1]]
            if compiled[:4] == magic:
                return loads(compiled[16:])
        path = name + ".py"
        return compile(file(path), directory + "/" + path, "exec", dont_inherit=True)

    def sibling_or_module(name, globals=None, locals=None, fromlist=(), level=0):
        module = loaded.get(name)
        if module is not None:
            return module
        if name + ".py" not in files and name + ".pyc" not in files:
            return genuine_import(name, globals, locals, fromlist, level)
        module = Module(name)
        module.__dict__["__builtins__"] = private
        loaded[name] = module
        try:
            exec(code_of(name), module.__dict__)
        except BaseException:
            # A hook of the guest's came between; half of a module is none.
            del loaded[name]
            raise
        return module

    if bundle is not None:
        packed = contents(bundle)
        index = loads(packed[4 : 4 + int.from_bytes(packed[:4], "little")])
        files.update(index)
    private = dict(vars(builtins))
    private["__import__"] = sibling_or_module
    return sibling_or_module


def start():
    """Reads the arguments, hides the harness from the guest and serves until the end."""
    import sys

    directory = __file__.rpartition("/")[0] or "."
    control, go, mailbox, size, frames, *bundle = (int(text) for text in sys.argv[1:])
    sys.argv = [""]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = [sys.executable]
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        # The directory of the script, which only -I and -P keep off the path.
        del sys.path[0]
    sys.modules["__main__"] = type(sys)("__main__")
    load_siblings(directory, *(bundle or [None]))("zygote").serve(control, go, mailbox, size, frames)


start()
