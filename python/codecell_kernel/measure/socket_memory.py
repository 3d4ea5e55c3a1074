"""The memory of socket buffers, as the Linux kernel reports it for each socket of the cell's network namespace.

No process limit counts these buffers. A memory cgroup counts most of them (v2), or counts those of TCP and UDP separately (v1),
but neither counts a TCP connection before it is accepted: a program could keep gigabytes in connections to itself.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
from _struct import Struct

import _socket

NETLINK, SOCK_DIAG = 16, 4
HEADER = Struct("IHHII")  # length, type, flags, sequence, port
BY_FAMILY, REQUEST_DUMP, ERROR, DONE = 20, 0x301, 2, 3
UNIX, INET, INET6, TCP, UDP = 1, 2, 10, 6, 17
UNIX_REQUEST = Struct("BBHIII8x")  # family, protocol, padding, states, inode, what to show, cookie
SHOW_QUEUE, SHOW_MEMORY = 0x10, 0x20
INET_REQUEST = Struct("BBBBI48x")  # family, protocol, extensions, padding, states, address
# every state but TIME_WAIT and requests for a connection, which have no buffers and are not counted as sockets
INET_STATES = 0xFFE & ~(1 << 6)
UNIX_BODY, INET_BODY = 16, 72  # bytes before the attributes
UNIX_QUEUE, UNIX_MEMORY, INET_MEMORY = 4, 5, 7  # types of attributes
ATTRIBUTE, QUEUE = Struct("HH"), Struct("I")
MEMORY = Struct("8I")  # received, its limit, sent, its limit, reserved, queued, options, backlog
# The data that a closed Unix socket has sent still counts for that socket, which is listed no more. This is more than the
# default limit of a socket, and the system call filter keeps programs without a memory cgroup from raising that.
UNLISTED_BYTES = 1 << 18
UNKNOWN_BYTES = 1 << 20
LISTS = (("TCP:", INET, TCP), ("TCP6:", INET6, TCP), ("UDP:", INET, UDP), ("UDP6:", INET6, UDP))


def open_socket_memory():
    """Call it before the system call filter, which refuses netlink. None if the OS does not count sockets."""
    memory = SocketMemory()
    return None if memory.counters[0] < 0 else memory


class SocketMemory:
    def __init__(self):
        self.netlink = open_netlink()
        self.counters = [open_counter("/proc/self/net/" + name) for name in ("sockstat", "sockstat6")]
        self.most = 0  # that one socket can hold
        self.unlisted = 0  # number of our own sockets that are not listed
        self.latest = None, {}  # what the counters said last, and the counts in it: most looks find nothing new

    def begin(self):
        """Call it before user code runs, and only if all sockets count: a cold start waits for it."""
        self.unlisted = max(0, self.counts()["sockets:"] - self.unix()[0])  # this netlink socket

    def internet_bytes(self, ignored):
        """The buffers of TCP and UDP sockets. 0 if they cannot hold more than `ignored`: listing them takes up to milliseconds."""
        counts = self.counts()
        return self.internet(counts)[1] if self.may_exceed(counts, ignored) else 0

    def all_bytes(self, ignored):
        """The same, and the buffers of Unix sockets."""
        counts = self.counts()
        listed, total = self.internet(counts) if self.may_exceed(counts, ignored) else (in_use(counts), 0)
        unix_listed, unix_total = self.unix()
        unlisted = max(0, counts["sockets:"] - self.unlisted - listed - unix_listed)
        return total + unix_total + unlisted * UNLISTED_BYTES

    def may_exceed(self, counts, ignored):
        number = in_use(counts)
        if number and not self.most:
            self.most = most_of_one()
        return number * self.most > ignored

    def counts(self):
        """The number of sockets by protocol, and of all sockets."""
        said = [posix.pread(fd, 4096, 0) for fd in self.counters if fd >= 0]
        if said != self.latest[0]:
            self.latest = said, numbers_in(b"\n".join(said).decode())
        return self.latest[1]

    def internet(self, counts):
        """(number, bytes)"""
        number = total = 0
        for name, family, protocol in LISTS:
            if counts.get(name, 0) == 0:
                continue
            request = INET_REQUEST.pack(family, protocol, 1 << (INET_MEMORY - 1), 0, INET_STATES)
            try:
                for attributes in self.dump(request, INET_BODY):
                    number += 1
                    total += buffered(attributes.get(INET_MEMORY))
            except OSError:  # the Linux kernel has no list of this protocol
                number += counts[name]
                total += counts[name] * UNKNOWN_BYTES
        return number, total

    def unix(self):
        """(number, bytes). A sender counts what it has sent until somebody reads it; if it is closed, the reader's queue counts."""
        number = sent = queued = 0
        request = UNIX_REQUEST.pack(UNIX, 0, 0, 0xFFFFFFFF, 0, SHOW_QUEUE | SHOW_MEMORY)
        try:
            for attributes in self.dump(request, UNIX_BODY):
                number += 1
                sent += buffered(attributes.get(UNIX_MEMORY))
                queue = attributes.get(UNIX_QUEUE)
                queued += QUEUE.unpack_from(queue)[0] if queue else 0
        except OSError:
            return 0, 0  # all of them count as unlisted
        return number, max(sent, queued)

    def dump(self, request, body):
        """The attributes of each socket. Every list is read to its end, or the Linux kernel refuses the next request."""
        if self.netlink is None:
            raise OSError("an engine's filter refuses netlink")
        self.netlink.send(HEADER.pack(HEADER.size + len(request), BY_FAMILY, REQUEST_DUMP, 1, 0) + request)
        while True:
            data = self.netlink.recv(1 << 16)
            at = 0
            while at < len(data):
                length, kind = HEADER.unpack_from(data, at)[:2]
                if kind == DONE:
                    return
                if kind == ERROR:
                    raise OSError("the OS does not list these sockets")
                yield attributes_in(data, at + HEADER.size + body, at + length)
                at += length + 3 & ~3


