"""Large bodies that are passed on as they come, and never whole in this process."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix

PIECE = 1 << 20
SPLICE = getattr(posix, "splice", None)
MOVE_NONBLOCK = 3  # SPLICE_F_MOVE | SPLICE_F_NONBLOCK


class NetBody:
    """`left` bytes that belong to a connection of the cell's programs."""

    branch, is_full = None, False  # its credit is its limit

    def __init__(self, supervisor, number, left):
        self.supervisor = supervisor
        self.number = number
        self.left = left

    def move(self):
        """Moves what goes now; True when all of it has gone."""
        try:
            data = posix.read(self.supervisor.channel, min(self.left, PIECE))
        except BlockingIOError:
            return False
        if not data:
            posix._exit(0)  # the host is gone
        self.left -= len(data)
        if self.supervisor.egress is not None:
            self.supervisor.egress.give(self.number, memoryview(data), self.supervisor.poll)
        return not self.left


class BulkRelay:
    """Moved inside the operating system's kernel: `left` bytes that belong to the worker. Once nobody wants them they are read and dropped."""

    def __init__(self, channel, branch, left, wanted):
        self.channel = channel
        self.branch = branch
        self.outlet = branch.link.outlet if wanted else None
        self.left = left
        self.wanted = wanted
        self.is_full = False  # the worker has to read before more can go

    def move(self):
        """Moves what goes now; True when all of it has gone."""
        while self.left:
            if self.wanted and self.outlet.size:
                self.is_full = True
                return False
            try:
                count = self.move_some()
            except BlockingIOError:
                self.is_full = not self.is_full  # either side may be the one to wait for
                return False
            if count == 0:
                posix._exit(0)  # the host is gone
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
