import os
import signal
import socket
import tempfile
import unittest
from unittest import mock

from codecell_kernel.entry import template

CONFIG = {"handsOver": False}


class Starts(unittest.TestCase):
    """Runs a real template whose cells are replaced by `become_cell`."""

    def serve(self, become_cell):
        directory = tempfile.mkdtemp()
        path = directory + "/cells"
        host, inherited = os.pipe()
        ready, says = os.pipe()
        self.addCleanup(os.rmdir, directory)
        self.addCleanup(os.unlink, path)
        pid = os.fork()
        if pid == 0:
            os.dup2(host, 0)
            os.dup2(says, 1)
            for fd in (host, inherited, ready, says):
                os.close(fd)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            with mock.patch.multiple(template, SOCKET=path, become_cell=become_cell):
                try:
                    template.Template(CONFIG, b"", b"").serve()
                finally:
                    os._exit(1)
        self.addCleanup(lambda: (os.kill(pid, signal.SIGKILL), os.waitpid(pid, 0)))
        for fd in (host, says):
            os.close(fd)
        self.addCleanup(os.close, ready)
        self.addCleanup(os.close, inherited)
        self.assertTrue(os.read(ready, 100))
        connection = socket.socket(socket.AF_UNIX)
        self.addCleanup(connection.close)
        connection.settimeout(10)
        connection.connect(path)
        return connection

    def test_a_connection_is_closed_if_the_process_that_starts_its_cell_is_killed(self):
        connection = self.serve(lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        self.assertEqual(connection.recv(1), b"")

    def test_a_connection_stays_open_as_long_as_its_cell_lives(self):
        def become_cell(connection, owner):
            pid = os.fork()
            if pid == 0:
                connection.recv(1)  # until the host says something
                os._exit(0)
            os.write(owner.announce, template.BIRTH.pack(connection.fileno(), pid))
            os._exit(0)

        connection = self.serve(become_cell)
        connection.settimeout(0.3)
        with self.assertRaises(TimeoutError):
            connection.recv(1)
        connection.settimeout(10)
        connection.send(b"1")
        self.assertEqual(connection.recv(1), b"")


if __name__ == "__main__":
    unittest.main()
