"""A service and its sessions."""
from __future__ import annotations

import re
import threading
from typing import Any, Dict, List, Optional
from urllib.parse import urlsplit

from ..errors import CodecellError
from ..http.transport import Request, Transport
from ..wire.decode import as_list, as_object, decode
from ..wire.session import AuditPage, AuditReport, SessionInfo
from .events import AuditEvents
from .session import AsyncFile, AsyncSession, Capabilities, Target, save

LINK = re.compile(r".*(/v1/download/[A-Za-z0-9._~-]+)")


class AsyncAudit:
    """Events of the audit: those that are there, then new ones as they are written."""

    def __init__(self, events: AuditEvents) -> None:
        self._events = events

    async def next(self) -> Optional[Dict[str, Any]]:
        return await self._events.next()

    async def close(self) -> None:
        self._events.close()

    def __aiter__(self) -> "AsyncAudit":
        return self

    async def __anext__(self) -> Dict[str, Any]:
        event = await self.next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def __aenter__(self) -> "AsyncAudit":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncCodecell:
    """A codecell service with the token of one tenant. `codecell.aio.connect` makes it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._capabilities = Capabilities(transport)
        self._sessions: Dict[str, AsyncSession] = {}
        self._guard = threading.Lock()

    def __repr__(self) -> str:
        return "%s(%r)" % (type(self).__name__, self.url)

    @property
    def url(self) -> str:
        return str(self._transport.address)

    async def session(self, session_id: Optional[str] = None) -> AsyncSession:
        """The session with this id, or a new one. Without an id, a new one with a random id."""
        body = {} if session_id is None else {"session_id": session_id}
        # With an id, the second request finds what the first one made.
        request = Request("POST", "/v1/sessions", json=body, retry=session_id is not None)
        return self.known(decode(SessionInfo, await self._transport.json(request)).session_id)

    def known(self, session_id: str) -> AsyncSession:
        """One object per session: two would take each other's function calls."""
        with self._guard:
            found = self._sessions.get(session_id)
            if found is None or found.functions.is_closed:
                found = self._sessions[session_id] = AsyncSession(self._transport, session_id, self._capabilities)
                found.family = self.known
            return found

    async def sessions(self) -> List[SessionInfo]:
        """The sessions of this token."""
        return [decode(SessionInfo, one) for one in as_list(as_object(await self._get("/v1/sessions")).get("sessions"), "sessions")]

    async def health(self) -> bool:
        """Whether the service is up. Needs no token."""
        data = await self._transport.json(Request("GET", "/v1/health", retry=True, with_token=False))
        return as_object(data).get("status") == "ok"

    async def audit(
        self,
        *,
        session: Optional[str] = None,
        run: Optional[int] = None,
        type: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        from_start: bool = False,
        after: Optional[str] = None,
        limit: int = 200,
    ) -> AuditPage:
        """The last events of the audit, or with `from_start` the first, or those after a page's `next`. Needs the scope `audit`."""
        query = {"session": session, "run": run, "type": type, "since": since, "until": until}
        more = {"from": "start" if from_start else None, "after": after, "limit": limit}
        return decode(AuditPage, await self._transport.json(Request("GET", "/v1/audit", {**query, **more}, retry=True)))

    def follow_audit(self, *, session: Optional[str] = None, type: Optional[str] = None, limit: int = 200) -> AsyncAudit:
        """The last events of the audit, then new ones as they are written."""
        return AsyncAudit(AuditEvents(self._transport, {"session": session, "type": type, "limit": limit}))

    async def verify_audit(self) -> AuditReport:
        """Whether every line of the audit is as it was written. Needs the scope `admin`."""
        return decode(AuditReport, await self._get("/v1/audit/verify"))

    async def metrics(self) -> str:
        """Counters for Prometheus. Needs the scope `metrics`."""
        reply = await self._transport.call(Request("GET", "/metrics", retry=True, headers={"accept": "text/plain"}))
        return reply.data.decode("utf-8", "replace")

    async def openapi(self) -> Dict[str, Any]:
        """The OpenAPI document of the service."""
        return as_object(await self._get("/v1/openapi.json"))

    async def open_link(self, url: str) -> AsyncFile:
        """Opens the file of a link to read it piece by piece. Asks this service only, and sends no token."""
        found = LINK.fullmatch(urlsplit(url).path)
        if found is None:
            raise CodecellError("usage", "this is not a link to a file of a service")
        return AsyncFile(await self._transport.open(Request("GET", found.group(1), with_token=False, retry=True)))

    async def download_link(self, url: str, to: Target) -> int:
        """Writes the file of a link to a local path or an open binary file, and returns its size."""
        async with await self.open_link(url) as file:
            return await save(file, to, self._transport)

    async def close(self) -> None:
        """Ends the connections. Sessions stay, except those of a service that `connect` started."""
        await self._transport.runtime.settle()
        self._transport.close()
        with self._guard:
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await session.functions.stop()
        await self._transport.runtime.end_jobs()

    async def __aenter__(self) -> "AsyncCodecell":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _get(self, path: str) -> Any:
        return await self._transport.json(Request("GET", path, retry=True))
