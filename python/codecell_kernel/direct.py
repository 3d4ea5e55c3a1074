"""Entry of the direct layout: bubblewrap has made the cell, and this process is its pid 1."""
from .pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import sys

from .lean_json import loads
from .limits import set_limits
from .supervisor import Supervisor
from .system import set_dumpable

CHANNEL = 4


def main():
    """The channel comes as a descriptor; the last argument holds the limits."""
    posix.closerange(3, CHANNEL)
    posix.closerange(CHANNEL + 1, 1 << 16)  # Node passes inherited descriptors on, and bubblewrap does not close them
    posix.set_inheritable(CHANNEL, False)
    null = posix.open("/dev/null", posix.O_RDWR)
    for fd in (0, 1, 2):
        posix.dup2(null, fd)
    cell = loads(sys.argv[-1])
    for one in cell["identities"]:
        found = posix.stat(one["target"])
        if "%d:%d" % (found.st_dev, found.st_ino) != one["identity"]:
            posix._exit(5)  # a directory was replaced after the host had looked at it
    set_limits(cell)
    set_dumpable(0)
    Supervisor(CHANNEL, read_filter()).main()


def read_filter():
    fd = posix.open("/.kernel/notify.bpf", posix.O_RDONLY)
    try:
        return posix.read(fd, 1 << 16)
    finally:
        posix.close(fd)
