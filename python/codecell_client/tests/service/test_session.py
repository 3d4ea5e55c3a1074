"""Sessions over the blocking API, and that no operation of the service is missing."""
from __future__ import annotations

import io
import re
import threading
import unittest
from typing import Any, Dict, List, Set, Tuple
from unittest import mock

import codecell
from codecell.http.transport import Transport

from .support import ServiceCase

# operationId: why no method calls it
EXCLUDED: Dict[str, str] = {
    "me": "for pages",
    "ready": "for routers",
    "listGateways": "for operators",
    "listUsage": "for pages",
    "getUsage": "for pages; usage() has what a program needs",
    "exportSession": "for pages; history() has the same runs",
    "appendStdin": "for people at a console; stdin= takes any iterable",
    "complete": "for editors and pages",
    "getLineage": "for pages",
    "listNetwork": "for pages; result.egress has what a run reached",
    "listModels": "for pages",
    "getTrajectory": "for pages",
    "createDisplayLink": "for pages; result.displays has the content",
    "showDisplay": "for browsers",
    "streamEvents": "for pages; follow_audit() has the events",
    "getStatistics": "for pages; metrics() has the numbers of now",
}


class OperationsTest(ServiceCase):
    """Every operation of the OpenAPI document is called by a method, and its answer is decoded."""

    def test_no_operation_of_the_service_is_missing(self) -> None:
        seen: Set[Tuple[str, str]] = set()
        original = Transport._start

        async def recording(self: Transport, request: Any, patience: Any) -> Any:
            seen.add((request.method, request.path))
            return await original(self, request, patience)

        with mock.patch.object(Transport, "_start", recording):
            self.use_everything()
            document = self.box.openapi()
        operations = {}
        for path, item in document["paths"].items():
            pattern = re.escape(path).replace(r"\{path\}", ".+")
            pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", pattern)
            for method, operation in item.items():
                operations[operation["operationId"]] = (method.upper(), re.compile(pattern))
        self.assertGreater(len(operations), 40)
        called = {
            name
            for name, (method, pattern) in operations.items()
            if any(method == one and pattern.fullmatch(path) for one, path in seen)
        }
        self.assertEqual(sorted(set(operations) - called), sorted(EXCLUDED))

    def use_everything(self) -> None:
        box = self.box
        self.assertTrue(box.health())
        session = box.session("walk")
        self.assertIn("walk", [one.session_id for one in box.sessions()])
        self.use_runs(session)
        self.use_variables(session)
        self.use_files(session)
        self.use_states(session)
        self.assertGreater(len(box.audit(session="walk", type="run", from_start=True).entries) + 1, 0)
        with box.follow_audit(type="session.opened") as feed:
            self.assertEqual(next(feed)["type"], "session.opened")
        self.assertTrue(box.verify_audit().sound)
        self.assertIn("codecell_", box.metrics())
        session.close(forget=True)
        session.close()
        self.assertNotIn("walk", [one.session_id for one in box.sessions()])

    def use_runs(self, session: codecell.Session) -> None:
        result = session.run("import sys; print(sys.argv[1:], sys.stdin.read()); 6 * 7", args=["-v"], stdin="in", check=True)
        self.assertEqual((result.value, result.stdout, result.state), ("42", "['-v'] in\n", "kept"))
        self.assertEqual(session.run("echo $((1+1))", language="bash").stdout, "2\n")
        self.assertEqual(session.receipt(result.run_id).policy_hash, result.policy_hash)
        self.assertIn(result.run_id, [one.run_id for one in session.runs()])
        summed = session.run("sum(map(int, sys.stdin))", stdin=(b"%d\n" % one for one in range(1000)))
        self.assertEqual(summed.value, "499500")
        with session.start("import time\ntime.sleep(60)") as run:
            self.assertTrue(run.status().is_running)
            with self.assertRaises(codecell.StillRunning):
                run.result(timeout=0)
            self.assertEqual(run.interrupt(wait=20).status, "interrupted")
        self.assertEqual([one.type for one in session.stream("print(1)")], ["stdout", "result"])
        run = session.start("time.sleep(60)")
        self.assertEqual(run.cancel().status, "cancelled")

    def use_variables(self, session: codecell.Session) -> None:
        session.set("rows", [3, 1, 2])
        session.set("raw", b"\x00\xff")
        self.assertEqual((session.get("rows"), session.get("sorted(rows)[0]")), ([3, 1, 2], 1))
        self.assertEqual(session.get_bytes("raw"), b"\x00\xff")
        self.assertEqual(session.preview("object()").form, "repr")
        self.assertIn("rows", [one.name for one in session.variables()])
        self.assertIn("python", session.cell().languages)

        def price(fruit: str, count: int = 1) -> float:
            """The price of a fruit."""
            if fruit != "apple":
                raise ValueError("there is no %s" % fruit)
            return 1.25 * count

        with session.expose(price=price):
            self.assertEqual(session.run("price('apple', count=2)").value, "2.5")
            self.assertIn("ValueError", str(session.run("price('stone')").error))
        self.assertEqual(session.run("price('apple')").status, "error")

    def use_files(self, session: codecell.Session) -> None:
        source = self.directory / "in.csv"
        source.write_bytes(b"a,b\n" * 50_000)
        self.assertEqual(session.upload("data/in.csv", source), 200_000)
        with source.open("rb") as file:
            self.assertEqual(session.upload("data/again.csv", file), 200_000)
        self.assertEqual(session.upload("text.txt", "ü"), 2)
        self.assertEqual(session.upload("pieces", iter([b"a", b"", b"b"])), 2)
        self.assertEqual([one.name for one in session.list_files("data/")], ["data/again.csv", "data/in.csv"])
        self.assertEqual(session.download("data/in.csv", self.directory / "out.csv"), 200_000)
        self.assertEqual((self.directory / "out.csv").read_bytes(), source.read_bytes())
        with session.open("data/in.csv", 2, 5) as part:
            self.assertEqual(b"".join(part), b"b\na")
        with self.assertRaises(codecell.CodecellError) as caught:
            session.read("data/in.csv", max_bytes=1000)
        self.assertEqual(caught.exception.code, "too_large")
        link = session.link("text.txt", expires_in=60)
        self.assertNotIn(link.url, repr(link))
        target = io.BytesIO()
        self.assertEqual((self.box.download_link(link.url, target), target.getvalue()), (2, "ü".encode()))
        self.assertEqual(session.artifacts("text").artifacts[0].sha256, link.sha256)
        session.remove_file("text.txt")
        with self.assertRaises(codecell.CodecellError) as caught:
            session.download("text.txt", self.directory / "none.txt")
        self.assertEqual(caught.exception.status, 404)
        self.assertEqual(sorted(one.name for one in self.directory.iterdir()), ["in.csv", "out.csv"])

    def use_states(self, session: codecell.Session) -> None:
        session.set("x", 1)
        session.checkpoint("clean")
        session.set("x", 2)
        fork = session.fork("walk-fork")
        session.rollback("clean")
        self.assertEqual((session.get("x"), fork.get("x")), (1, 2))
        fork.close(forget=True)
        self.assertEqual([one.name for one in session.checkpoints()], ["clean"])
        session.forget_checkpoint("clean")
        with self.assertRaises(codecell.CodecellError) as refused:
            session.undo()
        self.assertIn("session.undo", str(refused.exception.hint))
        self.assertIn("x", session.save().variables)
        self.assertEqual(session.restore().session_id, "walk")
        self.assertIn("6 * 7", " ".join(one.code for one in session.history()))
        self.assertEqual(session.policy().net.deny, ())
        self.assertEqual(session.update_policy({"net": {"deny": ["b.example"]}}).changes[0].to, "b.example")
        session.reset()
        with self.assertRaises(codecell.CodecellError) as caught:
            session.get("x")
        self.assertEqual(caught.exception.code, "variable_missing")
        self.assertEqual(session.info().state, "live")


