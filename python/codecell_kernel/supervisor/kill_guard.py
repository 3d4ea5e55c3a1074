"""Keeps user code from killing parked copies: the supervisor checks the worker's signals first.

The worker installs a seccomp filter that reports every system call of the kill family to a listener, which the
supervisor holds. The arguments are scalars, so user code cannot change them between the check
and the call. Only a pid can be reused meanwhile.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import select
from _struct import Struct

from .processes import pids

NOTIFICATION = Struct("<QIIiIQQQQ")
RESPONSE = Struct("<QqiI")
RECEIVE, SEND, SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082104
SYNC_WAKE_UP = 1  # since Linux 6.6
CONTINUE = 1
ESRCH, ENOSYS = 3, 38
NUMBERS = {
    # machine: (calls whose first argument is a pid or group, calls whose first argument is a thread or pid)
    "x86_64": ((62, 129), (234, 297, 200, 434)),
    "aarch64": ((129, 138), (131, 240, 130, 434)),
}
PIDFD_SEND_SIGNAL = 424


class KillGuard:
    """Answers the calls that the worker's filter reports."""

    def __init__(self, fd):
        self.fd = fd
        from fcntl import ioctl

        self.ioctl = ioctl
        try:
            # The caller hands its processor over: a call takes half the time, and fewer signals arrive before RECEIVE.
            ioctl(fd, SET_FLAGS, SYNC_WAKE_UP)
        except OSError:
            pass
        self.poll = select.poll()
        self.poll.register(fd, select.POLLIN)
        self.by_pid, self.by_thread = NUMBERS[posix.uname().machine]

    def answer(self, protects):
        """`protects(caller, target)` says whether the caller may not signal the target."""
        # Poll again: without a pending call, RECEIVE would block the whole supervisor.
        if not any(events & select.POLLIN for _, events in self.poll.poll(0)):
            return
        buffer = bytearray(80)
        try:
            self.ioctl(self.fd, RECEIVE, buffer)
        except OSError:
            return
        number, caller, _, call, _, _, first, second, _ = NOTIFICATION.unpack_from(buffer)
        target = first & 0xFFFFFFFF
        target = target - (1 << 32) if target >> 31 else target
        error, flags = 0, CONTINUE
        if call in self.by_pid and target == -1:
            self.kill_everybody(caller, second & 0x7F, protects)
            flags = 0
        elif call in self.by_pid + self.by_thread and protects(caller, abs(target)):
            error, flags = -ESRCH, 0
        elif call == PIDFD_SEND_SIGNAL:
            error, flags = -ENOSYS, 0  # the target is unknown here: a /proc directory works as a pidfd too
        try:
            self.ioctl(self.fd, SEND, RESPONSE.pack(number, 0, error, flags))
        except OSError:
            pass

    def kill_everybody(self, caller, signal, protects):
        """Does kill(-1) for the caller, but spares the supervisor and the parked copies."""
        for pid in pids():
            if pid not in (1, caller) and not protects(caller, pid):
                try:
                    posix.kill(pid, signal)
                except OSError:
                    pass

    def close(self):
        posix.close(self.fd)
