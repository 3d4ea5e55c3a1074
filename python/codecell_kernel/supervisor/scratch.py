"""One buffer that the supervisor reads messages and output into.

Memory for the largest message that may come would be taken from the kernel for each read and given back after it. Where
the C library asks for huge pages, that is a page of two megabytes to be cleared each time: half a millisecond.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix

BYTES = 256 << 10
VIEW = memoryview(bytearray(BYTES))
WHOLE = (VIEW,)


def read(fd):
    """What there is, up to the size of the buffer; otherwise as posix.read."""
    return VIEW[: posix.readv(fd, WHOLE)].tobytes()
