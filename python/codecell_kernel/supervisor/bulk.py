"""Forwards large bodies as they arrive, so that this process never keeps a whole one in memory."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix

PIECE = 1 << 20
SPLICE = getattr(posix, "splice", None)
MOVE_NONBLOCK = 3  # SPLICE_F_MOVE | SPLICE_F_NONBLOCK


class TakenBody:
    """`left` bytes that this process takes itself: for a network connection of the cell, or for a file."""

    branch, is_full = None, False  # credit limits it, so it is never full

    def __init__(self, channel, left, take):
        self.channel = channel
        self.left = left
        self.take = take

    def move(self):
        """Moves as much as possible without blocking. True once everything has been moved."""
        try:
            data = posix.read(self.channel, min(self.left, PIECE))
        except BlockingIOError:
            return False
        if not data:
            posix._exit(0)  # the host has exited
        self.left -= len(data)
        self.take(memoryview(data))
        return not self.left


class BulkRelay:
    """`left` bytes for the worker, moved inside the Linux kernel. Unwanted bytes are read and dropped."""

    def __init__(self, channel, branch, left, wanted):
        self.channel = channel
        self.branch = branch
        self.outlet = branch.link.outlet if wanted else None
        self.left = left
        self.wanted = wanted
        self.is_full = False  # the worker has to read before more can be moved

    def move(self):
        """Moves as much as possible without blocking. True once everything has been moved."""
        while self.left:
            if self.wanted and self.outlet.size:
                self.is_full = True
                return False
            try:
                count = self.move_some()
            except BlockingIOError:
                self.is_full = not self.is_full  # either side may be the one that blocks
                return False
            if count == 0:
                posix._exit(0)  # the host has exited
            self.left -= count
            self.is_full = False
        return True

    def move_some(self):
        if not self.wanted or SPLICE is None:
            return self.copy_some()
        try:
            return SPLICE(self.channel, self.outlet.fd, min(self.left, PIECE), flags=MOVE_NONBLOCK)
        except BrokenPipeError:
            self.wanted = False
            return self.copy_some()

    def copy_some(self):
        data = posix.read(self.channel, min(self.left, PIECE))
        if data and self.wanted:
            self.outlet.write(data)
        return len(data)
