"""Forwards the cell's connections to the proxy on the host, as frames on the channel. It makes no policy decisions.

Each connection has credit in both directions; control frames need none. A client that never reads costs one window of
memory and blocks nobody else.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import select

import _socket

from ..shared.frames import head
from .handover import listen

WINDOW = 256 << 10
WIDE_WINDOW = 1 << 20  # while there are few connections
FEW_STREAMS = 8
CHUNK = 128 << 10
OUTLET_HIGH = 256 << 10
MAX_STREAMS = 64
MAX_SHARE = 4  # of the descriptors that a process may have


class Egress:
    """Accepts connections on a listener that exists before any user code runs."""

    def __init__(self, outlet, most_files, listener=None):
        self.outlet = outlet
        self.most = min(MAX_STREAMS, max(4, most_files // MAX_SHARE))
        self.listener = listen() if listener is None else listener
        self.accepting = self.listener.fileno()
        self.streams = {}  # by the id that both sides use
        self.by_fd = {}
        self.watched = {}  # descriptor to events, as registered with the poll object
        self.latest = 0
        self.is_short = False  # out of descriptors, until a stream ends

    def watch(self, poll):
        """Registers the descriptors to wait for. Others are left out: a hangup would be reported again and again."""
        wanted = {}
        if len(self.streams) < self.most and not self.is_short:
            wanted[self.accepting] = select.POLLIN
        has_room = self.outlet.size < OUTLET_HIGH
        for fd, stream in self.by_fd.items():
            events = stream.interests(has_room)
            if events:
                wanted[fd] = events
        for fd in self.watched.keys() - wanted.keys():
            poll.unregister(fd)
        for fd, events in wanted.items():
            if self.watched.get(fd) != events:
                poll.register(fd, events)
        self.watched = wanted

    def on_event(self, fd, events, poll):
        if fd == self.accepting:
            self.accept()
            return
        stream = self.by_fd.get(fd)
        if stream is None:
            return
        if events & ~select.POLLIN:
            stream.flush()
        if events & ~select.POLLOUT and not stream.is_closed:
            stream.read()
        self.unwatch_closed(stream, poll)

    def accept(self):
        while len(self.streams) < self.most:
            try:
                fd, _ = self.listener._accept()
            except BlockingIOError:
                return
            except OSError:
                self.is_short = bool(self.streams)
                return
            self.latest += 1
            stream = Stream(self, self.latest, _socket.socket(fileno=fd))
            self.streams[self.latest] = self.by_fd[fd] = stream
            self.tell({"t": "net.open", "id": self.latest})
            stream.read()  # most clients send data at once

    def on_message(self, kind, header, body, poll):
        if kind == "net.data":
            self.give(header["id"], body, poll)
            return
        stream = self.streams.get(header["id"])
        if stream is None:
            return  # it ended while the message was in transit
        if kind == "net.credit":
            stream.credit += header["bytes"]
        elif kind == "net.end":
            stream.is_ending = True
            stream.flush()
        elif kind == "net.close":
            stream.close()
        self.unwatch_closed(stream, poll)

    def give(self, number, data, poll):
        """Sends a view of bytes to the client."""
        stream = self.streams.get(number)
        if stream is not None:
            stream.give(data)
            self.unwatch_closed(stream, poll)

    def unwatch_closed(self, stream, poll):
        if stream.is_closed and self.watched.pop(stream.fd, None) is not None:
            poll.unregister(stream.fd)  # before the descriptor's number is reused

    def tell(self, header, body=b""):
        self.outlet.write(head(header, len(body)), body)

    def forget(self, stream):
        del self.streams[stream.number]
        del self.by_fd[stream.fd]
        self.is_short = False


class Stream:
    def __init__(self, egress, number, connection):
        self.egress = egress
        self.number = number
        self.connection = connection
        self.fd = connection.fileno()
        connection.setblocking(False)
        connection.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        self.credit = WINDOW  # bytes that the host will accept
        self.window = WINDOW  # bytes that the host may have in transit
        self.waiting = []  # bytes that the client has not read yet
        self.taken = 0
        self.is_ending = False  # the host sends no more
        self.has_shut = False
        self.is_read = False  # the client sends no more
        self.is_closed = False

    def interests(self, has_room):
        events = select.POLLOUT if self.waiting else 0
        if has_room and self.credit > 0 and not self.is_read:
            events |= select.POLLIN
        return events

    def read(self):
        if self.is_read or self.credit <= 0:
            return
        try:
            data = self.connection.recv(min(CHUNK, self.credit))
        except BlockingIOError:
            return
        except OSError:
            self.fail()
            return
        if data:
            self.credit -= len(data)
            self.egress.tell({"t": "net.data", "id": self.number}, data)
            return
        self.is_read = True
        self.egress.tell({"t": "net.end", "id": self.number})
        self.finish()

    def give(self, data):
        sent = 0
        if not self.waiting:
            try:
                sent = self.connection.send(data)
            except BlockingIOError:
                pass
            except OSError:
                self.fail()
                return
        if sent < len(data):
            # A copy: a few unread bytes must not keep the whole buffer alive.
            self.waiting.append(memoryview(bytes(data[sent:])))
        if sent:
            self.acknowledge(sent)

    def flush(self):
        while self.waiting:
            try:
                count = self.connection.send(self.waiting[0])
            except BlockingIOError:
                return
            except OSError:
                self.fail()
                return
            if count == len(self.waiting[0]):
                del self.waiting[0]
            else:
                self.waiting[0] = self.waiting[0][count:]
            self.acknowledge(count)
        if self.is_ending and not self.has_shut:
            self.has_shut = True
            try:
                self.connection.shutdown(_socket.SHUT_WR)
            except OSError:
                pass  # already gone
            self.finish()

    def acknowledge(self, count):
        """Returns credit only for bytes that the client has read."""
        self.taken += count
        if self.taken < self.window // 4:
            return
        if self.window < WIDE_WINDOW and len(self.egress.streams) <= FEW_STREAMS:
            self.taken += WIDE_WINDOW - self.window
            self.window = WIDE_WINDOW
        self.egress.tell({"t": "net.credit", "id": self.number, "bytes": self.taken})
        self.taken = 0

    def finish(self):
        if self.is_read and self.has_shut:
            self.close()

    def fail(self):
        self.egress.tell({"t": "net.close", "id": self.number})
        self.close()

    def close(self):
        if not self.is_closed:
            self.is_closed = True
            self.egress.forget(self)
            self.connection.close()
