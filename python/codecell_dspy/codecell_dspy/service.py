"""Requests to `codecell serve`, from any thread."""
from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from typing import Any, List, Optional, Tuple, Union
from urllib.parse import quote, urlsplit

Connection = http.client.HTTPConnection
REQUEST_SECONDS = 60.0
# The service closes idle connections after 65 s. A younger one is not about to be closed, so no request has to be repeated.
REUSE_SECONDS = 30.0


class ServiceError(Exception):
    """The service refused a request (`status`, `code`), or cannot be reached (`status` is 0)."""

    def __init__(self, message: str, status: int = 0, code: str = "unreachable", hint: str = "") -> None:
        super().__init__("%s: %s" % (message, hint) if hint else message)
        self.status = status
        self.code = code


class Service:
    """A codecell service, with the token of one tenant."""

    def __init__(self, url: str, token: str, busy_seconds: float = 60.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("%r is not the URL of a service: use one such as http://127.0.0.1:7410" % url)
        self.url = url.rstrip("/")
        self._parts = parts
        self._token = token
        self._busy_seconds = busy_seconds
        self._idle: List[Tuple[float, Connection]] = []
        self._guard = threading.Lock()

    def call(
        self,
        method: str,
        path: str,
        body: Union[None, bytes, dict] = None,
        wait: float = 0.0,
        connection: Optional[Connection] = None,
    ) -> Any:
        """The decoded response. `wait` is how long the service may take to answer beyond the usual."""
        until = time.monotonic() + self._busy_seconds
        while True:
            used = connection if connection is not None else self._take()
            try:
                status, after, data = self._exchange(used, method, path, body, wait)
            except (OSError, http.client.HTTPException) as error:
                used.close()
                reason = str(error) or type(error).__name__
                raise ServiceError("the codecell service at %s did not answer: %s" % (self.url, reason)) from error
            except BaseException:
                used.close()  # its answer may still come, and would be taken for that of the next request
                raise
            if connection is None:
                self._give_back(used)
            # 429 means that nothing was done, so the same request may be sent again.
            if status == 429 and time.monotonic() + after < until:
                time.sleep(after)
                continue
            return decoded(status, data)

    def connection(self) -> Connection:
        """A connection of its own, for a request that another thread may have to abort."""
        make = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        return make(self._parts.hostname or "", self._parts.port, timeout=REQUEST_SECONDS)

    def close(self) -> None:
        with self._guard:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def _exchange(
        self, connection: Connection, method: str, path: str, body: Union[None, bytes, dict], wait: float
    ) -> Tuple[int, float, bytes]:
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        data = json.dumps(body, allow_nan=False).encode() if isinstance(body, dict) else body
        headers = {"authorization": "Bearer %s" % self._token}
        if data is not None:
            headers["content-type"] = kind
        connection.timeout = REQUEST_SECONDS + wait
        if connection.sock is not None:
            connection.sock.settimeout(connection.timeout)
        connection.request(method, self._parts.path.rstrip("/") + path, data, headers)
        with connection.getresponse() as response:
            after = response.headers.get("retry-after") or "1"
            return response.status, float(after) if after.isdigit() else 1.0, response.read()

    def _take(self) -> Connection:
        with self._guard:
            now = time.monotonic()
            while self._idle:
                since, connection = self._idle.pop()
                if now - since < REUSE_SECONDS:
                    return connection
                connection.close()
        return self.connection()

    def _give_back(self, connection: Connection) -> None:
        if connection.sock is not None:  # the service did not ask to close it
            with self._guard:
                self._idle.append((time.monotonic(), connection))


def decoded(status: int, data: bytes) -> Any:
    try:
        answer = json.loads(data) if data else None
    except ValueError:
        raise ServiceError("the service answered with something that is not JSON", status, "bad_answer") from None
    if status < 400:
        return answer
    error = answer.get("error", {}) if isinstance(answer, dict) else {}
    message = error.get("message", "the service answered with status %d" % status)
    raise ServiceError(message, status, error.get("code", "internal"), error.get("hint") or "")


def abort(connection: Connection) -> None:
    """Ends a request that another thread is waiting for."""
    sock = connection.sock
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is closed already


def segment(text: str) -> str:
    """One part of a path.

    >>> segment("a/b ü")
    'a%2Fb%20%C3%BC'
    """
    return quote(text, safe="")
