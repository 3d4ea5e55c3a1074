"""A server on loopback that answers each connection with prepared bytes, however wrong they are."""
from __future__ import annotations

import asyncio
import re
import socket
import threading
from typing import Any, Awaitable, Callable, List, Optional

import codecell
from codecell import aio
from codecell.http import transport

transport.DELAYS = (0.0, 0.0, 0.0)  # nothing here gets better by waiting
Answer = Callable[[socket.socket, bytes], None]


class ScriptedServer:
    """`answers` are used one per connection; the last one is used again. Each gets the socket and the request."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.requests: List[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(sock,), daemon=True).start()

    def _answer(self, sock: socket.socket) -> None:
        with sock:
            sock.settimeout(20)
            try:
                data = read_request(sock)
                if data is None:
                    return
                self.requests.append(data)
                answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
                answer(sock, data)
            except OSError:
                pass  # the client has gone, which many tests want

    def __enter__(self) -> "ScriptedServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


def read_request(sock: socket.socket) -> Optional[bytes]:
    """The head of a request and its body: a connection that is closed with unread bytes is reset, and its answer is lost."""
    data = b""
    while not is_whole(data):
        piece = sock.recv(65536)
        if not piece:
            return None
        data += piece
    return data


def is_whole(data: bytes) -> bool:
    head, end, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    return bool(end) and len(body) >= (int(length[1]) if length else 0)


def raw(data: bytes) -> Answer:
    """These bytes, then the end of the connection."""
    return lambda sock, _: sock.sendall(data)


def with_body(body: bytes, status: str = "200 OK", fields: str = "") -> Answer:
    head = "HTTP/1.1 %s\r\ncontent-length: %d\r\n%s\r\n" % (status, len(body), fields)
    return raw(head.encode() + body)


def endless(head: bytes, piece: bytes) -> Answer:
    def answer(sock: socket.socket, _: bytes) -> None:
        sock.sendall(head)
        while True:
            sock.sendall(piece)

    return answer


def silent(sock: socket.socket, _: bytes) -> None:
    """Says nothing until the client goes away."""
    while sock.recv(4096):
        pass


TOKEN = "secret-token-of-the-test"


def ask_blocking(url: str, use: Callable[[codecell.Codecell], Any], **options: Any) -> Any:
    with codecell.connect(url, TOKEN, **options) as box:
        return use(box)


def ask_async(url: str, use: Callable[[aio.AsyncCodecell], Awaitable[Any]], **options: Any) -> Any:
    async def main() -> Any:
        async with aio.connect(url, TOKEN, **options) as box:
            return await use(box)

    return asyncio.run(main())


def failures(url: str, use: Callable[[Any], Any], **options: Any) -> List[codecell.CodecellError]:
    """The errors of both APIs. `use` makes one call and returns what it returns."""
    found: List[codecell.CodecellError] = []
    for ask in (ask_blocking, ask_async):
        error = failure(lambda: ask(url, use, **options))
        if error is None:
            raise AssertionError("%s did not fail" % ask.__name__)
        found.append(error)
    return found


def failure(work: Callable[[], Any]) -> Optional[codecell.CodecellError]:
    try:
        work()
    except codecell.CodecellError as error:
        return error
    return None
