"""Starts the guest harness: loads the files beside it and hands over to `zygote`.

The siblings are ordinary modules to each other (`import wire` works between them), but they are
not in `sys.modules`, their directory is not on `sys.path`, and they share a private copy of the
builtins, so that a guest can neither find them by name nor change what `len` means to them.
A sibling is taken from `<name>.pyc` when that fits this interpreter, else from `<name>.py`. All `.pyc`
may be in one file, `bundle`: a marshalled dictionary of their contents.
"""


def load_siblings(directory):
    """The import function of the harness: siblings first, then the interpreter's own."""
    import builtins
    import sys
    from marshal import loads
    from posix import O_CLOEXEC, O_RDONLY, close, fstat, listdir, open, read

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
    bundle = {}
    loaded = {}

    def contents(name):
        descriptor = open(directory + "/" + name, O_RDONLY | O_CLOEXEC)
        try:
            chunks = []
            left = fstat(descriptor).st_size
            while left > 0:
                chunk = read(descriptor, left)
                if not chunk:
                    break
                chunks.append(chunk)
                left -= len(chunk)
            return b"".join(chunks)
        finally:
            close(descriptor)

    def code_of(name):
        if name + ".pyc" in files:
            compiled = bundle.get(name + ".pyc") or contents(name + ".pyc")
            if compiled[:4] == magic:
                return loads(memoryview(compiled)[16:])
        path = name + ".py"
        return compile(contents(path), directory + "/" + path, "exec", dont_inherit=True)

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

    if "bundle" in files:
        bundle = loads(contents("bundle"))
        files.update(bundle)
    private = dict(vars(builtins))
    private["__import__"] = sibling_or_module
    return sibling_or_module


def start():
    """Reads the arguments, hides the harness from the guest and serves until the end."""
    import sys

    directory = __file__.rpartition("/")[0] or "."
    control, go, mailbox, size, frames = (int(text) for text in sys.argv[1:6])
    sys.argv = [""]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = [sys.executable]
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        # The directory of the script, which only -I and -P keep off the path.
        del sys.path[0]
    sys.modules["__main__"] = type(sys)("__main__")
    load_siblings(directory)("zygote").serve(control, go, mailbox, size, frames)


start()
