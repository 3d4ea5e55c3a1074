"""Requests to one service: connections that are kept, the token, retries, JSON."""
from __future__ import annotations

import dataclasses
import json
import os
import re
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Tuple
from urllib.parse import quote, urlencode

from ..errors import CodecellError, Unreachable, bad_response
from ..wire.decode import parse_json
from ..wire.event import decode_error
from .address import Address
from .message import Body, Connection, Response
from .stream import Patience, Runtime

TOKEN = re.compile(r"[\x21-\x7e]{1,4096}")
MAX_JSON = 64 << 20
# The service closes idle connections after 65 s. A younger one is not about to be closed under a request.
REUSE_SECONDS = 30.0
MAX_IDLE = 16
# Between attempts. A request is repeated if it was not sent, or if it does no harm twice.
DELAYS = (0.1, 0.4, 1.5)
BUSY_SECONDS = 60.0


@dataclasses.dataclass(frozen=True)
class Request:
    """What to ask. `retry`: sending it twice has the same effect as sending it once."""

    method: str
    path: str
    query: Mapping[str, object] = dataclasses.field(default_factory=lambda: {})
    json: Any = None
    body: Body = None
    length: Optional[int] = None
    wait: float = 0.0
    retry: bool = False
    with_token: bool = True
    headers: Mapping[str, str] = dataclasses.field(default_factory=lambda: {})
    # Called when the service may have got the request.
    on_sent: Optional[Callable[[], None]] = None

    @property
    def is_replayable(self) -> bool:
        return self.body is None or isinstance(self.body, bytes)


@dataclasses.dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return parse_json(self.data, self.status)


class OpenResponse:
    """A response that is still arriving. Close it."""

    def __init__(self, transport: "Transport", connection: Connection, response: Response, timeout: float) -> None:
        self.status = response.status
        self.headers = response.headers
        self._transport = transport
        self._connection = connection
        self._response = response
        self._patience = Patience(timeout)

    async def read(self) -> bytes:
        """The next piece; none at the end. Raises Unreachable if the connection is cut."""
        try:
            return await self._response.read(self._patience)
        except OSError as error:
            self._transport.discard(self._connection)
            raise self._transport.unreachable(error) from error
        except BaseException:
            self._transport.discard(self._connection)
            raise

    def close(self) -> None:
        self._transport.give_back(self._connection, self._response)


