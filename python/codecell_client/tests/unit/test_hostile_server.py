"""What a server can send that no codecell sends."""
from __future__ import annotations

import traceback
import unittest
from typing import Any

import codecell

from .scripted_server import TOKEN, ScriptedServer, endless, failure, failures, raw, silent, with_body


def sessions(box: Any) -> Any:
    return box.sessions()


class HostileServerTest(unittest.TestCase):
    def codes(self, *answers: Any, use: Any = sessions, **options: Any) -> "set[str]":
        with ScriptedServer(*answers) as server:
            found = failures(server.url, use, **options)
        for error in found:
            shown = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            self.assertNotIn(TOKEN, shown + repr(error))
        return {error.code for error in found}

    def test_a_response_that_is_no_valid_http_is_rejected(self) -> None:
        for data in (
            b"SSH-2.0-server\r\n\r\n",
            b"HTTP/2 200\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nbad field\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}x",
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}",
            b"HTTP/1.1 101 Switching\r\n\r\n",
            b"HTTP/1.1 100 Continue\r\n\r\n" * 20,
            b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 500 + b"\r\n",
        ):
            with self.subTest(data[:60]):
                self.assertEqual(self.codes(raw(data)), {"bad_response"})

    def test_json_of_the_wrong_shape_is_rejected(self) -> None:
        for body in (
            b"",
            b"<html>",
            b"\xff",
            b"[]",
            b'{"sessions": 1}',
            b'{"sessions": [1]}',
            b'{"sessions": [{}]}',
            b'{"sessions": [{"session_id": 1, "state": "live", "persistent": false}]}',
            b'{"sessions": [NaN]}',
            b'{"sessions": [' + b"9" * 5000 + b"]}",
            b"[" * 200_000,
        ):
            with self.subTest(body[:60]):
                self.assertEqual(self.codes(with_body(body)), {"bad_response"})

    def test_an_endless_header_or_body_is_given_up(self) -> None:
        self.assertEqual(self.codes(endless(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n" * 1000)), {"bad_response"})
        self.assertEqual(self.codes(endless(b"HTTP/1.1 200 OK\r\nx: ", b"y" * 65536)), {"bad_response"})
        huge = b"HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n"
        self.assertEqual(self.codes(endless(huge, b"x" * 65536)), {"too_large"})
        chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        self.assertEqual(self.codes(endless(chunked, b"10000\r\n" + b"x" * 65536 + b"\r\n")), {"too_large"})
        self.assertEqual(self.codes(endless(chunked + b"0\r\n", b"a: b\r\n" * 1000)), {"bad_response"})

    def test_an_event_without_an_end_is_given_up(self) -> None:
        async def first(run: Any) -> Any:
            return await run.__anext__()

        def use(box: Any) -> Any:
            if isinstance(box, codecell.Codecell):
                return next(codecell.Session(box._inner.known("s")).attach("r"))
            return first(box.known("s").attach("r"))

        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: "
        self.assertEqual(self.codes(endless(head, b"x" * 65536), use=use), {"bad_response"})

    def test_a_redirect_is_not_followed(self) -> None:
        with ScriptedServer(with_body(b'{"sessions": []}')) as other:
            answer = with_body(b"", "307 Temporary Redirect", "location: %s/v1/sessions\r\n" % other.url)
            self.assertEqual(self.codes(answer), {"redirected"})
            self.assertEqual(other.requests, [])

    def test_an_error_page_of_a_proxy_is_an_error_with_its_status(self) -> None:
        with ScriptedServer(with_body(b"<h1>502</h1>", "502 Bad Gateway")) as server:
            self.assertEqual([error.status for error in failures(server.url, sessions)], [502, 502])

    def test_a_service_that_says_nothing_is_unreachable_after_the_timeout(self) -> None:
        with ScriptedServer(silent) as server:
            found = failures(server.url, lambda box: box.session(), timeout=0.2)
        self.assertEqual([type(error) for error in found], [codecell.Unreachable] * 2)

    def test_a_service_that_sends_a_byte_now_and_then_does_not_extend_the_timeout(self) -> None:
        def drip(sock: Any, _: bytes) -> None:
            sock.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
            sock.settimeout(0.05)
            while True:
                sock.sendall(b" ")
                try:
                    if not sock.recv(10):
                        return
                except OSError:
                    pass

        self.assertEqual(self.codes(drip, use=lambda box: box.session(), timeout=0.3), {"unreachable"})

    def test_only_requests_that_do_no_harm_twice_are_repeated(self) -> None:
        cut = raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")
        for use, count in ((sessions, 4), (lambda box: box.session(), 1)):
            with ScriptedServer(cut) as server:
                self.assertIsInstance(failure(lambda: use_once(server.url, use)), codecell.Unreachable)
                self.assertEqual(len(server.requests), count)

    def test_a_request_that_was_refused_for_its_rate_is_sent_again(self) -> None:
        error = b'{"error": {"code": "busy", "message": "too many", "hint": null}}'
        busy = with_body(error, "429 Too Many", "retry-after: 0\r\n")
        made = with_body(b'{"session_id": "s", "state": "live", "persistent": false}', "201 Created")
        with ScriptedServer(busy, made) as server, codecell.connect(server.url, TOKEN) as box:
            self.assertEqual(box.session().id, "s")
            self.assertEqual(len(server.requests), 2)

    def test_nothing_of_a_caller_gets_into_the_head_of_a_request(self) -> None:
        with ScriptedServer(with_body(b"{}", "404 Not Found")) as server, codecell.connect(server.url, TOKEN) as box:
            session = codecell.Session(box._inner.known("a/b\r\nx: y"))
            failure(lambda: session.get("n?m#\r\nx: y"))
            failure(lambda: session.read("dir/a b?\r\nx: y"))
            for request in server.requests:
                self.assertNotIn(b"\nx: y", request)
            self.assertIn(b"/v1/sessions/a%2Fb%0D%0Ax%3A%20y/files/dir/a%20b%3F%0D%0Ax%3A%20y", server.requests[-1])
            for path in ("../x", "a//b", "/etc/passwd", "", "."):
                self.assertEqual(getattr(failure(lambda: session.read(path)), "code", None), "usage")


def use_once(url: str, use: Any) -> Any:
    with codecell.connect(url, TOKEN) as box:
        return use(box)
