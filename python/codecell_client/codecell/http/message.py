"""HTTP/1.1 for one request at a time. It reads only what is valid, in limited memory, and follows no redirect."""
from __future__ import annotations

import re
from typing import AsyncIterator, Dict, Optional, Union

from ..errors import CodecellError, bad_response
from .stream import Patience, Stream

MAX_HEAD = 64 * 1024
MAX_FIELDS = 200
MAX_INTERIM = 8
MAX_LINE = 1024
PIECE = 64 * 1024
STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n]*)?")
FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\x00]*)")
CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?")
LENGTH = re.compile(r"[0-9]{1,18}")
Body = Union[None, bytes, AsyncIterator[bytes]]


class Connection:
    """A stream and what was read from it and not used."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._buffer = bytearray()

    async def send(self, head: bytes, body: Body, is_chunked: bool, patience: Patience) -> None:
        """Sends a request. Stops early if the answer comes before the end of the body."""
        if body is None or isinstance(body, bytes):
            await self.stream.write(head + (body or b""), patience.left())
            return
        if not await self.stream.write(head, patience.left()):
            return
        async for piece in body:
            if not piece:
                continue
            framed = b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece
            if not await self.stream.write(framed, patience.left()):
                return
        if is_chunked:
            await self.stream.write(b"0\r\n\r\n", patience.left())

    async def receive(self, patience: Patience) -> "Response":
        """The head of the response."""
        for _ in range(MAX_INTERIM):
            lines = (await self._until(b"\r\n\r\n", MAX_HEAD, patience))[:-4].split(b"\r\n")
            found = STATUS_LINE.fullmatch(lines[0])
            if found is None:
                raise bad_response("it is not HTTP/1.1")
            status = int(found.group(2))
            if status >= 200:
                return Response(self, status, parse_fields(lines[1:], status), is_old=found.group(1) == b"0")
            if status == 101:
                break
        raise bad_response("it has no final status")

    async def line(self, patience: Patience) -> bytes:
        return (await self._until(b"\r\n", MAX_LINE, patience))[:-2]

    async def some(self, limit: int, patience: Patience) -> bytes:
        """Up to `limit` bytes; none at the end of the stream."""
        if not self._buffer:
            return await self.stream.read(min(limit, PIECE), patience.left())
        taken = bytes(self._buffer[:limit])
        del self._buffer[: len(taken)]
        return taken

    @property
    def has_leftovers(self) -> bool:
        return len(self._buffer) > 0

    async def _until(self, end: bytes, limit: int, patience: Patience) -> bytes:
        while True:
            found = self._buffer.find(end)
            if found >= 0 and found <= limit:
                taken = bytes(self._buffer[: found + len(end)])
                del self._buffer[: found + len(end)]
                return taken
            if len(self._buffer) > limit:
                raise bad_response("its header is larger than %d bytes" % limit)
            data = await self.stream.read(PIECE, patience.left())
            if not data:
                raise ConnectionResetError("the connection was closed before the response was complete")
            self._buffer += data


class Response:
    """A response whose body is read piece by piece."""

    def __init__(self, connection: Connection, status: int, headers: Dict[str, str], is_old: bool) -> None:
        self.status = status
        self.headers = headers
        self._connection = connection
        self._left: Optional[int] = None
        self._is_chunked = False
        self.is_complete = False
        self._is_kept = not is_old and "close" not in headers.get("connection", "").lower()
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise bad_response("it is compressed, which was not asked for", status)  # a few bytes could become gigabytes
        if status in (204, 304):
            self.is_complete = True
        elif coding is not None:
            if coding.lower() != "chunked" or length is not None:
                raise bad_response("its length is ambiguous", status)
            self._is_chunked = True
        elif length is not None:
            if not LENGTH.fullmatch(length):
                raise bad_response("its length is not a number", status)
            self._left = int(length)
            self.is_complete = self._left == 0
        else:
            self._is_kept = False  # the body ends with the connection

    @property
    def is_reusable(self) -> bool:
        return self.is_complete and self._is_kept and not self._connection.has_leftovers

    async def read(self, patience: Patience) -> bytes:
        """The next piece of the body; none at its end."""
        if self.is_complete:
            return b""
        if self._is_chunked and not self._left:
            await self._next_chunk(patience)
            if self.is_complete:
                return b""
        limit = PIECE if self._left is None else min(PIECE, self._left)
        data = await self._connection.some(limit, patience)
        if not data:
            if self._left is None and not self._is_chunked:
                self.is_complete = True
                return b""
            raise ConnectionResetError("the connection was closed before the response was complete")
        if self._left is not None:
            self._left -= len(data)
            if self._left == 0 and not self._is_chunked:
                self.is_complete = True
        return data

    async def read_all(self, limit: int, patience: Patience) -> bytes:
        if self._left is not None and self._left > limit:
            raise too_large(limit, self.status)
        data = bytearray()
        while True:
            piece = await self.read(patience)
            if not piece:
                return bytes(data)
            data += piece
            if len(data) > limit:
                raise too_large(limit, self.status)

    async def _next_chunk(self, patience: Patience) -> None:
        if self._left == 0 and await self._connection.line(patience) != b"":
            raise bad_response("a part of it is longer than it says", self.status)
        found = CHUNK_SIZE.fullmatch(await self._connection.line(patience))
        if found is None:
            raise bad_response("the size of a part is not a number", self.status)
        self._left = int(found.group(1), 16)
        if self._left == 0:
            for _ in range(MAX_FIELDS):
                if await self._connection.line(patience) == b"":
                    self.is_complete = True
                    return
            raise bad_response("it has too many trailers", self.status)


def parse_fields(lines: "list[bytes]", status: int) -> Dict[str, str]:
    if len(lines) > MAX_FIELDS:
        raise bad_response("it has too many header fields", status)
    fields: Dict[str, str] = {}
    for line in lines:
        found = FIELD.fullmatch(line)
        if found is None:
            raise bad_response("a header field is not valid", status)
        name, value = found.group(1).decode("ascii").lower(), found.group(2).strip().decode("latin-1")
        if name in fields and name in ("content-length", "transfer-encoding"):
            raise bad_response("its length is ambiguous", status)
        fields[name] = "%s, %s" % (fields[name], value) if name in fields else value
    return fields


def too_large(limit: int, status: int) -> CodecellError:
    hint = "ask for a part of it, or save it to a file and download that"
    return CodecellError("too_large", "the response is larger than %d bytes" % limit, hint=hint, status=status)
