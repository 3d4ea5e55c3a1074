import os
import sys
import threading
import unittest

import _ctypes

from codecell_kernel.worker import sibling
from codecell_kernel.worker.sibling import SiblingFork


def in_child(test):
    """Runs `test` in a child process and returns what it wrote to its pipe."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            test(write)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        text = answers.read()
    os.waitpid(pid, 0)
    return text


def say_where_the_sibling_is(write):
    pid, forks = SiblingFork()()
    if pid == 0:
        os.write(write, ("%d %d" % (os.getppid(), forks)).encode())
        os._exit(0)
    try:
        os.wait()
        os.write(write, b"; the one that forked has a child")
    except ChildProcessError:
        pass


@unittest.skipUnless(sys.platform == "linux", "needs clone")
class SiblingForkTest(unittest.TestCase):
    def test_a_sibling_fork_takes_one_fork_and_has_the_same_parent(self):
        self.assertEqual(in_child(say_where_the_sibling_is), "%d 1" % os.getpid())
        os.wait()  # it is a child of this process now

    def test_a_single_fork_is_not_used_if_there_is_another_thread(self):
        self.assertTrue(sibling.is_only_thread())
        go_on = threading.Event()
        thread = threading.Thread(target=go_on.wait)
        thread.start()
        try:
            self.assertFalse(sibling.is_only_thread())
        finally:
            go_on.set()
            thread.join()

    def test_the_c_library_knows_the_thread_id_after_a_sibling_fork(self):
        def say_whose_number_it_is(write):
            pid, _ = SiblingFork()()
            if pid == 0:
                kept = Int.from_address(sibling.thread_number_address()).value
                os.write(write, b"its own" if kept == os.getpid() else b"another's")
                os._exit(0)

        self.assertEqual(in_child(say_whose_number_it_is), "its own")
        os.wait()


class Int(_ctypes._SimpleCData):
    _type_ = "i"


if __name__ == "__main__":
    unittest.main()
