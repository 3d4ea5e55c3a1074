"""The last bytes of a run's output, for a run that prints more than is forwarded at once."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001

MAX_TAIL = 512 << 10
MARKER_BYTES = 64  # room for the host's line about what was left out, so that a result stays within its limit
JOIN_BYTES = 32 << 10  # smaller pieces are joined: a program may print one byte at a time


def tail_bytes(limit):
    """How many of the bytes that a result keeps come from the end of the output."""
    return min(MAX_TAIL, limit >> 1)


def whole_characters(data, size):
    """At most `size`, and less if the data would be split inside a UTF-8 character."""
    for cut in range(size, max(size - 4, -1), -1):
        if cut == len(data) or data[cut] & 0xC0 != 0x80:
            return cut
    return size


def rest_of_character(data):
    """How many bytes at the beginning belong to a UTF-8 character that the forwarded part ends with."""
    count = 0
    while count < min(3, len(data)) and data[count] & 0xC0 == 0x80:
        count += 1
    return count


class OutputTail:
    def __init__(self, limit):
        self.limit = limit
        self.streams = {}

    def add(self, name, data):
        stream = self.streams.get(name)
        if stream is None:
            stream = self.streams[name] = Stream()
        if len(data) > self.limit:
            stream.dropped += len(data) - self.limit
            data = data[len(data) - self.limit :]
        stream.add(data)
        excess = self.size - self.limit
        while excess > 0 and excess >= len(self.longest().pieces[0]):
            excess -= self.longest().drop_piece()

    @property
    def size(self):
        return sum(stream.size for stream in self.streams.values())

    def longest(self):
        """The stream to shorten: a few lines on stderr survive a flood on stdout."""
        return max(self.streams.values(), key=lambda stream: stream.size)

    def parts(self):
        """(stream, bytes left out before it, bytes) in order; called once, at the end."""
        is_whole = self.size <= self.limit and not any(stream.dropped for stream in self.streams.values())
        room = self.limit if is_whole else max(0, self.limit - MARKER_BYTES * len(self.streams))
        while self.size > room:
            self.longest().drop(self.size - room)
        for name, stream in self.streams.items():
            if stream.dropped:
                stream.drop_split_character()
                yield name, stream.dropped, b""
            for piece in stream.pieces:
                yield name, 0, bytes(piece)


class Stream:
    def __init__(self):
        self.pieces = []
        self.size = 0
        self.dropped = 0

    def add(self, data):
        last = self.pieces[-1] if self.pieces else None
        if type(last) is bytearray and len(last) < JOIN_BYTES:
            last += data
        elif data:
            self.pieces.append(bytearray(data) if len(data) < JOIN_BYTES else data)
        self.size += len(data)

    def drop_piece(self):
        return self.drop(len(self.pieces[0]))

    def drop(self, count):
        """Drops up to `count` of the oldest bytes, from one piece. Returns how many it was."""
        first = self.pieces[0]
        count = min(count, len(first))
        if count == len(first):
            del self.pieces[0]
        else:
            self.pieces[0] = first[count:]
        self.size -= count
        self.dropped += count
        return count

    def drop_split_character(self):
        """The rest of a UTF-8 character whose beginning was dropped."""
        count = rest_of_character(self.pieces[0] if self.pieces else b"")
        if count:
            self.drop(count)
