import builtins
import os
import sys
import unittest

from codecell_kernel.frames import head
from codecell_kernel.worker import Worker


class WithWorker(unittest.TestCase):
    def setUp(self):
        saved = dict(vars(builtins)), sys.modules["__main__"]
        self.addCleanup(lambda: (vars(builtins).update(saved[0]), sys.modules.update(__main__=saved[1])))
        requests, self.host = os.pipe()
        self.answers, replies = os.pipe()
        for fd in (requests, self.host, self.answers, replies):
            self.addCleanup(os.close, fd)
        os.set_blocking(self.answers, False)
        self.worker = Worker(requests, replies, b"t" * 16)
        self.addCleanup(lambda: [os.close(fd) for fd in self.worker.out])


class Requests(WithWorker):
    def test_bytes_that_came_with_a_request_are_the_next_one_s(self):
        first, second = head({"t": "reap", "pids": []}), head({"t": "reap", "pids": [0]})
        os.write(self.host, first + second)
        self.assertEqual(self.worker.read(len(first)), first)
        self.assertEqual(self.worker.read(len(second)), second)

    def test_bytes_that_came_with_a_request_are_the_beginning_of_its_body(self):
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

    def test_a_woken_copy_forgets_what_its_worker_had_read_ahead(self):
        os.write(self.host, b"for the dead worker")
        self.worker.read(3)
        self.worker.drain()
        os.write(self.host, b"for this one")
        self.assertEqual(self.worker.read(12), b"for this one")


class Rehearsals(WithWorker):
    def answered(self):
        try:
            return os.read(self.answers, 65536)
        except BlockingIOError:
            return b""

    def test_leave_nothing_behind(self):
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

    def test_show_no_figure_of_the_last_run(self):
        shown = []
        figures = type(sys)("figures")
        figures.flush = lambda: shown.append("a figure")
        sys.modules["codecell_kernel.figures"] = figures
        self.addCleanup(sys.modules.pop, "codecell_kernel.figures")
        self.worker.rehearse()
        self.assertEqual(shown, [])

    def test_are_left_out_while_user_code_follows_its_own_steps(self):
        seen = set()
        tracer = lambda frame, *_: seen.add(frame.f_code.co_filename)
        self.addCleanup(sys.settrace, sys.gettrace())
        sys.settrace(tracer)
        self.worker.rehearse()
        sys.settrace(None)
        self.assertNotIn("<run 0>", seen)

    def test_do_not_end_a_worker_in_which_nothing_can_be_compiled(self):
        def fail(*_):
            raise MemoryError

        self.worker.interpreter.compile = fail
        self.worker.rehearse()


if __name__ == "__main__":
    unittest.main()
