"""Standard input of one run: what the host sends goes into a pipe, whose other end is the worker's descriptor 0."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import select

from .channel import Outlet
from .link import widen

WINDOW = 1 << 20


class RunInput:
    """Credit limits the bytes that wait here, so a program that never reads costs one window of memory."""

    def __init__(self, supervisor, tell):
        """`tell(bytes)` grants credit to the host."""
        self.reader, writer = posix.pipe2(posix.O_CLOEXEC)
        widen(writer)
        self.outlet = Outlet(writer)
        self.supervisor = supervisor
        self.tell = tell
        self.expected = 0  # bytes of credit that the host has not used yet
        self.has_all = False  # the host has sent everything
        self.is_watched = False  # bytes wait until the program reads
        self.is_open = True
        self.is_paused = False

    def pause(self):
        """Until the interrupt of the run is noticed: CPython's `sys.stdin.read()` notices none while data keeps arriving."""
        self.is_paused = True
        if self.is_open:
            self.watch(False)

    def resume(self):
        self.is_paused = False
        if self.is_open:
            self.move()

    def hand_over(self, link):
        """Passes the reading end to the worker. If that fails, the worker is unusable, and its run reports that."""
        reader, self.reader = self.reader, -1
        try:
            link.hand_over([reader])
        except OSError:
            posix.close(reader)
        self.move()

    def take(self, data, is_last):
        if not self.is_open:
            return
        self.expected -= len(data)
        self.has_all = is_last
        self.move(data)

    def move(self, data=b""):
        """Writes as much as the pipe takes. A program that has closed its input gets nothing more, and no credit is granted."""
        outlet = self.outlet
        if self.is_paused:
            outlet.enqueue(data)
            return
        try:
            if data:
                outlet.write(data)
            else:
                outlet.flush()
        except BrokenPipeError:
            self.close()
            return
        if not outlet.size and self.has_all:
            self.close()
            return
        self.watch(outlet.size > 0)
        room = WINDOW - outlet.size - self.expected
        if room >= WINDOW // 4 and not self.has_all:
            self.expected += room
            self.tell(room)

    def watch(self, is_wanted):
        """Not part of the supervisor's plans: a run without input does not pay for this."""
        if is_wanted == self.is_watched:
            return
        self.is_watched = is_wanted
        if is_wanted:
            self.supervisor.inputs[self.outlet.fd] = self
            self.supervisor.poll.register(self.outlet.fd, select.POLLOUT)
        else:
            self.supervisor.poll.unregister(self.outlet.fd)
            del self.supervisor.inputs[self.outlet.fd]

    def close(self):
        """The end of the input for every process that reads it. Drops what nobody has read."""
        if not self.is_open:
            return
        self.is_open = False
        self.watch(False)
        if self.reader >= 0:
            posix.close(self.reader)
        posix.close(self.outlet.fd)
