"""The local server: one per process, gone when nobody uses it."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from codecell_dspy import CodecellFactory, CodecellInterpreter, CodeInterpreterError
from codecell_dspy.local_server import KEEPER

from .support import POLICY, command, missing

PACKAGE = Path(__file__).resolve().parents[1]


def children(pid: int) -> "list[int]":
    return [int(one) for one in Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()]


def is_alive(pid: int) -> bool:
    try:
        return Path("/proc/%d/stat" % pid).read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def closes(pid: int) -> None:
    """Waits until a process that is not our child has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    import select

    try:
        ended = select.select([descriptor], [], [], 60)[0]
    finally:
        os.close(descriptor)
    assert ended, "process %d is still alive" % pid


class StartFailures(unittest.TestCase):
    def test_a_command_that_does_not_exist_is_named(self) -> None:
        with self.assertRaisesRegex(CodeInterpreterError, "no-such-codecell"):
            CodecellInterpreter(command=["no-such-codecell"]).start()

    def test_a_service_that_does_not_answer_raises(self) -> None:
        cell = CodecellInterpreter("http://127.0.0.1:9", "token")
        with self.assertRaisesRegex(CodeInterpreterError, "did not answer"):
            cell.execute("1")
        cell.shutdown()


@unittest.skipIf(missing() is not None, str(missing()))
@unittest.skipUnless(hasattr(os, "pidfd_open") and Path("/proc/self/task").exists(), "needs Linux and Python 3.9")
class LocalServers(unittest.TestCase):
    def test_interpreters_share_a_server_that_ends_with_the_last_of_them(self) -> None:
        first = CodecellInterpreter(command=command(), policy=POLICY)
        second = CodecellInterpreter(command=command(), policy=POLICY)
        first.start()
        second.start()
        assert first._server is not None
        keeper = first._server.process
        self.assertIs(first._server, second._server)
        (serve,) = children(keeper.pid)
        first.shutdown()
        self.assertEqual(second.execute("1"), "1")
        second.shutdown()
        self.assertIsNotNone(keeper.poll())
        self.assertFalse(is_alive(serve))

    def test_a_factory_keeps_its_server_between_interpreters(self) -> None:
        with CodecellFactory(command=command(), policy=POLICY) as factory:
            with factory() as one:
                one.start()
                server = one._server
            with factory() as two:
                two.start()
                self.assertIs(two._server, server)
        assert server is not None
        self.assertFalse(server.is_running)

    def test_the_token_is_in_no_command_line(self) -> None:
        with CodecellInterpreter(command=command(), policy=POLICY) as cell:
            cell.start()
            assert cell._server is not None
            for pid in [cell._server.process.pid, *children(cell._server.process.pid)]:
                self.assertNotIn(cell._server.service._token.encode(), Path("/proc/%d/cmdline" % pid).read_bytes())

    def test_a_server_that_died_raises_and_is_not_restarted(self) -> None:
        cell = CodecellInterpreter(command=command(), policy=POLICY)
        self.addCleanup(cell.shutdown)
        cell.execute("x = 1")
        assert cell._server is not None
        (serve,) = children(cell._server.process.pid)
        os.kill(serve, signal.SIGKILL)
        cell._server.process.wait(60)
        for _ in range(2):
            with self.assertRaises(CodeInterpreterError):
                cell.execute("x")

    def test_a_server_that_dies_in_the_middle_of_an_execution_raises(self) -> None:
        cell = CodecellInterpreter(command=command(), policy=POLICY)
        self.addCleanup(cell.shutdown)
        cell.start()
        assert cell._server is not None
        (serve,) = children(cell._server.process.pid)
        cell.tools["kill"] = lambda: os.kill(serve, signal.SIGKILL)
        with self.assertRaises(CodeInterpreterError):
            cell.execute("kill()")

    def test_nothing_is_left_when_the_program_is_killed(self) -> None:
        code = "import sys, json; from codecell_dspy import CodecellInterpreter as C\n"
        code += "c = C(command=json.loads(sys.argv[1]), policy=json.loads(sys.argv[2])); c.execute('1')\n"
        code += "print(c._server.process.pid, flush=True); sys.stdin.read()"
        import json

        argv = [sys.executable, "-c", code, json.dumps(list(command())), json.dumps(POLICY)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(argv, cwd=PACKAGE, **pipes) as program:  # type: ignore[call-overload]
            keeper = int(program.stdout.readline())
            (serve,) = children(keeper)
            directory = Path("/proc/%d/cmdline" % keeper).read_bytes().split(b"\0")
            private = directory[directory.index(str(KEEPER).encode()) + 1]
            program.kill()
        closes(keeper)
        closes(serve)
        self.assertFalse(Path(os.fsdecode(private)).exists())
