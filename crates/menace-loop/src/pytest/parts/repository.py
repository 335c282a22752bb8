import importlib
import sys
from pathlib import Path


def repository():
    """The nearest directory above this file that has the module.

    Else the working directory of pytest, else the directory it was exported from.
    """
    places = [*Path(__file__).resolve().parents, Path.cwd(), *map(Path, REPOSITORY)]
    for place in places:
        if (place / MODULE).is_file():
            return place
    raise FileNotFoundError(MODULE + " is neither above this file nor in the working directory")


ROOT = repository()
sys.path[:0] = [str(ROOT / root) for root in IMPORT_ROOTS]


def require_name(name):
    """Fails when the module has no such name: a missing section is not a fixed one."""
    module = importlib.import_module(MODULE_NAME)
    assert hasattr(module, name), MODULE + " has no " + name
