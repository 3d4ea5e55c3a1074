"""The service that `connect` starts."""
from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import unittest
from pathlib import Path

import codecell

from .support import ServiceCase, command

PACKAGE = Path(codecell.__file__).parents[1]
# Starts a service, says where it is, and waits.
PROGRAM = """
import json, sys, codecell
box = codecell.connect(command=json.loads(sys.argv[1]))
box.session("a").run("1")
print(json.dumps([box.url, box._on_close.__self__.pid, box._on_close.__self__.token]), flush=True)
sys.stdin.read()
"""


class LocalServerTest(ServiceCase):
    def start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-B", "-c", PROGRAM, json.dumps(command())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(PACKAGE), "TMPDIR": str(self.directory)},
            cwd=str(self.directory),
        )

    def assert_gone(self, url: str) -> None:
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])), 5).close()

    @unittest.skipUnless(hasattr(os, "pidfd_open"), "needs Linux")
    def test_the_service_ends_with_its_process_even_if_that_is_killed(self) -> None:
        for end in (signal.SIGKILL, None):
            with self.subTest(end), self.start() as process:
                assert process.stdout and process.stdin
                url, keeper, token = json.loads(process.stdout.readline())
                keeping = os.pidfd_open(keeper)
                arguments = Path("/proc/%d/cmdline" % keeper)
                if arguments.exists():
                    self.assertNotIn(token.encode(), arguments.read_bytes())
                if end is None:
                    process.stdin.close()  # it exits without close()
                else:
                    process.send_signal(end)
                process.wait(60)
                # The keeper ends after its server.
                self.assertTrue(select.select([keeping], [], [], 60)[0])
                os.close(keeping)
                self.assert_gone(url)
        self.assertEqual([one.name for one in self.directory.iterdir()], [])

    def test_a_closed_client_has_ended_its_service(self) -> None:
        box = codecell.connect(command=command())
        with box:
            self.assertEqual(box.session("a").run("1 + 1").value, "2")
        self.assert_gone(box.url)
