"""Builtins as they were before any user code ran.

User code may replace `builtins.len` or `builtins.compile`. Every kernel module therefore starts with
`from ..shared.pristine import BUILTINS as __builtins__`. A function takes its builtins from there when it is defined, so
a patched builtin affects user code only.
"""
import builtins

BUILTINS = dict(vars(builtins))


class restored:
    """Puts the original builtins back while the kernel calls library code (traceback, json)."""

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
