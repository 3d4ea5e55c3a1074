"""Reads into one buffer, and non-blocking writes with a queue: the supervisor never waits for a reader."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix

# One buffer for everything that the supervisor reads. Otherwise each read would allocate memory for the largest possible message
# and free it again. If the C library uses huge pages, Linux would clear two megabytes each time: half a millisecond.
VIEW = memoryview(bytearray(256 << 10))
WHOLE = (VIEW,)


def read_some(fd):
    """Like posix.read, with the buffer's size as the limit."""
    return VIEW[: posix.readv(fd, WHOLE)].tobytes()


class Outlet:
    """A queue of bytes for one descriptor."""

    def __init__(self, fd, reader_may_die=False):
        """With `reader_may_die`, bytes for a dead reader are dropped: its death is reported elsewhere."""
        self.fd = fd
        self.reader_may_die = reader_may_die
        self.waiting = []
        self.size = 0
        posix.set_blocking(fd, False)

    def write(self, *parts):
        if not self.waiting and len(parts) == 1:
            self.write_through(parts[0])
            return
        for data in parts:
            self.enqueue(data)
        self.flush()

    def write_through(self, data):
        """The fast path for one piece: usually it is written at once and nothing is queued."""
        try:
            written = posix.write(self.fd, data)
        except BlockingIOError:
            written = 0
        except BrokenPipeError:
            if not self.reader_may_die:
                raise
            return
        if written < len(data):
            self.enqueue(memoryview(data)[written:])

    def enqueue(self, data):
        if data:
            self.waiting.append(memoryview(data))
            self.size += len(data)

    def flush(self):
        """Writes as much as possible; the rest waits for POLLOUT. Raises OSError if the reader has exited."""
        while self.waiting:
            try:
                written = posix.writev(self.fd, self.waiting[:16])
            except BlockingIOError:
                return
            except BrokenPipeError:
                if not self.reader_may_die:
                    raise
                self.clear()
                return
            self.size -= written
            while self.waiting and written >= len(self.waiting[0]):
                written -= len(self.waiting[0])
                del self.waiting[0]
            if written:
                self.waiting[0] = self.waiting[0][written:]

    def clear(self):
        self.waiting.clear()
        self.size = 0