def open_netlink():
    kind = _socket.SOCK_RAW | _socket.SOCK_CLOEXEC | _socket.SOCK_NONBLOCK
    try:
        return _socket.socket(NETLINK, kind, SOCK_DIAG)
    except OSError:
        return None


def numbers_in(text):
    counts = {"sockets:": 0}
    for line in text.split("\n"):
        words = line.split()
        if len(words) > 2:
            counts[words[0]] = int(words[2])
    return counts


def in_use(counts):
    return sum(counts.get(name, 0) for name, _, _ in LISTS)


def most_of_one():
    """How much one socket can hold: the largest buffers that the Linux kernel chooses, or that a program asks for."""
    received = max(last_number("ipv4/tcp_rmem"), 2 * last_number("core/rmem_max"))
    return received + max(last_number("ipv4/tcp_wmem"), 2 * last_number("core/wmem_max"))


def last_number(setting):
    try:
        fd = posix.open("/proc/sys/net/" + setting, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return 1 << 25  # older Linux kernels show some settings only to the host
    try:
        return int(posix.read(fd, 256).split()[-1])
    finally:
        posix.close(fd)


def attributes_in(data, at, end):
    found = {}
    while at + ATTRIBUTE.size <= end:
        length, kind = ATTRIBUTE.unpack_from(data, at)
        found[kind] = data[at + ATTRIBUTE.size : at + length]
        at += max(length, ATTRIBUTE.size) + 3 & ~3
    return found


def buffered(memory):
    """Bytes with all overhead: what counts for a socket, however small the pieces are."""
    if memory is None or len(memory) < MEMORY.size:
        return 0
    received, _, sent, _, reserved, queued, options, backlog = MEMORY.unpack_from(memory)
    # the Linux kernel may owe reserved memory for a moment, a negative number
    return received + max(sent, queued) + (reserved if reserved < 1 << 31 else 0) + options + backlog


def open_counter(path):
    try:
        return posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return -1  # no IPv6 here
