"""Where the token goes."""
from __future__ import annotations

import os
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import codecell
from codecell.http.address import parse_address
from codecell.http.proxy import proxy_for
from codecell.local.server import checkout_command

from .scripted_server import TOKEN, ScriptedServer, failure, with_body

EMPTY = with_body(b'{"sessions": []}')


class ConnectTest(unittest.TestCase):
    def test_plain_http_to_another_machine_has_to_be_allowed(self) -> None:
        for url in ("http://cells.example", "http://10.0.0.1:7410", "http://localhost.cells.example", "http://127.0.0.1.example"):
            error = failure(lambda: codecell.connect(url, TOKEN))
            self.assertIn("allow_insecure", str(error), url)
            codecell.connect(url, TOKEN, allow_insecure=True).close()
        for url in ("http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "https://cells.example/below"):
            codecell.connect(url, TOKEN).close()

    def test_a_url_that_is_none_of_a_service_is_rejected(self) -> None:
        for url in ("", "cells.example", "ftp://a", "http://", "https://user:pw@a", "https://a/?q", "https://a:b", "https://a/\r\nx"):
            self.assertEqual(getattr(failure(lambda: codecell.connect(url, TOKEN)), "code", None), "usage", url)

    def test_no_error_and_no_repr_contains_the_token(self) -> None:
        bad = TOKEN + "\r\nx: y"
        error = failure(lambda: codecell.connect("http://127.0.0.1:1", bad))
        self.assertNotIn(TOKEN, str(error))
        with codecell.connect("http://127.0.0.1:1", TOKEN) as box:
            self.assertNotIn(TOKEN, repr(box) + repr(box._inner._transport) + str(failure(box.sessions)))

    def test_url_and_token_come_from_the_environment(self) -> None:
        with ScriptedServer(EMPTY) as server:
            with mock.patch.dict(os.environ, {"CODECELL_URL": server.url, "CODECELL_TOKEN": TOKEN}):
                with codecell.connect() as box:
                    self.assertEqual(box.sessions(), [])
                # The token of the environment belongs to the service of the environment.
                with codecell.connect(server.url) as box:
                    self.assertEqual(box.sessions(), [])
        self.assertIn(b"authorization: Bearer " + TOKEN.encode(), server.requests[0])
        self.assertNotIn(b"authorization", server.requests[1])

    def test_a_proxy_of_the_environment_is_only_for_https_to_another_machine(self) -> None:
        with mock.patch.dict(os.environ, {name: "http://me:pw@proxy.example:3128" for name in ("HTTPS_PROXY", "https_proxy", "http_proxy")}):
            os.environ.pop("no_proxy", None)
            os.environ.pop("NO_PROXY", None)
            self.assertIsNone(proxy_for(parse_address("http://127.0.0.1:7410")))
            self.assertIsNone(proxy_for(parse_address("https://localhost:7410")))
            self.assertIsNone(proxy_for(parse_address("http://cells.example", True)))
            found = proxy_for(parse_address("https://cells.example"))
            assert found is not None
            self.assertEqual(found[:2], ("proxy.example", 3128))
            self.assertTrue(found[2].startswith(b"CONNECT cells.example:443 HTTP/1.1\r\n"))
            with mock.patch.dict(os.environ, {"no_proxy": "cells.example"}):
                self.assertIsNone(proxy_for(parse_address("https://cells.example")))

    def test_a_missing_command_is_an_error_that_says_what_to_do(self) -> None:
        for command in ("no-such-codecell", ["no-such-codecell", "x"]):
            error = failure(lambda: codecell.connect(command=command))
            self.assertEqual(getattr(error, "code", None), "command_missing")
            self.assertIn("CODECELL_COMMAND", str(error))
        self.assertEqual(getattr(failure(lambda: codecell.connect(token=TOKEN)), "code", None), "usage")

    @unittest.skipUnless(shutil.which("node"), "needs Node")
    def test_a_checkout_that_is_not_built_is_an_error_with_the_command_that_builds_it(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory).resolve()
            module = root / "python/codecell_client/codecell/local/server.py"
            module.parent.mkdir(parents=True)
            (root / "bin").mkdir()
            (root / "bin/codecell.js").touch()
            self.assertIn("npm run build", str(failure(lambda: checkout_command(module))))
            (root / "dist/bundled").mkdir(parents=True)
            self.assertEqual(checkout_command(module), ["node", str(root / "bin/codecell.js")])

    def test_a_command_that_does_not_serve_is_an_error_with_what_it_said(self) -> None:
        error = failure(lambda: codecell.connect(command=["sh", "-c", "echo broken >&2; exit 3"]))
        self.assertEqual(getattr(error, "code", None), "serve_failed")
        self.assertIn("broken", str(error))
