"""One service for all tests, and a relay that cuts connections."""
from __future__ import annotations

import atexit
import json
import os
import shutil
import socket
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, Callable, List, Optional
from urllib.parse import urlsplit

import codecell
from codecell.local.server import LocalServer

ROOT = Path(__file__).resolve().parents[4]
POLICY = {"session": {"persist": True}, "net": {"enabled": True, "allowlist": ["a.example"]}, "proc": {"timeout": "60s"}}


def command() -> List[str]:
    """The built codecell of this checkout, or `CODECELL_TEST_COMMAND`, a JSON list."""
    given = os.environ.get("CODECELL_TEST_COMMAND")
    return list(json.loads(given)) if given else ["node", str(ROOT / "bin/codecell.js")]


def missing() -> Optional[str]:
    """Why the tests cannot run here, or None."""
    if shutil.which(command()[0]) is None:
        return "there is no %s" % command()[0]
    if not (ROOT / "dist/bundled/surfaces/cli/launch/launch.cjs").exists():
        return "codecell is not built (npm run build)"
    return None


_server: Optional[LocalServer] = None


def server() -> LocalServer:
    """Stopped when this process ends."""
    global _server
    if _server is None:
        if missing():
            raise unittest.SkipTest(str(missing()))
        for name in ("CODECELL_URL", "CODECELL_TOKEN", "CODECELL_POLICY"):
            os.environ.pop(name, None)
        _server = LocalServer(command(), POLICY)
    return _server


class ServiceCase(unittest.TestCase):
    """`box` is connected to the service of all tests. Each test has a session and a directory of its own."""

    def setUp(self) -> None:
        self.server = server()
        self.box = codecell.connect(self.server.url, self.server.token)
        self.addCleanup(self.box.close)
        self.directory = Path(tempfile.mkdtemp(prefix="codecell-client-test-"))
        self.directory.chmod(0o711)  # cells of root run under another uid and have to enter it
        self.addCleanup(shutil.rmtree, self.directory)

    def session(self) -> codecell.Session:
        session = self.box.session()
        self.addCleanup(session.close, forget=True)
        return session


class Relay:
    """Passes bytes to the service. `cut` sees each piece from the service with the number of its connection.

    It returns how many bytes of the piece to pass on before the connection is cut, or None to pass on all.
    """

    def __init__(self, url: str, cut: Callable[[int, bytes], Optional[int]]) -> None:
        self._target = urlsplit(url)
        self._cut = cut
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: List[socket.socket] = []
        self.requests: List[bytes] = []
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        number = 0
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            service = socket.create_connection((str(self._target.hostname), int(self._target.port or 0)))
            self._connections += [client, service]
            number += 1
            threading.Thread(target=self._up, args=(client, service), daemon=True).start()
            threading.Thread(target=self._down, args=(service, client, number), daemon=True).start()

    def _up(self, client: socket.socket, service: socket.socket) -> None:
        own = "host: %s" % self.url[len("http://") :]
        real = "host: %s" % self._target.netloc
        for data in pieces(client):
            self.requests.append(data)
            send(service, data.replace(own.encode(), real.encode()))
        end(service)

    def _down(self, service: socket.socket, client: socket.socket, number: int) -> None:
        for data in pieces(service):
            size = self._cut(number, data)
            send(client, data if size is None else data[:size])
            if size is not None:
                break
        end(client)
        end(service)

    def __enter__(self) -> "Relay":
        return self

    def __exit__(self, *_: Any) -> None:
        end(self._listener)
        self._listener.close()
        for one in self._connections:
            end(one)
            one.close()


def pieces(sock: socket.socket) -> Any:
    while True:
        try:
            data = sock.recv(65536)
        except OSError:
            return
        if not data:
            return
        yield data


def send(sock: socket.socket, data: bytes) -> None:
    try:
        sock.sendall(data)
    except OSError:
        pass


def end(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


@atexit.register
def _stop() -> None:
    if _server is not None:
        _server.stop()
