"""Server-sent events, piece by piece."""
from __future__ import annotations

import dataclasses
from typing import Iterator, List, Optional

from ..errors import bad_response

MAX_EVENT = 64 << 20


@dataclasses.dataclass(frozen=True)
class ServerEvent:
    name: str
    data: bytes


class EventParser:
    """Takes bytes as they come and returns whole events. Keeps at most one event.

    >>> parser = EventParser()
    >>> list(parser.feed(b": alive\\n\\nevent: stdout\\nda"))
    []
    >>> list(parser.feed(b"ta: {}\\n\\n"))
    [ServerEvent(name='stdout', data=b'{}')]
    """

    def __init__(self, limit: int = MAX_EVENT) -> None:
        self._limit = limit
        self._pieces: List[bytes] = []
        self._name = "message"
        self._data: Optional[bytes] = None
        self._size = 0

    def feed(self, data: bytes) -> Iterator[ServerEvent]:
        # Pieces of a line are joined once, at its end: to search them again with each piece would take quadratic time.
        *lines, rest = data.split(b"\n")
        for line in lines:
            if self._pieces:
                line = b"".join(self._pieces) + line
                self._pieces.clear()
            event = self._take(line[:-1] if line.endswith(b"\r") else line)
            if event is not None:
                yield event
        if rest:
            self._count(len(rest))
            self._pieces.append(rest)
        else:
            self._pieces.clear()

    def _take(self, line: bytes) -> Optional[ServerEvent]:
        if not line:
            self._size = 0
            event = None if self._data is None else ServerEvent(self._name, self._data)
            self._name, self._data = "message", None
            return event
        name, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        if name == b"data":
            self._count(len(value))
            self._data = value if self._data is None else self._data + b"\n" + value
        elif name == b"event":
            self._name = value[:100].decode("utf-8", "replace")
        return None

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > 2 * self._limit:
            raise bad_response("an event is larger than %d bytes" % self._limit)
