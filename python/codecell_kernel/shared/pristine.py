"""Builtins as they were before any user code ran.

User code may replace `builtins.len` or `builtins.compile`. Every kernel module therefore starts with
`from ..shared.pristine import BUILTINS as __builtins__`: functions take their builtins from there when they are made, so a
patched builtin reaches user code only.
"""
import builtins

BUILTINS = dict(vars(builtins))


class restored:
    """Puts the pristine builtins back while library code (traceback, json) works for the kernel."""

    def __enter__(self):
        self.changed = {}
        current = vars(builtins)
        for name, value in BUILTINS.items():
            if current.get(name) is not value:
                self.changed[name] = current.get(name, self)
                current[name] = value

    def __exit__(self, *_):
        current = vars(builtins)
        for name, value in self.changed.items():
            if value is self:
                current.pop(name, None)
            else:
                current[name] = value
