"""Reads what the OS tells about processes."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix


def pids():
    return [int(name) for name in posix.listdir("/proc") if name[0].isdigit()]


def read_proc(pid, name):
    try:
        fd = posix.open("/proc/%s/%s" % (pid, name), posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return posix.read(fd, 4096)
    except OSError:
        return b""
    finally:
        posix.close(fd)
