"""Sends displays in order with what is printed, although both go separate ways to the supervisor.

The supervisor forwards what it reads at once, from the pipes of the output and from the socket of the messages. So a display
is sent when it has read all output, and user code continues when it has read the display.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
from time import monotonic, sleep

FIONREAD = 0x541B  # bytes in a pipe
SIOCOUTQ = 0x5411  # bytes that the other end of a socket has not read
LONGEST_WAIT = 1.0  # seconds; a host that is slow to read gets the display out of order
PAUSE = 0.0002


class OrderedDisplays:
    def __init__(self, send, replies, out):
        """replies() and out() return descriptors: a fork has others."""
        self.send = send
        self.replies = replies
        self.out = out

    def __call__(self, header, body):
        for fd in self.out():
            wait_until_read(fd, FIONREAD)
        self.send(header, body)
        if not header["more"]:
            wait_until_read(self.replies(), SIOCOUTQ)


def wait_until_read(fd, request):
    """Waits until nothing is left to read at the other end. Returns early where the operating system cannot tell."""
    try:
        from fcntl import ioctl

        end = monotonic() + LONGEST_WAIT
        while any(ioctl(fd, request, bytes(4))) and monotonic() < end:
            sleep(PAUSE)
    except (ImportError, OSError):
        pass
