import errno
import os
import resource
import signal
import socket
import tempfile
import unittest
from unittest import mock

from codecell_kernel.entry import template

CONFIG = {"handsOver": False}


class Starts(unittest.TestCase):
    """Runs a real template whose cells are replaced by `become_cell`."""

    def serve(self, become_cell, prepare=lambda owner: None):
        """Returns a first connection. `prepare` is called in the template's process before it serves."""
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
                    owner = template.Template(CONFIG, b"", b"")
                    prepare(owner)
                    owner.serve()
                finally:
                    os._exit(1)
        self.addCleanup(lambda: (os.kill(pid, signal.SIGKILL), os.waitpid(pid, 0)))
        for fd in (host, says):
            os.close(fd)
        self.addCleanup(os.close, ready)
        self.addCleanup(os.close, inherited)
        self.assertTrue(os.read(ready, 100))
        self.path = path
        return self.connect()

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        self.addCleanup(connection.close)
        connection.settimeout(10)
        connection.connect(self.path)
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

    def test_a_start_that_cannot_be_forked_is_answered_with_an_error_and_the_next_one_succeeds(self):
        real, failures = os.fork, [errno.EAGAIN, errno.ENOMEM]

        def fork():
            if failures:
                number = failures.pop(0)
                raise OSError(number, os.strerror(number))
            return real()

        first = self.serve(live_cell, lambda _: setattr(os, "fork", fork))
        self.assertIn(b"Resource temporarily unavailable", everything(first))
        self.assertIn(b"Cannot allocate memory", everything(self.connect()))
        self.assert_lives(self.connect())

    def test_a_start_without_free_descriptors_is_answered_with_an_error_and_ends_no_other_cell(self):
        def prepare(_):
            lowest_free = os.dup(0)
            os.close(lowest_free)
            room_for_one = lowest_free + 3
            resource.setrlimit(resource.RLIMIT_NOFILE, (room_for_one, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

        first = self.serve(live_cell, prepare)
        self.assert_lives(first)
        for _ in range(20):
            self.assertIn(b"Too many open files", everything(self.connect()))
        first.send(b"1")
        self.assertEqual(first.recv(10), b"")
        self.assert_lives(self.connect())

    def test_a_start_that_cannot_even_be_refused_waits_until_it_can_be_accepted(self):
        def prepare(owner):
            listener, failures = owner.listener, [errno.ENFILE] * 4

            class Scarce:
                fileno, close = listener.fileno, listener.close

                def accept(self):
                    if failures:
                        raise OSError(failures.pop(), "no")
                    return listener.accept()

            owner.listener = Scarce()

        self.assert_lives(self.serve(live_cell, prepare))

    def assert_lives(self, connection):
        """Its cell answers."""
        self.assertEqual(connection.recv(10), b"alive")


def live_cell(connection, owner):
    """A cell that greets, and exits when the host says something."""
    pid = os.fork()
    if pid == 0:
        connection.send(b"alive")
        connection.recv(1)
        os._exit(0)
    os.write(owner.announce, template.BIRTH.pack(connection.fileno(), pid))
    os._exit(0)


def everything(connection):
    data = b""
    while True:
        piece = connection.recv(4096)
        if not piece:
            return data
        data += piece


if __name__ == "__main__":
    unittest.main()
