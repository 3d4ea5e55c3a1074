"""The processes of this cell, seen by its pid 1."""
from .pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import select

SIGKILL, SIGSTOP = 9, 19
PAGE = 4096


def pids():
    return [int(name) for name in posix.listdir("/proc") if name[0].isdigit()]


class NewProcesses:
    """Whether anything was started since the last look: one read, instead of a walk over /proc after each run."""

    def __init__(self):
        self.fd = posix.open("/proc/loadavg", posix.O_RDONLY | posix.O_CLOEXEC)
        self.latest = b""

    def any(self):
        latest = posix.pread(self.fd, 128, 0).rpartition(b" ")[2]
        changed = latest != self.latest
        self.latest = latest
        return changed


def kill_all_but(kept, reap):
    """Ends every other process and returns how many. SIGSTOP goes first, so that a fork bomb cannot outrun us."""
    ended = set()
    for round_number in range(2000):
        others = [pid for pid in pids() if pid not in kept]
        if not others:
            break
        ended.update(others)
        for signal in (SIGSTOP, SIGKILL):
            for pid in others:
                try:
                    posix.kill(pid, signal)
                except OSError:
                    pass
        reap()
        if round_number > 3:
            if not any(alive(pid) for pid in others):
                break  # zombies whose parent is the worker: it reaps them itself
            select.select([], [], [], 0.0005)
    return len(ended)


def alive(pid):
    try:
        fd = posix.open("/proc/%d/stat" % pid, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return False
    try:
        return posix.read(fd, 512).rpartition(b") ")[2][:1] != b"Z"
    except OSError:
        return False
    finally:
        posix.close(fd)


def resident_bytes(left_out):
    """Private resident memory of the cell's processes, for hosts without a memory cgroup."""
    total = 0
    for pid in pids():
        if pid in left_out:
            continue
        try:
            fd = posix.open("/proc/%d/statm" % pid, posix.O_RDONLY | posix.O_CLOEXEC)
        except OSError:
            continue
        try:
            fields = posix.read(fd, 128).split()
            total += (int(fields[1]) - int(fields[2])) * PAGE
        except (OSError, IndexError):
            pass
        finally:
            posix.close(fd)
    return total
