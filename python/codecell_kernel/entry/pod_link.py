"""The pod's end of the connection to the gateway, in a process of its own: the supervisor does not notice when it breaks.

Connections through an API server break when that restarts, and with many load balancers when they are idle. So both ends count
the bytes that they have received, keep what the other has not confirmed, and send that again on the next connection. A
connection that breaks without a word (an unplugged node) is noticed by questions that are not answered. The
gateway proves with a ticket that it is the one that started the pod: programs in the cell may be able to reach the listener.

A pod of a warm pool is started before anybody knows whose it will be, so it has no ticket yet. The first ticket that is shown
becomes its own, for good. No program has run by then, so only what may open ports of pods through the API server can be first.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import hashlib
import posix
import select
from time import monotonic

import _signal
import _socket
from _struct import Struct

HEADER = Struct(">BI")  # kind, length
COUNT = Struct(">Q")
DATA, ACK, PING = 0, 1, 2
WINDOW = 1 << 20  # unconfirmed bytes in each direction
ACK_EVERY = 1 << 17
LARGEST = 1 << 20
PIECE = 1 << 16
SILENCE = 45.0  # seconds without a word from the gateway, which asks every 7.5 s
SIGN = 5.0  # seconds between signs of life while nothing is read
GUESTS = 4
LONGEST_GREETING = 128
TICKET_LENGTH = 48  # 192 random bits in hexadecimal digits


def listen(port):
    """Call it before the process leaves the pod's network: the listener stays there, out of reach of programs."""
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC | _socket.SOCK_NONBLOCK)
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(GUESTS)
    return listener.detach()


