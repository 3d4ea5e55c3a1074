"""The events of a run, across connections."""
from __future__ import annotations

from collections import deque
from typing import Any, Deque, Dict, Optional

from ..errors import Unreachable
from ..http.sse import EventParser, ServerEvent
from ..http.transport import OpenResponse, Request, Transport
from ..wire.decode import as_object, parse_json
from ..wire.event import Ended, RunEvent, decode_error, decode_event

# Between attempts that brought no event. Any event starts again from the first.
DELAYS = (0.0, 0.1, 0.4, 1.5, 3.0, 5.0)
STREAM = {"accept": "text/event-stream"}


class ServerEvents:
    """Events of one response."""

    def __init__(self, response: OpenResponse) -> None:
        self._response = response
        self._parser = EventParser()
        self._events: Deque[ServerEvent] = deque()

    async def next(self) -> Optional[ServerEvent]:
        while not self._events:
            piece = await self._response.read()
            if not piece:
                return None
            self._events.extend(self._parser.feed(piece))
        return self._events.popleft()

    def close(self) -> None:
        self._response.close()


class RunEvents:
    """The events of a run from an offset to its result. After a cut connection it continues where it was."""

    def __init__(self, transport: Transport, path: str, offset: int) -> None:
        self._transport = transport
        self._path = path
        self.next_offset = offset
        self.ended: Optional[Ended] = None
        self._source: Optional[ServerEvents] = None
        self._failures = 0

    async def next(self) -> Optional[RunEvent]:
        """The next event, or None after the result."""
        while self.ended is None:
            try:
                event = await self._receive()
            except Unreachable:
                self.close()
                if self._failures >= len(DELAYS):
                    raise
                await self._transport.runtime.sleep(DELAYS[self._failures])
                self._failures += 1
                continue
            except BaseException:
                self.close()
                raise
            if isinstance(event, Ended):
                self.ended = event
                self.next_offset = max(self.next_offset, event.offset + 1)
                self.close()
            elif event.offset < self.next_offset:
                continue  # sent twice
            else:
                self.next_offset = event.offset + 1
            self._failures = 0
            return event
        return None

    async def _receive(self) -> RunEvent:
        if self._source is None:
            request = Request("GET", self._path, {"offset": self.next_offset}, headers=STREAM)
            self._source = ServerEvents(await self._transport.open(request))
        while True:
            received = await self._source.next()
            if received is None:
                raise Unreachable("the events ended before the run's result")
            event = decode_event(received.name, parse_json(received.data))
            if event is not None:
                return event

    def close(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            source.close()


class AuditEvents:
    """Events of the audit as they are written. A cut connection ends it with Unreachable: events could be missing."""

    def __init__(self, transport: Transport, query: Dict[str, object]) -> None:
        self._transport = transport
        self._query = query
        self._source: Optional[ServerEvents] = None

    async def next(self) -> Optional[Dict[str, Any]]:
        if self._source is None:
            request = Request("GET", "/v1/audit", self._query, headers=STREAM)
            self._source = ServerEvents(await self._transport.open(request))
        while True:
            received = await self._source.next()
            if received is None:
                return None
            data = parse_json(received.data)
            if received.name == "error":
                raise decode_error(data, 0)
            if received.name == "audit":
                return as_object(data)

    def close(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            source.close()
