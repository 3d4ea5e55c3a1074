"""One buffer for everything that the supervisor reads.

Otherwise each read would allocate memory for the largest possible message and free it again. If the C library uses huge
pages, Linux would clear two megabytes each time: half a millisecond.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix

BYTES = 256 << 10
VIEW = memoryview(bytearray(BYTES))
WHOLE = (VIEW,)


def read(fd):
    """Like posix.read, with the buffer's size as the limit."""
    return VIEW[: posix.readv(fd, WHOLE)].tobytes()
