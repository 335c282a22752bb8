"""Does the work of `site`: `.pth` files, `sitecustomize`.

Python is started with `-S`, by the base installation of its environment, so that this code finds
the harness with its references taken. That of an environment of the repository runs when the first
code of the guest's does: under the limits of an import, and watched by the audit hook. Afterwards
the interpreter is as if Python itself had run `site`.
"""

from __future__ import annotations

import site
import sys
from builtins import __import__ as import_for_guest

if False:  # for type checkers only: nothing is loaded at run time
    from typing import Any

    from state.audit import Audit

_site: Any = site
_sys: Any = sys
_getframe = sys._getframe
# Where `no_site` is in `sys.flags`.
NO_SITE = 6


class OutOfMemory(BaseException):
    """A `MemoryError` on its way through `site`, which goes on after every `Exception`."""


class SiteStart:
    """What is still to be done before the guest's first line."""

    __slots__ = ("executable", "import_roots", "is_pending", "venv_dir")

    def __init__(self, executable: str | None, venv_dir: str | None) -> None:
        self.executable = executable
        # The directory of a virtual environment.
        self.venv_dir = venv_dir
        self.import_roots: list = []
        self.is_pending = True

    def enter(self, audit: Audit) -> None:
        """Makes this the interpreter that the guest's code usually has; in guest mode."""
        self.run()
        # Python lists these when it looks for modules, whether it may or not.
        audit.search_path = frozenset([path for path in sys.path if type(path) is str])
        sys.path[:0] = self.import_roots

    def run(self) -> None:
        """What Python itself would have done at its start."""
        self.is_pending = False
        if not sys.flags.no_site:
            return
        # Other interpreters are started with these flags, and need their `site`.
        _sys.flags = _flags_with_site()
        if self.executable is not None:
            sys.executable = self.executable
        if self.venv_dir is not None:
            sys.prefix = sys.exec_prefix = self.venv_dir
        genuine = _site.execsitecustomize
        _site.exec = _execute_line
        _site.execsitecustomize = _customize
        try:
            _site.main()
        except OutOfMemory as error:
            raise error.args[0] from None
        finally:
            del _site.exec
            _site.execsitecustomize = genuine


def _flags_with_site() -> Any:
    """`sys.flags` without `-S`: the type of the genuine ones has no constructor."""
    genuine = sys.flags
    items = list(genuine)
    items[NO_SITE] = 0
    text = repr(genuine).replace("no_site=1", "no_site=0")
    members: dict = {"__slots__": (), "__module__": "sys", "__repr__": lambda _: text}
    for name in dir(genuine):
        if name[:2] != "__" and name not in ("count", "index"):
            members[name] = getattr(genuine, name)
    members["no_site"] = 0
    return type("flags", (tuple,), members)(items)


def _execute_line(line: str) -> None:
    """Executes a line of a `.pth` file, in place of the `exec` of `site`."""
    caller = _getframe(1)
    # Lines of namespace packages look for it in the frame that executes them.
    sitedir = caller.f_locals["sitedir"]  # noqa: F841
    try:
        exec(line, caller.f_globals, caller.f_locals)
    except MemoryError as error:
        raise OutOfMemory(error) from None


def _customize() -> None:
    """As `site.execsitecustomize`."""
    try:
        import_for_guest("sitecustomize")
    except MemoryError as error:
        raise OutOfMemory(error) from None
    except Exception as error:
        if not isinstance(error, ImportError) or error.name != "sitecustomize":
            text = "Error in sitecustomize; set PYTHONVERBOSE for traceback:\n"
            print(text + type(error).__name__ + ": " + str(error), file=sys.stderr)