class Transport:
    """Used from any thread, or from the tasks of one event loop."""

    def __init__(self, address: Address, token: Optional[str], runtime: Runtime, timeout: float) -> None:
        if token is not None and not TOKEN.fullmatch(token):
            raise CodecellError("usage", "the token has characters that no token has", hint="look for spaces and line breaks")
        self.address = address
        self.runtime = runtime
        self.timeout = timeout
        self._token = token
        self._pid = os.getpid()
        self._idle: List[Tuple[float, Connection]] = []
        self._busy: Set[Connection] = set()
        self._guard = threading.Lock()
        self._is_closed = False

    def __repr__(self) -> str:
        return "Transport(%s)" % self.address

    async def call(self, request: Request) -> Reply:
        """The whole response. Raises the error that the service answered with."""
        until = time.monotonic() + BUSY_SECONDS
        attempt = 0
        while True:
            try:
                reply = await self._exchange(request)
            except Unreachable as error:
                await self._before_retry(request, error, attempt)
                attempt += 1
                continue
            after = retry_after(reply.headers)
            # 429 means that nothing was done.
            if reply.status == 429 and request.is_replayable and time.monotonic() + after < until:
                await self.runtime.sleep(after)
                continue
            if reply.status >= 300:
                raise failure_of(reply)
            return reply

    async def json(self, request: Request) -> Any:
        return (await self.call(request)).json

    async def open(self, request: Request) -> OpenResponse:
        """A response to read piece by piece."""
        attempt = 0
        while True:
            try:
                connection, response = await self._start(request, Patience(self.timeout))
                break
            except Unreachable as error:
                await self._before_retry(request, error, attempt)
                attempt += 1
        opened = OpenResponse(self, connection, response, self.timeout)
        if response.status < 300:
            return opened
        try:
            data = await response.read_all(MAX_JSON, Patience(self.timeout, self.timeout))
        except OSError as error:
            raise self.unreachable(error) from error
        finally:
            opened.close()
        raise failure_of(Reply(response.status, response.headers, data))

    async def _before_retry(self, request: Request, error: Unreachable, attempt: int) -> None:
        """Waits, or raises if the request must not be sent again."""
        if attempt >= len(DELAYS) or not request.is_replayable or not (request.retry or not error.is_sent):
            raise error
        await self.runtime.sleep(DELAYS[attempt])

    async def _exchange(self, request: Request) -> Reply:
        patience = Patience(self.timeout + request.wait, self.timeout + request.wait)
        if not request.is_replayable:
            patience = Patience(self.timeout)  # a stream takes as long as it takes
        connection, response = await self._start(request, patience)
        try:
            patience = Patience(self.timeout + request.wait, self.timeout + request.wait)
            data = await response.read_all(MAX_JSON, patience)
        except OSError as error:
            raise self.unreachable(error) from error
        finally:
            self.give_back(connection, response)
        return Reply(response.status, response.headers, data)

    async def _start(self, request: Request, patience: Patience) -> Tuple[Connection, Response]:
        body, kind, length = request.body, "application/octet-stream", request.length
        if request.json is not None:
            body, kind = encode_json(request.json), "application/json"
        if isinstance(body, bytes):
            length = len(body)
        elif body is None and request.method in ("POST", "PUT"):
            length = 0
        head = self._head(request, None if body is None else kind, length, is_stream=body is not None)
        connection = await self._take()
        try:
            if request.on_sent is not None:
                request.on_sent()
            await connection.send(head, body, length is None, patience)
            return connection, await connection.receive(patience)
        except OSError as error:
            self.discard(connection)
            raise self.unreachable(error) from error
        except BaseException:
            self.discard(connection)
            raise

    def _head(self, request: Request, kind: Optional[str], length: Optional[int], is_stream: bool) -> bytes:
        target = self.address.path + request.path
        given = {name: value for name, value in request.query.items() if value is not None}
        if given:
            target += "?" + urlencode(given, quote_via=quote)
        fields: Dict[str, str] = {"host": self.address.authority, "accept": "application/json", "accept-encoding": "identity"}
        fields["user-agent"] = "codecell-client"
        if request.with_token and self._token is not None:
            fields["authorization"] = "Bearer %s" % self._token
        if kind is not None:
            fields["content-type"] = kind
        if length is not None:
            fields["content-length"] = str(length)
        elif is_stream:
            fields["transfer-encoding"] = "chunked"
        fields.update(request.headers)
        lines = ["%s %s HTTP/1.1" % (request.method, target), *("%s: %s" % one for one in fields.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")

    async def _take(self) -> Connection:
        with self._guard:
            if self._is_closed:
                raise CodecellError("closed", "the connection to the service was closed")
            if self._pid != os.getpid():  # a fork: the connections are its parent's
                self._pid = os.getpid()
                self._idle, self._busy = [], set()
            while self._idle:
                since, connection = self._idle.pop()
                if time.monotonic() - since < REUSE_SECONDS and connection.stream.is_idle():
                    self._busy.add(connection)
                    return connection
                connection.stream.close()
        try:
            stream = await self.runtime.connect(self.address, self.timeout)
        except OSError as error:
            raise self.unreachable(error, is_sent=False) from error
        connection = Connection(stream)
        with self._guard:
            if not self._is_closed:
                self._busy.add(connection)
                return connection
        stream.close()
        raise CodecellError("closed", "the connection to the service was closed")

    def give_back(self, connection: Connection, response: Response) -> None:
        with self._guard:
            if connection not in self._busy:
                return
            self._busy.discard(connection)
            if response.is_reusable and not self._is_closed and len(self._idle) < MAX_IDLE:
                connection.stream.reset()
                self._idle.append((time.monotonic(), connection))
                return
        connection.stream.close()

    def discard(self, connection: Connection) -> None:
        with self._guard:
            self._busy.discard(connection)
        connection.stream.close()

    def unreachable(self, error: OSError, is_sent: bool = True) -> Unreachable:
        if isinstance(error, Unreachable):
            return error
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return Unreachable("the codecell service at %s did not answer: %s" % (self.address, reason), is_sent=is_sent)

    def close(self) -> None:
        """Also ends the requests under way."""
        with self._guard:
            if self._is_closed:
                return
            self._is_closed = True
            connections = [one for _, one in self._idle] + list(self._busy)
            self._idle, self._busy = [], set()
        if self._pid == os.getpid():
            for connection in connections:
                connection.stream.close()


def encode_json(value: Any) -> bytes:
    try:
        return json.dumps(value, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise CodecellError("usage", "the value has no JSON form: %s" % error) from None


def failure_of(reply: Reply) -> CodecellError:
    if reply.status < 400:
        hint = "connect to its final address"
        return CodecellError("redirected", "the service redirects, which is not followed", hint=hint, status=reply.status)
    try:
        data = reply.json
    except CodecellError:
        return bad_response("status %d without an error of codecell" % reply.status, reply.status)
    return decode_error(data, reply.status)


def retry_after(headers: Mapping[str, str]) -> float:
    text = headers.get("retry-after", "1")
    return float(text) if re.fullmatch(r"[0-9]{1,4}", text) else 1.0


def segment(text: str) -> str:
    """One part of a path.

    >>> segment("a/b ü")
    'a%2Fb%20%C3%BC'
    """
    if text in ("", ".", ".."):
        raise CodecellError("usage", "%r is not a name" % text)
    return encoded(text, "")


def file_path(text: str) -> str:
    """A path in the workspace.

    >>> file_path("data/a b.csv")
    'data/a%20b.csv'
    """
    parts = text.split("/")
    if any(one in ("", ".", "..") for one in parts):
        raise CodecellError("usage", "%r is not a path in the workspace" % text, hint="use one such as data/in.csv")
    return encoded(text, "/")


def encoded(text: str, safe: str) -> str:
    try:
        return quote(text, safe=safe)
    except UnicodeEncodeError:
        raise CodecellError("usage", "%r cannot be a part of a URL" % text) from None
