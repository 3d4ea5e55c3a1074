"""Keeps user code from killing parked copies: the worker's signals are seen by the supervisor first.

The worker installs a seccomp filter that reports every system call of the kill family to a listener, which the
supervisor holds. Arguments are scalars, so nothing can be swapped between the look and the call except a reused pid.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import select
from _struct import Struct

from .processes import pids

NOTIFICATION = Struct("<QIIiIQQQQ")
RESPONSE = Struct("<QqiI")
RECEIVE, SEND = 0xC0502100, 0xC0182101
CONTINUE = 1
ESRCH, ENOSYS = 3, 38
NUMBERS = {
    # machine: (calls whose first argument is a pid or group, calls whose first argument is a thread or pid)
    "x86_64": ((62, 129), (234, 297, 200, 434)),
    "aarch64": ((129, 138), (131, 240, 130, 434)),
}
PIDFD_SEND_SIGNAL = 424


class KillGuard:
    """In the supervisor: answers what the worker's filter reports."""

    def __init__(self, fd):
        self.fd = fd
        from fcntl import ioctl

        self.ioctl = ioctl
        self.poll = select.poll()
        self.poll.register(fd, select.POLLIN)
        self.by_pid, self.by_thread = NUMBERS[posix.uname().machine]

    def answer(self, protects):
        """`protects(caller, target)` says whether a process is out of the caller's reach."""
        # Asked anew: without a waiting call RECEIVE would block, and with it everything the supervisor does.
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
            error, flags = -ENOSYS, 0  # a directory of /proc is a pidfd too: whom it means cannot be seen from here
        try:
            self.ioctl(self.fd, SEND, RESPONSE.pack(number, 0, error, flags))
        except OSError:
            pass

    def kill_everybody(self, caller, signal, protects):
        """kill(-1) as the caller meant it, sparing the supervisor and the parked copies."""
        for pid in pids():
            if pid not in (1, caller) and not protects(caller, pid):
                try:
                    posix.kill(pid, signal)
                except OSError:
                    pass

    def close(self):
        posix.close(self.fd)
