import builtins
import gc
import os
import signal
import sys
import unittest

from codecell_kernel.shared.frames import head
from codecell_kernel.worker.worker import Worker


class WithWorker(unittest.TestCase):
    def setUp(self):
        saved = dict(vars(builtins)), sys.modules["__main__"]
        self.addCleanup(lambda: (vars(builtins).update(saved[0]), sys.modules.update(__main__=saved[1])))
        self.addCleanup(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
        requests, self.host = os.pipe()
        self.answers, replies = os.pipe()
        for fd in (requests, self.host, self.answers, replies):
            self.addCleanup(os.close, fd)
        os.set_blocking(self.answers, False)
        self.worker = Worker(requests, replies, b"t" * 16)
        self.addCleanup(lambda: [os.close(fd) for fd in self.worker.out])


class Requests(WithWorker):
    def test_bytes_read_ahead_belong_to_the_next_request(self):
        first, second = head({"t": "reap", "pids": []}), head({"t": "reap", "pids": [0]})
        os.write(self.host, first + second)
        self.assertEqual(self.worker.read(len(first)), first)
        self.assertEqual(self.worker.read(len(second)), second)

    def test_bytes_read_ahead_are_the_start_of_the_body(self):
        request = head({"t": "set"})
        os.write(self.host, request + b"body, ")
        self.assertEqual(self.worker.read(len(request)), request)
        os.write(self.host, b"and the rest of it")
        self.assertEqual(self.worker.receive(24), b"body, and the rest of it")

    def test_a_body_ends_where_the_next_request_begins(self):
        os.write(self.host, b"8 bytes.next")
        self.assertEqual(self.worker.read(2), b"8 ")
        self.assertEqual(self.worker.receive(6), b"bytes.")
        self.assertEqual(self.worker.read(4), b"next")

    def test_a_woken_copy_discards_what_its_worker_had_read_ahead(self):
        os.write(self.host, b"for the dead worker")
        self.worker.read(3)
        self.worker.drain()
        os.write(self.host, b"for this one")
        self.assertEqual(self.worker.read(12), b"for this one")


class Interrupts(WithWorker):
    def test_an_interrupt_before_the_run_stops_the_run(self):
        for language, code in (("python", b"import time; time.sleep(5)"), ("bash", b"sleep 5")):
            self.worker.interrupt(signal.SIGINT, None)
            done = self.worker.run({"id": 1, "language": language}, code)
            self.assertEqual(done["status"], "interrupted")
            self.assertNotIn("exitCode", done)

    def test_an_interrupted_run_names_the_line_that_was_running(self):
        code = b"def wait():\n    raise KeyboardInterrupt\n\nx = 1\nwait()\n"
        self.assertEqual(self.worker.run({"id": 1, "language": "python"}, code)["line"], 2)
        self.assertEqual(self.worker.run({"id": 2, "language": "python"}, b"x = 2\nwait()")["line"], 2)
        self.assertNotIn("line", self.worker.run({"id": 3, "language": "python"}, b"x"))

    def test_a_late_interrupt_is_discarded_when_the_supervisor_says_so(self):
        self.worker.interrupt(signal.SIGINT, None)
        self.worker.handle({"t": "calm"}, b"")
        self.assertEqual(self.worker.run({"id": 1, "language": "python"}, b"x = 1")["status"], "ok")


class Rehearsals(WithWorker):
    def answered(self):
        try:
            return os.read(self.answers, 65536)
        except BlockingIOError:
            return b""

    def test_a_rehearsal_leaves_no_trace_in_the_session(self):
        builtins._ = "the last result"
        namespace, sources = dict(self.worker.interpreter.namespace), self.worker.interpreter.sources
        for number in range(300):
            sources.remember("<run %d>" % number, "text")
        kept = dict(sources.texts)
        self.worker.rehearse()
        self.assertEqual(self.worker.interpreter.namespace, namespace)
        self.assertEqual(sources.texts, kept)
        self.assertEqual(builtins._, "the last result")
        self.assertEqual(self.answered(), b"")

    def test_a_rehearsal_shows_no_figure_of_the_last_run(self):
        shown = []
        figures = type(sys)("figures")
        figures.flush = lambda: shown.append("a figure")
        sys.modules["codecell_kernel.worker.figures"] = figures
        self.addCleanup(sys.modules.pop, "codecell_kernel.worker.figures")
        self.worker.rehearse()
        self.assertEqual(shown, [])

    def test_a_rehearsal_is_skipped_while_user_code_traces_or_profiles(self):
        seen = set()
        tracer = lambda frame, *_: seen.add(frame.f_code.co_filename)
        self.addCleanup(sys.settrace, sys.gettrace())
        sys.settrace(tracer)
        self.worker.rehearse()
        sys.settrace(None)
        self.assertNotIn("<run 0>", seen)

    def test_a_rehearsal_is_skipped_if_user_code_has_an_audit_hook(self):
        compiled = []
        self.worker.interpreter.compile = lambda *_: compiled.append("a rehearsal")
        real, added = sys.addaudithook, []
        self.addCleanup(setattr, sys, "addaudithook", real)
        sys.addaudithook = added.append  # a real hook would stay for the following tests
        self.worker.rehearse.notice_audit_hooks()
        sys.addaudithook("the hook")
        self.worker.rehearse()
        self.assertEqual((added, compiled), (["the hook"], []))

    @unittest.skipUnless(hasattr(sys, "monitoring"), "since Python 3.12")
    def test_a_rehearsal_is_skipped_while_a_monitoring_tool_is_in_use(self):
        compiled = []
        self.worker.interpreter.compile = lambda *_: compiled.append("a rehearsal")
        sys.monitoring.use_tool_id(3, "a profiler")
        self.addCleanup(sys.monitoring.free_tool_id, 3)
        self.worker.rehearse()
        self.assertEqual(compiled, [])

    def test_an_interrupt_during_a_rehearsal_stops_the_next_run(self):
        self.worker.prepare()
        self.worker.interrupt(signal.SIGINT, None)
        self.worker.rehearse()
        done = self.worker.run({"id": 1, "language": "python"}, b"x = 1")
        self.assertEqual(done["status"], "interrupted")
        self.assertNotIn("exitCode", done)
        self.assertEqual(self.worker.run({"id": 2, "language": "python"}, b"x = 1")["status"], "ok")

    def test_a_rehearsal_does_not_collect_garbage(self):
        self.worker.interpreter.compile = lambda *_: self.assertFalse(gc.isenabled())
        self.worker.rehearse()
        self.assertTrue(gc.isenabled())

    def test_a_rehearsal_does_not_crash_a_worker_that_cannot_compile(self):
        def fail(*_):
            raise MemoryError

        self.worker.interpreter.compile = fail
        self.worker.rehearse()


if __name__ == "__main__":
    unittest.main()
