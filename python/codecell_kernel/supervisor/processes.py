"""Finds, checks and kills processes of the cell."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import select

from ..measure.proc import pids, read_proc

SIGKILL, SIGCONT, SIGSTOP = 9, 18, 19


class NewProcesses:
    """Whether a process was started since the last check: one read instead of a walk over /proc after each run."""

    def __init__(self):
        self.fd = posix.open("/proc/loadavg", posix.O_RDONLY | posix.O_CLOEXEC)
        self.latest = b""

    def any(self):
        latest = posix.pread(self.fd, 128, 0).rpartition(b" ")[2]
        # gVisor does not count and always says 0: treat that as a change
        changed = latest != self.latest or latest.strip() == b"0"
        self.latest = latest
        return changed

    def began(self, own, worker):
        """The first worker has started. If it and this process are all that ever was in this pid namespace, its first run has
        nothing to sweep unless it starts something itself.
        """
        self.any()
        if (own, worker, self.latest.strip()) != (1, 2, b"2"):
            self.forget()

    def copied(self, pid, forks):
        """A copy used one pid, or two. If anything else was started meanwhile, the next check has to report it."""
        before = self.latest
        self.any()
        if not before or forks not in (1, 2) or int(before) + forks != pid or int(self.latest) != pid:
            self.forget()

    def forget(self):
        """Makes the next check report a change."""
        self.latest = b""


def kill_all_but(kept, reap, held=(), before_look=lambda: None):
    """Kills every other process and returns how many. Sends SIGSTOP first, so that a fork bomb cannot outrun the kills.

    `held` are kept processes that are stopped meanwhile: their threads could fork faster than that too. A stop takes effect
    only once a thread of the process is scheduled, so a process may still start after the last check.
    """
    for pid in held:
        signal_quietly(pid, SIGSTOP)
    try:
        return kill_others(kept, reap, before_look)
    finally:
        for pid in held:
            signal_quietly(pid, SIGCONT)


def kill_others(kept, reap, before_look):
    ended = set()
    for round_number in range(2000):
        before_look()
        others = [pid for pid in pids() if pid not in kept]
        if not others:
            break
        ended.update(others)
        for signal in (SIGSTOP, SIGKILL):
            for pid in others:
                signal_quietly(pid, signal)
        reap()
        if round_number > 3:
            if not any(alive(pid) for pid in others):
                break  # only zombies are left, whose parent is the worker: it reaps them
            select.select([], [], [], 0.0005)
    return len(ended)


def signal_quietly(pid, signal):
    try:
        posix.kill(pid, signal)
    except OSError:
        pass


def is_there(pid):
    """Whether a process has this pid, even if it is a zombie."""
    try:
        posix.kill(pid, 0)
    except OSError:
        return False
    return True


def freeze_copy(pid):
    """Stops a process that claims to be a parked copy. Returns whether it can be one.

    The message may be forged, and sweeps spare the process that it names. So the process must be a child of the
    supervisor, which notices its death; lead its own session, out of reach of groups and terminals; and stay stopped.
    """
    signal_quietly(pid, SIGSTOP)
    return is_own_session(pid)


def is_own_session(pid):
    """Whether it is a child of the supervisor and leads its own session."""
    _, _, fields = read_proc(pid, "stat").rpartition(b") ")
    return fields.split()[1:4] == [b"%d" % posix.getpid(), b"%d" % pid, b"%d" % pid]  # parent, group, session


def session_of(pid):
    """The session's id, or -1 if the process has exited."""
    try:
        return posix.getsid(pid)
    except OSError:
        return -1


def alive(pid):
    state = read_proc(pid, "stat").rpartition(b") ")[2][:1]
    return state != b"" and state != b"Z"
