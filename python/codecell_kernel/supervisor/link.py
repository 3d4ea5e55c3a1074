"""The supervisor's end of a worker: request pipe, reply packets, output pipes, kill guard."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import select
from time import monotonic

import _signal
import _socket

from ..shared.frames import TOKEN_BYTES, head
from ..shared.lean_json import loads
from ..shared.pass_descriptors import pass_descriptors
from .channel import Outlet, read_some
from .kill_guard import KillGuard

HEADER_BYTES = 200 << 10
LAST_FOR_NOW = ("done", "reply")  # nothing follows before the next request: saves a read
F_SETPIPE_SZ, PIPE_BYTES = 1031, 1 << 20


class WorkerLink:
    """`start` forks a fresh worker; `unborn` makes the descriptors for one that another worker forks."""

    def __init__(self):
        self.ready = False
        self.dead = None  # the wait status, once the worker is dead
        self.is_killed = False  # it dies soon, whatever it still answers
        self.is_calming = False
        self.exposed = None  # the frame with the host's functions that the worker has
        self.packets = 0  # that the last `receive` read
        self.pid = 0
        self.guard = None
        self.token = posix.urandom(TOKEN_BYTES)
        requests, requests_write = posix.pipe2(posix.O_CLOEXEC)
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET | _socket.SOCK_CLOEXEC)
        out, out_write = posix.pipe2(posix.O_CLOEXEC)
        err, err_write = posix.pipe2(posix.O_CLOEXEC)
        self.socket = ours
        self.replies = ours.fileno()
        self.worker_side = [requests, theirs.detach(), out_write, err_write]
        self.streams = {out: "stdout", err: "stderr"}
        self.stream_poll = select.poll()
        for fd in self.streams:
            self.stream_poll.register(fd, select.POLLIN)
        self.outlet = Outlet(requests_write, reader_may_die=True)
        widen(requests_write)

    @property
    def is_up(self):
        """Whether it can take a request. A run sent to a dead or dying worker would be reported as crashed, although it never
        started.
        """
        return self.ready and self.dead is None and not self.is_killed

    @classmethod
    def start(cls, run_worker, config, notify_filter):
        link = cls()
        link.pid = posix.fork()
        if link.pid == 0:
            run_worker(*link.worker_side, link.token, config, notify_filter)
        link.close_worker_side()
        link.receive_guard()
        link.unblock()
        return link

    @classmethod
    def unborn(cls, parent):
        """(link, descriptors) for a fork. It inherits its parent's filter, so the parent's guard covers it too."""
        link = cls()
        link.unblock()
        descriptors, link.worker_side = link.worker_side, []
        return link, descriptors

    def hand_over(self, descriptors):
        """Sends descriptors to the worker, which receives them when it handles the request."""
        pass_descriptors(self.socket, b"f", descriptors)
        for fd in descriptors:
            posix.close(fd)

    def close_worker_side(self):
        for fd in self.worker_side:
            posix.close(fd)
        self.worker_side = []

    def unblock(self):
        for fd in (self.replies, *self.streams):
            posix.set_blocking(fd, False)

    def receive_guard(self):
        """Waits for the filter's listener: no user code runs before the filter is installed."""
        _, ancillary, _, _ = self.socket.recvmsg(1, 64)
        if ancillary:
            fd = int.from_bytes(ancillary[0][2][:4], "little")
            posix.set_inheritable(fd, False)
            self.guard = KillGuard(fd)

    def send(self, header, body=b""):
        self.outlet.write(head(header, len(body)), body)

    def calm(self):
        """Tells the worker to discard a late interrupt. It gets no new one until it confirms."""
        self.is_calming = True
        self.send({"t": "calm"})

    def receive(self):
        """Messages that carry the token. Drops anything else that user code wrote to this socket."""
        messages = []
        self.packets = 0
        while len(messages) < 64:
            try:
                packet = read_some(self.replies)
            except (BlockingIOError, ConnectionError):
                break
            if not packet:
                break
            self.packets += 1
            if packet[:16] != self.token or len(packet) < 20:
                continue
            length = int.from_bytes(packet[16:20], "little")
            text = packet[20 : 20 + length]
            # the real worker writes ASCII without DEL; other text is forged, and would grow when it is encoded again
            if length > HEADER_BYTES or b"\x7f" in text:
                continue
            try:
                header = loads(text.decode("ascii"))
            except Exception:  # forged text; some parser errors need modules that are not loaded
                continue
            if isinstance(header, dict):
                messages.append((header, packet[20 + length :]))
                if header.get("t") in LAST_FOR_NOW:
                    break
        return messages

    def resume(self, pid, seconds):
        """Wakes a parked copy to replace the dead worker. Also sends SIGCONT: user code may have stopped it."""
        while self.receive():
            pass
        self.outlet.clear()
        try:
            posix.kill(pid, _signal.SIGUSR2)
            posix.kill(pid, _signal.SIGCONT)
        except OSError:
            return False
        end = monotonic() + seconds
        poll = select.poll()
        poll.register(self.replies, select.POLLIN)
        while monotonic() < end:
            poll.poll(max(1, int((end - monotonic()) * 1000)))
            if any(header.get("t") == "resumed" for header, _ in self.receive()):
                self.pid, self.dead, self.is_killed, self.is_calming = pid, None, False, False
                self.exposed = None  # a copy may be older than the latest functions
                return True
        return False

    def close(self):
        for fd in (*self.streams, self.outlet.fd):
            posix.close(fd)
        self.socket.close()


def widen(pipe):
    """A larger pipe needs fewer wake-ups in a bulk transfer. Linux may refuse it if this user has many pipes."""
    from fcntl import fcntl

    try:
        fcntl(pipe, F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:
        pass