class RunTest(ServiceCase):
    def test_a_program_that_fails_is_a_result_unless_the_caller_checks(self) -> None:
        session = self.session()
        result = session.run("1 / 0")
        self.assertFalse(result.ok)
        with self.assertRaises(codecell.ProgramError) as caught:
            session.run("1 / 0", check=True)
        self.assertEqual(str(caught.exception), "the program failed: ZeroDivisionError: division by zero")
        self.assertEqual(caught.exception.result.status, "error")

    def test_a_run_that_was_left_is_continued_by_its_id_and_offset(self) -> None:
        session = self.session()
        run = session.start("print('one', flush=True)\ninput()\nprint('two')", stdin_stream=True)
        first = next(run)
        assert isinstance(first, codecell.Output)
        self.assertEqual(first.text, "one\n")
        run.leave()
        with codecell.connect(self.server.url, self.server.token) as other:
            again = other.session(session.id).attach(run.run_id, run.next_offset)
            self.assertTrue(again.send_stdin(b"go\n").is_complete)
            events = list(again)
        self.assertEqual([getattr(one, "text", None) for one in events], ["two\n", None])
        self.assertEqual(run.result().stdout, "one\ntwo\n")

    def test_an_interrupted_caller_cancels_its_run(self) -> None:
        session = self.session()
        with mock.patch.object(codecell.core.run.AsyncRun, "result", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                session.run("import time; time.sleep(60)")
        (run,) = session.runs()
        self.assertEqual(session.attach(run.run_id).result().status, "cancelled")

    def test_a_caller_interrupted_while_its_run_starts_leaves_no_run_behind(self) -> None:
        session = self.session()
        receive = codecell.http.message.Connection.receive
        replies: List[object] = []

        async def interrupted(connection: Any, patience: Any) -> Any:
            reply = await receive(connection, patience)
            replies.append(reply)
            if len(replies) == 1:
                raise KeyboardInterrupt
            return reply

        with mock.patch.object(codecell.http.message.Connection, "receive", interrupted):
            with self.assertRaises(KeyboardInterrupt):
                session.run("import time; time.sleep(60)")
        (run,) = session.runs()
        self.assertEqual(session.attach(run.run_id).result().status, "cancelled")
        with mock.patch.object(codecell.http.transport.Transport, "_take", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                session.run("1")
        self.assertEqual(len(session.runs()), 1)

    def test_long_text_of_any_characters_is_standard_input(self) -> None:
        text = "\U0001f600" * (700 << 10)
        self.assertEqual(self.session().run("import sys; len(sys.stdin.read())", stdin=text).value, str(len(text)))

    def test_a_program_that_ends_early_does_not_need_all_of_its_input(self) -> None:
        def endless() -> Any:
            while True:
                yield b"x" * 65536

        session = self.session()
        self.assertEqual(session.run("1", stdin=endless()).value, "1")
        self.assertEqual(session.run("2", stdin=b"x" * (30 << 20)).value, "2")

    def test_an_upload_that_fails_in_its_source_raises_that_error_and_leaves_no_file(self) -> None:
        def broken() -> Any:
            yield b"x" * 100_000
            raise RuntimeError("the disk is broken")

        session = self.session()
        with self.assertRaisesRegex(RuntimeError, "the disk is broken"):
            session.upload("x.bin", broken())
        self.assertEqual(session.list_files(), [])

    def test_many_calls_of_a_program_do_not_start_many_threads(self) -> None:
        most: List[int] = []
        def count(number: int) -> int:
            most.append(sum(one.name == "codecell function" for one in threading.enumerate()))
            return number

        session = self.session()
        code = "from concurrent.futures import ThreadPoolExecutor as P\nsum(P(32).map(lambda n: count(n), range(200)))"
        with session.expose(count=count):
            self.assertEqual(session.run(code, check=True).value, str(sum(range(200))))
        self.assertLessEqual(max(most), 17)

    def test_a_client_that_was_closed_says_so_and_leaves_no_thread(self) -> None:
        session = self.session()
        other = codecell.connect(self.server.url, self.server.token)
        exposed = other.session(session.id)
        exposed.expose(f=lambda: 1)
        other.close()
        other.close()
        # close() waits 5 s for the thread, whose request lasts 20 s unless it is ended.
        self.assertNotIn("codecell calls", [one.name for one in threading.enumerate()])
        with self.assertRaises(codecell.CodecellError) as caught:
            exposed.run("1")
        self.assertEqual(caught.exception.code, "closed")


if __name__ == "__main__":
    unittest.main()
