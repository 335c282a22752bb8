"""Does something right after a chosen module has been executed, and before anybody uses it.

A finder at the head of `sys.meta_path`; to every other name it says at once that it does not know
it. Invariant: the modules come from where they would have come from without it.
"""

import sys

_modules = sys.modules
_find_spec = _modules["_frozen_importlib"]._find_spec


class Afterwards:
    """The finder, with what is to be done by module name."""

    def __init__(self):
        self.wanted = {}
        sys.meta_path.insert(0, self)

    def add(self, name, action):
        """Calls `action(module)` after each execution of the module, or now if it is there."""
        self.wanted[name] = action
        if name in _modules:
            action(_modules[name])

    def find_spec(self, name, path=None, target=None):
        """Part of the protocol of finders."""
        action = self.wanted.pop(name, None)
        if action is None:
            return None
        try:
            # With the action taken out, this very method answers `None` on the way.
            spec = _find_spec(name, path, target)
        finally:
            self.wanted[name] = action
        if spec is not None and hasattr(spec.loader, "exec_module"):
            _extend(spec.loader, action)
        return spec


def _extend(loader, action):
    execute = loader.exec_module

    def execute_and_act(module):
        try:
            del loader.exec_module
        except AttributeError:
            pass
        execute(module)
        action(module)

    try:
        loader.exec_module = execute_and_act
    except AttributeError:
        # A loader without instance attributes stays as it is.
        pass
