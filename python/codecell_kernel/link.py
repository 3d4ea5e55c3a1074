"""The supervisor's end of a worker: request pipe, reply packets, output pipes, kill guard."""
from .pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import select
from time import monotonic

import _signal
import _socket

from . import worker
from .channel import Outlet
from .frames import head
from .kill_guard import KillGuard
from .lean_json import loads

PACKET_BYTES = 256 << 10
HEADER_BYTES = 200 << 10
LAST_FOR_NOW = ("done", "reply")  # nothing follows before the next request: one look less
F_SETPIPE_SZ, PIPE_BYTES = 1031, 1 << 20


class WorkerLink:
    def __init__(self, config, notify_filter):
        self.ready = self.resumed = False
        self.dead = None  # the wait status, once the worker has ended
        self.token = posix.urandom(worker.TOKEN_BYTES)
        requests, requests_write = posix.pipe2(posix.O_CLOEXEC)
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET | _socket.SOCK_CLOEXEC)
        out, out_write = posix.pipe2(posix.O_CLOEXEC)
        err, err_write = posix.pipe2(posix.O_CLOEXEC)
        self.guard, self.guard_fd = None, -1
        self.socket = ours
        self.replies = ours.fileno()
        self.pid = posix.fork()
        if self.pid == 0:
            hand_out = lambda fd: send_descriptor(theirs, fd)  # noqa: E731
            worker.main(requests, theirs.fileno(), out_write, err_write, self.token, config, notify_filter, hand_out)
        for fd in (requests, out_write, err_write):
            posix.close(fd)
        theirs.close()
        self.streams = {out: "stdout", err: "stderr"}
        self.stream_poll = select.poll()
        for fd in self.streams:
            self.stream_poll.register(fd, select.POLLIN)
        self.outlet = Outlet(requests_write, reader_may_die=True)
        widen(requests_write)
        self.receive_guard()
        for fd in (self.replies, out, err):
            posix.set_blocking(fd, False)

    def receive_guard(self):
        """Waits for the filter's listener: nothing of the user runs before it is in place."""
        _, ancillary, _, _ = self.socket.recvmsg(1, 64)
        if ancillary:
            self.guard_fd = int.from_bytes(ancillary[0][2][:4], "little")
            posix.set_inheritable(self.guard_fd, False)
            self.guard = KillGuard(self.guard_fd)

    def send(self, header, body=b""):
        self.outlet.write(head(header, len(body)), body)

    def receive(self):
        """Messages that carry the token. What user code wrote to this socket is dropped."""
        messages = []
        while len(messages) < 64:
            try:
                packet = posix.read(self.replies, PACKET_BYTES)
            except (BlockingIOError, ConnectionError):
                break
            if not packet:
                break
            if packet[:16] != self.token or len(packet) < 20:
                continue
            length = int.from_bytes(packet[16:20], "little")
            if length > HEADER_BYTES:
                continue
            try:
                # ASCII, as our own worker writes it: other text would grow when it is written out again
                header = loads(packet[20 : 20 + length].decode("ascii"))
            except Exception:  # whatever the parser makes of it; some of its errors need modules that are not loaded
                continue
            if isinstance(header, dict):
                messages.append((header, memoryview(packet)[20 + length :]))
                if header.get("t") in LAST_FOR_NOW:
                    break
        return messages

    def resume(self, pid, seconds):
        """Wakes a parked copy in the dead worker's place. SIGCONT too: user code may have stopped it."""
        while self.receive():
            pass
        self.outlet.clear()
        self.resumed = False
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
                self.pid, self.dead = pid, None
                return True
        return False

    def close(self):
        for fd in (*self.streams, self.outlet.fd):
            posix.close(fd)
        self.socket.close()
        if self.guard is not None:
            self.guard.close()


def widen(pipe):
    """A larger pipe means fewer turns in a bulk transfer; the kernel may refuse when the user has many."""
    from fcntl import fcntl

    try:
        fcntl(pipe, F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:
        pass


def send_descriptor(socket, fd):
    """One byte, and the descriptor with it where there is one."""
    ancillary = [] if fd < 0 else [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fd.to_bytes(4, "little"))]
    socket.sendmsg([b"g"], ancillary)
    if fd >= 0:
        posix.close(fd)
