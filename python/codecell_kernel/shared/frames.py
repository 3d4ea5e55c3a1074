"""The one frame format: u32 length, u32 header length, JSON header, raw bytes; little-endian."""
from .pristine import BUILTINS as __builtins__  # noqa: A001
from _struct import Struct

from .lean_json import dumps, loads

MAX_FRAME = 4 << 20
MAX_HEADER = 256 << 10
PREFIX = Struct("<II")
PLAIN_RUN, BRANCH, PROGRAM = b'{"t":"run",', b'"branch"', b'"program"'
TOKEN_BYTES = 16  # at the start of each packet from a worker to the supervisor
REHEARSAL = 0  # the id of a run that only warms up memory (see worker/rehearsal.py); runs of the host start at 1


class BadFrame(Exception):
    """A length exceeds the limits: the rest of the stream cannot be trusted."""


def head(header, body_bytes=0):
    """Prefix and header of a frame. The caller sends the body after it."""
    text = dumps(header).encode()
    if len(text) > MAX_HEADER or 4 + len(text) + body_bytes > MAX_FRAME:
        raise BadFrame
    return PREFIX.pack(4 + len(text) + body_bytes, len(text)) + text


def is_one_frame(data):
    """Whether the bytes are exactly one frame, as they are for most requests."""
    if len(data) < 8:
        return False
    length, header_length = PREFIX.unpack_from(data)
    return 4 + length == len(data) and 4 + header_length <= length <= MAX_FRAME and header_length <= MAX_HEADER


def is_plain_run(data):
    """Whether the bytes are exactly one run for the first branch, without arguments or input. Does not parse the header."""
    if data[8:19] != PLAIN_RUN or not is_one_frame(data):
        return False
    end = 8 + PREFIX.unpack_from(data)[1]
    return data.find(BRANCH, 19, end) < 0 and data.find(PROGRAM, 19, end) < 0


def header_of(text):
    """The header, or BadFrame: whoever sends a header that cannot be read has lost the place in the stream."""
    try:
        header = loads(str(text, "utf-8"))
    except (ValueError, StopIteration, RecursionError) as error:
        raise BadFrame from error
    if type(header) is not dict:
        raise BadFrame
    return header


class Decoder:
    """Bytes in, (header, body, whole frame) out. Body and frame are views that are valid until the next `feed`.

    Frames of the kinds in `partial` come out as soon as their header is complete, with the part of the body that has
    arrived. The caller reads the rest: `take_missing` says how much that is.
    """

    def __init__(self, partial=()):
        self.buffer = b""
        self.partial = partial
        self.missing = 0

    def feed(self, data):
        if not self.buffer and is_one_frame(data):
            body_at = 8 + PREFIX.unpack_from(data)[1]
            return ((header_of(data[8:body_at]), data[body_at:], data),)
        self.buffer = self.buffer + data if self.buffer else data
        view, at, total = memoryview(self.buffer), 0, len(self.buffer)
        frames = []
        while total - at >= 8:
            length, header_length = PREFIX.unpack_from(view, at)
            if length > MAX_FRAME or header_length > MAX_HEADER or header_length + 4 > length:
                raise BadFrame
            body_at, end = at + 8 + header_length, at + 4 + length
            if total < body_at:
                break
            if total < end and not self.partial:
                break
            header = header_of(view[at + 8 : body_at])
            if total < end:
                if header.get("t") not in self.partial:
                    break
                self.missing = end - total
            frames.append((header, view[body_at:end], view[at:end]))
            at = min(end, total)
        if at:
            self.buffer = self.buffer[at:]
        return frames

    def take_missing(self):
        missing, self.missing = self.missing, 0
        return missing
