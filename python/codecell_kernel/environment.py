"""The variables of the environment, set without loading `os`: that takes a cold cell two milliseconds."""
from .pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import sys


def set_environment(values):
    """Puts these in the place of all that there are. `os` reads `posix.environ` when it is loaded later."""
    if "os" in sys.modules:
        environ = sys.modules["os"].environ
        environ.clear()
        environ.update(values)
        return
    for name in [*posix.environ]:
        posix.unsetenv(name)
    posix.environ.clear()
    for name, value in values.items():
        posix.putenv(name, value)
        posix.environ[name.encode("utf-8", "surrogateescape")] = value.encode("utf-8", "surrogateescape")