class Link:
    def __init__(self, listener, inner, ticket_hash, patience):
        """`inner` is the supervisor's channel. Without a connection for `patience` seconds it is closed, and the pod ends.

        `ticket_hash` is None in a pod of a warm pool: it waits for its first connection as long as it takes."""
        self.listener = listener
        self.inner = inner
        self.ticket_hash = ticket_hash
        self.patience = patience
        self.connection = -1
        self.guests = {}  # descriptor to what it has said: connections that have not shown their ticket
        self.lost_at = monotonic()
        self.heard_at = self.signed_at = 0.0
        self.confirmed = 0  # bytes for the gateway that it has received
        self.unconfirmed = bytearray()  # and those that it may not have
        self.outgoing = bytearray()  # packets for this connection
        self.incoming = bytearray()  # a packet that is still arriving
        self.received = 0  # bytes from the gateway
        self.told = 0  # how many of them it knows about
        self.for_inner = bytearray()
        for fd in (listener, inner):
            posix.set_blocking(fd, False)

    def run(self):
        """Never returns."""
        _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)
        while True:
            poll = select.poll()  # a handful of descriptors, some of which are closed and used again
            for fd, events in self.interests().items():
                poll.register(fd, events)
            for fd, events in poll.poll(self.wait_ms()):
                if fd == self.listener:
                    self.accept()
                elif fd == self.inner:
                    self.on_inner(events)
                elif fd == self.connection:
                    self.on_connection(events)
                elif fd in self.guests:
                    self.on_guest(fd)
            self.judge(monotonic())

    def interests(self):
        wanted = {self.listener: select.POLLIN}
        for fd in self.guests:
            wanted[fd] = select.POLLIN
        inner = (select.POLLIN if len(self.unconfirmed) < WINDOW else 0) | (select.POLLOUT if self.for_inner else 0)
        if inner:
            wanted[self.inner] = inner
        if self.connection >= 0:
            room = select.POLLIN if len(self.for_inner) < WINDOW else 0
            wanted[self.connection] = room | (select.POLLOUT if self.outgoing else 0)
        return wanted

    def wait_ms(self):
        if self.connection >= 0:
            return int(1000 * (SIGN if len(self.for_inner) >= WINDOW else SILENCE)) + 1
        return None if self.ticket_hash is None else 500

    def judge(self, now):
        if self.connection >= 0:
            if len(self.for_inner) >= WINDOW:
                # the supervisor is slow, and no question is read: the gateway must not take the pod for lost
                self.heard_at = now
                if now - self.signed_at > SIGN and not self.outgoing:
                    self.signed_at = now
                    self.send(ACK, COUNT.pack(self.received))
            elif now - self.heard_at > SILENCE:
                self.disconnect()
        elif self.ticket_hash is not None and now - self.lost_at > self.patience:
            posix._exit(0)

    # ---------------------------------------------------------------- the supervisor

    def on_inner(self, events):
        if self.for_inner and events & select.POLLOUT:
            try:
                del self.for_inner[: posix.write(self.inner, self.for_inner[:PIECE])]
            except BlockingIOError:
                pass
            except OSError:
                self.for_inner.clear()
        if events & ~select.POLLOUT and len(self.unconfirmed) < WINDOW:
            self.read_inner()

    def read_inner(self):
        try:
            data = posix.read(self.inner, PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            posix._exit(0)  # the supervisor has exited, and Linux ends this process too
        self.unconfirmed += data
        self.send(DATA, data)

    # ---------------------------------------------------------------- the gateway

    def accept(self):
        try:
            fd = _socket.socket(fileno=posix.dup(self.listener))
            one, _ = fd._accept()
            fd.close()
        except OSError:
            return
        posix.set_blocking(one, False)
        posix.set_inheritable(one, False)
        while len(self.guests) >= GUESTS:  # whoever opens many connections only disturbs its own cell
            self.dismiss(next(iter(self.guests)))
        self.guests[one] = b""

    def dismiss(self, fd):
        del self.guests[fd]
        posix.close(fd)

    def on_guest(self, fd):
        try:
            said = posix.read(fd, LONGEST_GREETING)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        greeting = self.guests[fd] + said
        if not said or len(greeting) > LONGEST_GREETING:
            self.dismiss(fd)
        elif greeting.endswith(b"\n"):
            received = self.admitted(greeting)
            if received is None:
                self.dismiss(fd)
            else:
                del self.guests[fd]
                self.connect(fd, received)
        else:
            self.guests[fd] = greeting

    def admitted(self, greeting):
        """How many bytes the gateway has, if this is the gateway."""
        parts = greeting.split()
        if len(parts) != 3 or parts[0] != b"codecell" or not parts[2].isdigit():
            return None
        # comparing hashes tells nothing about the ticket by the time it takes
        shown = hashlib.sha256(parts[1]).hexdigest()
        if self.ticket_hash is None and len(parts[1]) == TICKET_LENGTH:
            self.ticket_hash = shown
        if shown != self.ticket_hash:
            return None
        received = int(parts[2])
        return received if self.confirmed <= received <= self.confirmed + len(self.unconfirmed) else None

    def connect(self, fd, received):
        self.disconnect()
        self.connection = fd
        self.heard_at = monotonic()
        sock = _socket.socket(fileno=fd)
        try:
            sock.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        except OSError:
            pass
        sock.detach()
        self.confirm(received)
        self.incoming.clear()
        self.outgoing = bytearray(b"ok %d\n" % self.received)
        self.told = self.received
        for at in range(0, len(self.unconfirmed), PIECE):
            piece = self.unconfirmed[at : at + PIECE]
            self.outgoing += HEADER.pack(DATA, len(piece)) + piece
        self.flush()

    def disconnect(self):
        if self.connection >= 0:
            posix.close(self.connection)
            self.connection = -1
            self.lost_at = monotonic()

    def confirm(self, count):
        del self.unconfirmed[: count - self.confirmed]
        self.confirmed = count

    def send(self, kind, data):
        if self.connection >= 0:
            self.outgoing += HEADER.pack(kind, len(data)) + data
            self.flush()

    def flush(self):
        try:
            while self.outgoing:
                del self.outgoing[: posix.write(self.connection, self.outgoing[: 4 * PIECE])]
        except BlockingIOError:
            pass
        except OSError:
            self.disconnect()

    def on_connection(self, events):
        if events & select.POLLOUT:
            self.flush()
        if self.connection < 0 or not events & ~select.POLLOUT:
            return
        try:
            data = posix.read(self.connection, 4 * PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.disconnect()
            return
        self.heard_at = monotonic()
        self.incoming += data
        self.take_packets()

    def take_packets(self):
        while len(self.incoming) >= HEADER.size:
            kind, length = HEADER.unpack_from(self.incoming)
            if length > LARGEST or kind not in (DATA, ACK, PING):
                self.disconnect()
                return
            end = HEADER.size + length
            if len(self.incoming) < end:
                return
            body = bytes(self.incoming[HEADER.size : end])
            del self.incoming[:end]
            if kind == DATA:
                self.received += length
                self.for_inner += body
            elif kind == PING:
                self.told = self.received
                self.send(ACK, COUNT.pack(self.received))
            elif length == COUNT.size and self.confirmed <= COUNT.unpack(body)[0] <= self.confirmed + len(self.unconfirmed):
                self.confirm(COUNT.unpack(body)[0])
        if self.received - self.told >= ACK_EVERY:
            self.told = self.received
            self.send(ACK, COUNT.pack(self.received))
        if self.for_inner:
            self.on_inner(select.POLLOUT)
